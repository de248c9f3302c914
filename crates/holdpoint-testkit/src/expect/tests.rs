use serde_json::json;

use super::*;
use crate::observed::{Observed, SeenContinuation, SeenError};

fn seen() -> Observed {
    let message = |role: &str, text: &str| json!({ "role": role, "text": text, "bytes": text.len(), "error": false, "calls": [], "call": null });
    Observed {
        stop_reason: Some("end_turn".to_owned()),
        text: Some("done".to_owned()),
        turns: Some(2),
        run_id_same: true,
        model_calls: 2,
        executed: vec!["a".to_owned(), "b".to_owned(), "a".to_owned()],
        in_flight_max: 2,
        pending: vec![json!({
            "id": "c",
            "arguments": { "n": 7, "list": [1, 2] },
            "roles": ["finance", "legal"],
            "uncertain": false,
        })],
        messages: vec![message("tool", "seven 7"), message("assistant", "")],
        usage: json!({ "input": 24, "output": 5, "total": 29 }),
        records: vec![json!({ "id": "c", "outcome": "failed", "error": null, "source": null })],
        events: ["turn_started", "tool_started", "tool_ended", "done"].map(str::to_owned).to_vec(),
        log: "WARN unknown tool nuke".to_owned(),
        payload: Some(r#"{"context":{"user":7},"model":null}"#.to_owned()),
        continuation: SeenContinuation {
            new: true,
            parent: Some("k1".to_owned()),
            saved: [("first".to_owned(), "k1".to_owned()), ("other".to_owned(), "k0".to_owned())].into(),
        },
        won: Some(1),
        ..Observed::default()
    }
}

fn read(expect: &str) -> Expect {
    let document = crate::scenario::document(expect, "expect.yaml").expect("it is YAML");
    document.read().unwrap_or_else(|error| panic!("{error}"))
}

fn difference(expect: &str) -> Option<Difference> {
    read(expect).compare(&seen())
}

/// Where the first difference is.
fn path(expect: &str) -> String {
    difference(expect).unwrap_or_else(|| panic!("`{expect}` should not hold")).path
}

#[test]
fn what_was_seen_holds() {
    for expect in [
        "{stop_reason: end_turn, text: done, turns: 2, run_id_same: true, model_calls: 2}",
        "executed: [a, b, a]",
        "executed: [a, ...]",
        "executed: {a: 2, b: 1, c: 0}",
        "in_flight_max: 2",
        "pending: [{id: c, arguments: {n: 7}, roles: [finance, legal]}]",
        "pending: [{arguments: {list: [1, ...]}}]",
        "messages: [{role: tool, contains: seven, matches: '^s.*\\d$', bytes_max: 7, error: false}, {text: null}]",
        "messages: [{role: tool}, ...]",
        "messages: [...]",
        "usage: {input: 24, total: 29}",
        "records: [{id: c, outcome: failed, error: null}]",
        "events: [turn_started, done]",
        "events_not: [paused]",
        "event_counts: {done: 1, paused: 0}",
        "{logged: [nuke], not_logged: [secret]}",
        "{saved: {/context/user: 7, /model: null}, absent: [/context/key], bytes_max: 40}",
        "continuation: {new: true, parent: first}",
        "won: 1",
        "",
    ] {
        assert_eq!(difference(expect), None, "{expect}");
    }
}

#[test]
fn the_first_difference_is_named_by_its_path() {
    for (expect, at) in [
        ("{text: done, turns: 3, model_calls: 9}", "turns"),
        ("text: null", "text"),
        ("run_id_same: false", "run_id_same"),
        ("executed: [a, b]", "executed"),
        ("executed: [b, ...]", "executed"),
        ("executed: {a: 1}", "executed.a"),
        ("in_flight_max: {a: 1}", "in_flight_max.a"),
        ("pending: []", "pending"),
        ("pending: [{id: c, arguments: {n: '7'}}]", "pending[0].arguments.n"),
        ("pending: [{uncertain: true}]", "pending[0].uncertain"),
        ("pending: [{arguments: {list: [1]}}]", "pending[0].arguments.list"),
        ("messages: [{text: seven 7}, {text: eight}]", "messages[1].text"),
        ("messages: [{role: tool}, {error: true}]", "messages[1].error"),
        ("messages: [{matches: '^7'}, ...]", "messages[0].matches"),
        ("messages: [{bytes_max: 6}, ...]", "messages[0].bytes_max"),
        ("messages: [{call: c}, ...]", "messages[0].call"),
        ("messages: [{calls: [c]}, ...]", "messages[0].calls"),
        ("messages: [{role: tool}]", "messages"),
        ("messages: [{}, {}, {}, ...]", "messages"),
        ("usage: {input: 24, output: 6}", "usage.output"),
        ("records: [{id: c, outcome: succeeded}]", "records[0].outcome"),
        ("records: [{source: tool}]", "records[0].source"),
        ("events: [done, turn_started]", "events"),
        ("events_not: [paused, done]", "events_not[1]"),
        ("event_counts: {done: 2}", "event_counts.done"),
        ("logged: [nuke, secret]", "logged[1]"),
        ("not_logged: [nuke]", "not_logged[0]"),
        ("saved: {/context/user: '7'}", "saved./context/user"),
        ("saved: {/absent: null}", "saved./absent"),
        ("absent: [/x, /model]", "absent[1]"),
        ("bytes_max: 10", "bytes_max"),
        ("continuation: {new: false}", "continuation.new"),
        ("continuation: {parent: other}", "continuation.parent"),
        ("won: 2", "won"),
        ("error: stale_continuation", "error"),
    ] {
        assert_eq!(path(expect), at, "{expect}");
    }
}

#[test]
fn an_error_must_be_expected() {
    let failed = Observed {
        error: Some(SeenError { code: "wrong_pause".to_owned(), message: "no".to_owned() }),
        ..Observed::default()
    };
    let compare = |text: &str| read(text).compare(&failed);
    assert_eq!(compare("error: wrong_pause"), None);
    assert_eq!(compare("model_calls: 0").map(|difference| difference.path).as_deref(), Some("error"));
    assert_eq!(compare("error: stale_continuation").map(|difference| difference.path).as_deref(), Some("error"));
    assert_eq!(compare("error: null").map(|difference| difference.path).as_deref(), Some("error"));
}
