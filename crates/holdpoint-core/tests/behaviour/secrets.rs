//! What an operator could read shows no arguments.

use holdpoint_core::{Authorized, CallIndex, Edited, Input, Turn};
use proptest::prelude::*;

use crate::support::{Stage, arguments, decision};

/// Plays a run in which everything that has to do with grants and changed tools happens, with these texts as arguments.
fn played(asked: &str, edited: &str) -> Stage {
    let mut stage = Stage::new();
    for line in [
        "given session talk".to_owned(),
        format!("model asks: a(confirm args={asked} definition=v1), b(confirm args={asked} definition=v1)"),
        format!("ana edits a to {edited} remembering these; allows b remembering any in=session"),
        "a changes to v2".to_owned(),
        "ana allows a".to_owned(),
        "a -> ok".to_owned(),
        "b -> ok".to_owned(),
        format!("model asks: b(confirm args={asked} definition=v1), c(confirm args={asked})"),
        "cid revokes r.g1".to_owned(),
    ] {
        stage.play(&line);
    }
    stage
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_about_grants_history_and_changed_tools_shows_arguments(
        asked in "[A-Z]{12}asked",
        edited in "[A-Z]{12}edited",
    ) {
        let stage = played(&asked, &edited);
        let happened: std::collections::BTreeSet<&str> = stage.log.iter().map(|entry| entry.event.name()).collect();
        for wanted in ["grant_given", "grant_used", "grant_revoked", "tool_changed"] {
            prop_assert!(happened.contains(wanted), "{:?}", happened);
        }
        let run = stage.run();
        let earlier = run.earlier_turns();
        prop_assert_eq!(earlier[0].arguments.expose(), edited.as_str());
        let siblings: Vec<_> = run.siblings_of(CallIndex(1)).collect();
        prop_assert_eq!(siblings.len(), 1);
        let kept = Edited { turn: Turn(1), index: CallIndex(0), arguments: arguments("a", &edited) };
        let decisions = vec![(CallIndex(0), decision("confirm"))];
        let offered = Authorized { grants: stage.grants.clone(), ..Authorized::new(decisions) };
        let texts = [
            format!("{:?}", stage.log),
            format!("{run:?}"),
            format!("{:?}", run.snapshot()),
            format!("{earlier:?} {siblings:?} {kept:?}"),
            format!("{:?}", stage.grants),
            format!("{:?}", Input::Authorized(offered)),
        ];
        for text in texts {
            prop_assert!(!text.contains(&asked) && !text.contains(&edited), "{}", text);
        }
    }
}
