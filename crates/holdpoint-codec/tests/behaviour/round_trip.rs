//! What is written reads back as it was.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::support;

use holdpoint_codec::{decode_event, encode_event, new_run};
use holdpoint_core::{Decision, DoubtCause, Event, Ground, LogEntry, Run, Terms, Timestamp};
use support::grants::grant_story;
use support::workers::worker_story;
use support::{folded, other_events, story};

/// Everything of a paused run, as text: `Debug` hides contents on purpose.
fn exposed(run: &Run) -> Vec<u8> {
    let event = Event::Imported(std::sync::Arc::new(run.snapshot().expect("paused")));
    encode_event(&LogEntry { at: Timestamp(0), event })
}

#[test]
fn every_event_reads_back_as_it_was_written() {
    let story = story();
    let others = other_events(&story);
    let workers = worker_story();
    let grants = grant_story();
    let mut seen = std::collections::BTreeSet::new();
    for event in story.log.iter().chain(&others).chain(workers.log()).chain(grants.log()) {
        let stored = encode_event(event);
        let text = String::from_utf8(stored.clone()).expect("JSON is text");
        let back = decode_event(&stored).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(format!("{back:?}"), format!("{event:?}"), "{text}");
        assert_eq!(encode_event(&back), stored, "{text}");
        seen.insert(event.event.name());
    }
    assert_eq!(seen.len(), 31, "every kind of event is in the samples: {seen:?}");
}

#[test]
fn events_without_the_fields_that_came_later_read_as_before() {
    let deferred = decode_event(br#"{"v":1,"at":1,"e":{"call_deferred":{"call":0,"attempt":1}}}"#).unwrap();
    assert!(matches!(deferred.event, Event::CallDeferred { deadline: None, .. }));
    let doubted = decode_event(br#"{"v":1,"at":1,"e":{"call_doubted":{"call":0}}}"#).unwrap();
    assert!(matches!(doubted.event, Event::CallDoubted { cause: DoubtCause::Crashed, .. }));
    let decided = decode_event(br#"{"v":1,"at":1,"e":{"call_decided":{"call":0,"decision":{"confirm":[{},{}]}}}}"#);
    let Event::CallDecided { decision: Decision::Confirm(ground, terms), shadow: None, .. } = decided.unwrap().event
    else {
        panic!("it is a question, and no other policy was tried")
    };
    assert_eq!((ground, terms), (Ground::default(), Terms::default()));
}

#[test]
fn a_log_that_was_stored_amounts_to_the_same_run() {
    let of_workers: Vec<LogEntry> = worker_story().log().cloned().collect();
    let of_grants: Vec<LogEntry> = grant_story().log().cloned().collect();
    for log in [story().log, of_workers, of_grants] {
        reads_back(&log);
    }
}

fn reads_back(log: &[LogEntry]) {
    let stored: Vec<LogEntry> = log.iter().map(|event| decode_event(&encode_event(event)).unwrap()).collect();
    assert_eq!(format!("{:?}", folded(&stored)), format!("{:?}", folded(log)));
    for upto in 1..log.len() {
        let (one, other) = (folded(&log[..upto]), folded(&stored[..upto]));
        if one.snapshot().is_some() {
            assert_eq!(exposed(&one), exposed(&other), "after {upto} events");
        }
    }
}

#[test]
fn a_paused_run_of_one_turn_takes_little_beside_its_texts() {
    use holdpoint_core::*;
    let mut run = new_run(RunId::new("0197f3a4-5b6c-7d8e-9f00-112233445566"));
    let mut log = Vec::new();
    let now = Timestamp(1_700_000_000_000_000);
    let mut tell = |input: Input| log.extend(run.step(input, now).unwrap());
    tell(Input::Started(Box::new(Started {
        settings: std::sync::Arc::new(Settings::default()),
        context: Attributes::new(),
        agent: None,
        model: Some("scripted".into()),
        system_prompt: None,
        messages: vec![std::sync::Arc::new(Message::user("refund order 42"))],
        actor: Actor::default(),
        session: None,
        trace: None,
    })));
    let arguments = CallArguments::Canonical(support::arguments("refund", r#"{"amount":250,"order":"42"}"#));
    let facts = ToolFacts { name: "refund".into(), repeat: Repeat::Never, source: "native".into(), definition: None };
    let call = ProposedCall {
        provider_id: Some("call_abc123".into()),
        name: "refund".into(),
        tool: Some(facts),
        arguments,
        problem: None,
    };
    let usage = Usage { input: 100, output: 20, ..Usage::default() };
    let reply = Reply {
        text: "".into(),
        thinking: None,
        calls: vec![call],
        usage,
        stop: ModelStop::ToolUse,
        provider_state: None,
    };
    tell(Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: 1_234_567 })));
    let decisions = vec![(CallIndex(0), Decision::confirm("refunds need a yes"))];
    tell(Input::Authorized(Authorized::new(decisions)));
    assert!(log.iter().any(|entry| matches!(entry.event, Event::Paused { .. })));
    let texts = "refund order 42".len() + r#"{"amount":250,"order":"42"}"#.len() + "refunds need a yes".len();
    let times = log.len() * r#","at":1700000000000000"#.len();
    let bytes: usize = log.iter().map(|entry| encode_event(entry).len()).sum();
    assert!(bytes - texts - times < 655, "{} bytes beside the texts and times", bytes - texts - times);
}
