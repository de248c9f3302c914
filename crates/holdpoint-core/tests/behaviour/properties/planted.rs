//! The checkers can fail: each of these mistakes is found.

use holdpoint_core::planted::{Bug, plant};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

#[test]
fn planted_mistakes_are_found() {
    for bug in [
        Bug::SettleTwice,
        Bug::EditKeepsApprovals,
        Bug::RunWhileAsked,
        Bug::RememberUnlogged,
        Bug::AcceptOldAttempt,
        Bug::CompletionOrder,
        Bug::ContinuationTwice,
        Bug::RepeatNever,
        Bug::AcceptLateResult,
        Bug::AnyoneAnswers,
        Bug::GrantBeatsDenial,
        Bug::GrantOutlivesTool,
        Bug::RunChanged,
    ] {
        plant(Some(bug));
        let config =
            ProptestConfig { cases: 5_000, failure_persistence: None, max_shrink_iters: 0, ..Default::default() };
        let throws = (any::<[u8; 6]>(), vec(any::<[u8; 6]>(), 0..80));
        let found = TestRunner::new(config).run(&throws, |(settings, throws)| {
            super::play(&settings, &throws);
            Ok(())
        });
        plant(None);
        assert!(found.is_err(), "nobody noticed {bug:?}");
    }
}
