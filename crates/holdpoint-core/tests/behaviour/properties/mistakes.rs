//! The checks can fail: each of these mistakes is found, by the check that is there for it.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

use crate::mistakes::{self, Machine};

const MACHINES: [(Machine, &str); 15] = [
    (mistakes::remembers_rejected, "changes nothing"),
    (mistakes::remembers_unlogged, "I6"),
    (mistakes::settles_twice, "I3"),
    (mistakes::runs_while_asked, "I4"),
    (mistakes::anyone_answers, "I4: they may not answer"),
    (mistakes::grant_beats_denial, "I4: a grant answers a question"),
    (mistakes::grant_outlives_tool, "I4: it is about another tool"),
    (mistakes::runs_changed_tool, "I4: whoever approved is asked again"),
    (mistakes::accepts_old_attempt, "I7"),
    (mistakes::accepts_late_result, "I7: what is asked about"),
    (mistakes::ends_turn_early, "I9"),
    (mistakes::continuation_twice, "I13"),
    (mistakes::answers_any_question, "I16"),
    (mistakes::repeats_never, "what may not be repeated"),
    (mistakes::finishes_twice, "one end per segment"),
];

#[test]
fn each_mistake_is_found_by_its_check() {
    for (machine, check) in MACHINES {
        let config =
            ProptestConfig { cases: 5_000, failure_persistence: None, max_shrink_iters: 0, ..Default::default() };
        let throws = (any::<[u8; 6]>(), vec(any::<[u8; 6]>(), 0..80));
        let found = TestRunner::new(config).run(&throws, |(settings, throws)| {
            super::play(machine, &settings, &throws);
            Ok(())
        });
        let Err(TestError::Fail(why, _)) = found else {
            panic!("nothing found the mistake that `{check}` is there for")
        };
        assert!(why.message().contains(check), "expected `{check}`, found {why}");
    }
}
