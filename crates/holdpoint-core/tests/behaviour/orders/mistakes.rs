//! The orders can fail: each of these mistakes is found.

use super::{Play, SCENES, every_order, moves};
use crate::mistakes::{self, Machine};

const MACHINES: [Machine; 6] = [
    mistakes::edits_need_no_approval,
    mistakes::remembers_unlogged,
    mistakes::continuation_twice,
    mistakes::answers_too_late,
    mistakes::anyone_answers,
    mistakes::answers_any_question,
];

#[test]
fn each_mistake_is_found_in_orders_of_two() {
    for (number, machine) in MACHINES.into_iter().enumerate() {
        let found = SCENES.into_iter().any(|scene| {
            let orders = || {
                let play = Play::open_on(machine, scene);
                every_order(&play, &moves(&play.run), 2)
            };
            std::panic::catch_unwind(orders).is_err()
        });
        assert!(found, "no order of two moves found mistake {number}");
    }
}
