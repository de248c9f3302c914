//! The orders can fail: each of these mistakes is found.

use holdpoint_core::planted::{Bug, plant};

use super::{Play, SCENES, every_order, moves};

#[test]
fn planted_mistakes_are_found_in_orders_of_two() {
    for bug in
        [Bug::EditKeepsApprovals, Bug::RememberUnlogged, Bug::ContinuationTwice, Bug::AnswerTooLate, Bug::AnyoneAnswers]
    {
        plant(Some(bug));
        let found = SCENES.into_iter().any(|scene| {
            let orders = || {
                let play = Play::open(scene);
                every_order(&play, &moves(&play.run), 2)
            };
            std::panic::catch_unwind(orders).is_err()
        });
        plant(None);
        assert!(found, "nobody noticed {bug:?}");
    }
}
