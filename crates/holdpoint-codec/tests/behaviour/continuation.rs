//! Portable continuations and tasks, through the public door.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::support;

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::continuation::{self, DumpOptions, LoadOptions, Loaded, Traces, Trust, Unsigned};
use holdpoint_codec::{CodecError, Context, SigningKey, imported_run, pending, tasks};
use holdpoint_core::{Attributes, Code, Input, JsonText, LogEntry, Run, Timestamp};
use serde_json::{Value, json};
use support::{Story, inputs, story};

fn key(id: &str) -> SigningKey {
    SigningKey::new(id, format!("secret of {id}"))
}

fn signed(run: &Run) -> String {
    continuation::dump(run, &DumpOptions { key: Some(&key("k1")), ..DumpOptions::default() }).unwrap()
}

fn load(text: &str) -> Result<Loaded, CodecError> {
    continuation::load(text, &LoadOptions { keys: &[key("k1")], ..LoadOptions::default() })
}

fn load_unsigned(text: &str) -> Result<Loaded, CodecError> {
    continuation::load(text, &LoadOptions { unsigned: Unsigned::Accept, ..LoadOptions::default() })
}

fn imported(loaded: Loaded) -> Run {
    imported_run(loaded.run_id, Arc::new(loaded.snapshot))
}

fn unsigned(run: &Run) -> Value {
    serde_json::from_str(&continuation::dump(run, &DumpOptions::default()).unwrap()).unwrap()
}

#[test]
fn a_run_goes_on_in_another_process_exactly_as_it_would_have_here() {
    let Story { for_people, for_results, in_doubt, .. } = story();
    let now = Timestamp(1_700_000_100_000_000);
    let happened = holdpoint_core::Answer::Happened(Arc::new(holdpoint_core::ToolResult::success("it did")));
    let cases: [(&Run, Input); 3] = [
        (&for_people, inputs::answer("bo", "mail", holdpoint_core::Answer::Approve)),
        (&for_results, inputs::delivered("mail", holdpoint_core::ToolResult::success("sent"))),
        (&in_doubt, inputs::answer_in(2, "ana", "look", happened)),
    ];
    for (here, input) in cases {
        let mut there = imported(load(&signed(here)).unwrap());
        let mut here = here.clone();
        assert_eq!(format!("{:?}", there.snapshot()), format!("{:?}", here.snapshot()));
        let input = support::naming_questions(&here, input);
        let theirs = there.step(input.clone(), now).unwrap();
        let ours = here.step(input, now).unwrap();
        let encoded = |log: &[LogEntry]| log.iter().map(holdpoint_codec::encode_event).collect::<Vec<_>>();
        assert_eq!(encoded(&theirs), encoded(&ours));
        assert_eq!(there.tally(), here.tally());
    }
}

#[test]
fn the_names_of_the_payload_are_those_of_the_specification() {
    let payload = unsigned(&story().for_people);
    for field in [
        "schema_version",
        "run_id",
        "continuation_id",
        "parent_continuation_id",
        "batch_id",
        "reason",
        "turn",
        "model",
        "messages",
        "pending",
        "context",
        "usage",
        "created_at",
    ] {
        assert!(payload.get(field).is_some(), "{field}");
    }
    for field in ["id", "name", "tool", "arguments", "digest", "decision", "result"] {
        assert!(payload["pending"][0].get(field).is_some(), "{field}");
    }
    assert_eq!(payload["schema_version"], 1);
    assert_eq!(payload["model"], Value::Null);
    assert_eq!(payload["reason"], "awaiting_tool_confirmation");
    assert!(payload.get("traces").is_none() && payload.get("signature").is_none());
}

#[test]
fn traces_are_included_only_when_asked_for() {
    let Story { in_doubt, .. } = story();
    let options = DumpOptions { traces: Traces::Include, ..DumpOptions::default() };
    let payload: Value = serde_json::from_str(&continuation::dump(&in_doubt, &options).unwrap()).unwrap();
    assert_eq!(payload["traces"].as_array().unwrap().len(), in_doubt.records().len());
}

#[test]
fn context_is_an_allowlist_and_the_live_context_may_hold_more_than_was_stored() {
    let Story { for_people, .. } = story();
    let live = Context::new().with("api_key", "k").with("session", json!({"n": 1.5})).with("user_id", 8);
    let keys: BTreeSet<Arc<str>> = ["user_id".into(), "session".into(), "absent".into()].into();
    let options = DumpOptions { context: Some(&live), context_keys: Some(&keys), ..DumpOptions::default() };
    let text = continuation::dump(&for_people, &options).unwrap();
    let payload: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(payload["context"], json!({"user_id": 8, "session": {"n": 1.5}}));
    assert!(!text.contains("api_key"));
    let loaded = load_unsigned(&text).unwrap();
    assert_eq!(loaded.context.attribute("user_id"), Some(&json!(8)));
    assert_eq!(loaded.context.run_id(), Some(for_people.id()));

    let large = Context::new().with("session", "x".repeat(300));
    let options = DumpOptions { context: Some(&large), ..options };
    assert_eq!(continuation::dump(&for_people, &options).unwrap_err().code(), Code::ContextValueTooLarge);
}

#[test]
fn a_payload_that_was_only_written_anew_is_still_signed() {
    for run in [story().for_people, story().in_doubt] {
        let text = signed(&run);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(load(&serde_json::to_string_pretty(&value).unwrap()).unwrap().trust, Trust::Signed);
        assert_eq!(load(&format!("  {text}\n")).unwrap().trust, Trust::Signed);
    }
}

#[test]
fn a_payload_that_was_changed_or_extended_is_refused() {
    let text = signed(&story().for_people);
    let original: Value = serde_json::from_str(&text).unwrap();
    let changes: [(&str, Value); 5] = [
        ("/messages/1/text", json!("other")),
        ("/model", json!("gpt")),
        ("/extra", json!(1)),
        ("/state/settings/max_turns", json!(100)),
        ("/messages/1/extra", json!(1)),
    ];
    for (pointer, value) in changes {
        let mut changed = original.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
        let error = load(&changed.to_string()).expect_err(pointer);
        assert_eq!(error.code(), Code::InvalidContinuation);
        assert!(error.to_string().contains("`signature`"), "{error}");
    }
    // A second signature after the first, or a signature moved under another key, does not help either.
    let twice = text.replacen("{\"batch_id\"", "{\"signature\":{\"hmac\":\"\",\"key\":\"k1\"},\"batch_id\"", 1);
    assert_eq!(load(&twice).unwrap_err().code(), Code::InvalidContinuation);
    let other = text.replace("\"key\":\"k1\"", "\"key\":\"k2\"");
    assert_eq!(load(&other).unwrap_err().code(), Code::InvalidContinuation);
    let options = LoadOptions { keys: &[key("k1"), key("k2")], ..LoadOptions::default() };
    assert_eq!(continuation::load(&other, &options).unwrap_err().code(), Code::InvalidContinuation);
}

#[test]
fn keys_can_be_changed_while_old_payloads_are_around() {
    let text = signed(&story().for_people);
    let rotated = [key("k2"), key("k1")];
    let options = LoadOptions { keys: &rotated, ..LoadOptions::default() };
    assert_eq!(continuation::load(&text, &options).unwrap().trust, Trust::Signed);
    let options = LoadOptions { keys: &rotated[..1], ..LoadOptions::default() };
    assert_eq!(continuation::load(&text, &options).unwrap_err().code(), Code::InvalidContinuation);
    let same_name = [SigningKey::new("k1", "another secret"), key("k1")];
    let options = LoadOptions { keys: &same_name, ..LoadOptions::default() };
    assert_eq!(continuation::load(&text, &options).unwrap().trust, Trust::Signed);
}

#[test]
fn an_unsigned_payload_is_refused_unless_it_may_be_unsigned() {
    let text = unsigned(&story().for_people).to_string();
    for keys in [&[][..], &[key("k1")]] {
        let options = LoadOptions { keys, ..LoadOptions::default() };
        assert_eq!(continuation::load(&text, &options).unwrap_err().code(), Code::InvalidContinuation);
        let options = LoadOptions { unsigned: Unsigned::Accept, ..options };
        assert_eq!(continuation::load(&text, &options).unwrap().trust, Trust::Unsigned);
    }
    // A signature that is there is checked, also where none is needed.
    let broken = signed(&story().for_people).replace("You help", "You rob");
    let options = LoadOptions { keys: &[key("k1")], unsigned: Unsigned::Accept, ..LoadOptions::default() };
    assert_eq!(continuation::load(&broken, &options).unwrap_err().code(), Code::InvalidContinuation);
}

#[test]
fn an_unsigned_payload_keeps_unknown_fields() {
    let Story { for_people, .. } = story();
    let mut payload = unsigned(&for_people);
    payload["zebra"] = json!({"b": 1, "a": [true]});
    payload["app_note"] = json!("mine");
    let text = payload.to_string().replace("[true]", "12345678901234567890123");
    let loaded = load_unsigned(&text).unwrap();
    let expected = Attributes::from([
        ("zebra".into(), JsonText::new(r#"{"a":12345678901234567890123,"b":1}"#)),
        ("app_note".into(), JsonText::new(r#""mine""#)),
    ]);
    assert_eq!(loaded.extra, expected);
    let options = DumpOptions { extra: Some(&loaded.extra), key: Some(&key("k1")), ..DumpOptions::default() };
    let again = continuation::dump(&for_people, &options).unwrap();
    assert!(again.starts_with("{\"app_note\":\"mine\",\"batch_id\""), "{again}");
    let again = load(&again).unwrap();
    assert_eq!((again.extra, again.trust), (expected, Trust::Signed));
}

#[test]
fn checks_come_in_order_size_version_shape_signature() {
    let text = signed(&story().for_people);
    let small = LoadOptions { max_bytes: text.len() - 1, ..LoadOptions::default() };
    let error = continuation::load("x".repeat(text.len()), &small).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge { .. }) && error.code() == Code::InvalidContinuation);
    let other_version = r#"{"schema_version":2,"whatever":[]}"#;
    assert_eq!(load(other_version).unwrap_err().code(), Code::UnsupportedSchemaVersion);
    let other_version = text.replace("\"schema_version\":1", "\"schema_version\":99999999999999999999");
    assert_eq!(load(&other_version).unwrap_err().code(), Code::UnsupportedSchemaVersion);
    let shape = text.replace("\"turn\":1,\"usage\"", "\"turn\":\"one\",\"usage\"");
    let error = load(&shape).unwrap_err();
    assert!(error.to_string().contains("`turn`"), "{error}");
    for version in ["\"1\"", "null", "1.0", "true"] {
        let shape = text.replace("\"schema_version\":1", &format!("\"schema_version\":{version}"));
        assert!(load(&shape).unwrap_err().to_string().contains("`schema_version`"), "{version}");
    }
}

#[test]
fn an_older_version_can_be_migrated_and_its_signature_counts() {
    let text = signed(&story().for_people);
    let old = text.replace("\"run-1\",\"schema_version\":1", "\"run-1\",\"schema_version\":0");
    assert_ne!(old, text);
    let migrate = |mut payload: Value| {
        payload["schema_version"] = json!(1);
        Some(payload)
    };
    let keys = [key("k1")];
    let options = LoadOptions { migrate: Some(&migrate), keys: &keys, ..LoadOptions::default() };
    // It was changed after it was signed: the old version was never signed like this.
    assert_eq!(continuation::load(&old, &options).unwrap_err().code(), Code::InvalidContinuation);
    let options = LoadOptions { migrate: Some(&migrate), unsigned: Unsigned::Accept, ..LoadOptions::default() };
    assert_eq!(continuation::load(&old, &options).unwrap().trust, Trust::Unsigned);
    let gives_up = |_: Value| None;
    let options = LoadOptions { migrate: Some(&gives_up), unsigned: Unsigned::Accept, ..LoadOptions::default() };
    assert_eq!(continuation::load(&old, &options).unwrap_err().code(), Code::UnsupportedSchemaVersion);
}

#[test]
fn what_does_not_fit_together_is_refused_and_named() {
    let Story { for_people, for_results, .. } = story();
    let cases: [(&Run, &str, Value, &str); 21] = [
        (&for_people, "/run_id", json!("run-2"), "continuation_id"),
        (&for_people, "/run_id", json!(" "), "run_id"),
        (&for_people, "/continuation_id", json!("run-1.p0"), "continuation_id"),
        (&for_people, "/parent_continuation_id", json!("run-1.p4"), "parent_continuation_id"),
        (&for_people, "/batch_id", json!("run-1.b2"), "batch_id"),
        (&for_people, "/turn", json!(0), "turn"),
        (&for_people, "/reason", json!("awaiting_tool_results"), "reason"),
        (&for_people, "/reason", json!("tired"), "reason"),
        (&for_people, "/pending/0/arguments", json!({"to": "eve"}), "pending[0].arguments"),
        (&for_people, "/pending/0/digest", json!("0".repeat(64)), "pending[0].digest"),
        (&for_people, "/pending/0/tool", json!("pay"), "pending[0].tool"),
        (&for_people, "/pending/1/decision", json!("allow"), "pending[1].decision"),
        (&for_people, "/usage/total", json!(1), "usage.total"),
        (&for_people, "/usage/turns/0/input", json!(u64::MAX), "usage.turns"),
        (&for_people, "/state/completion/0", json!(77), "state.completion"),
        (&for_people, "/state/history_len", json!(1000), "state.history_len"),
        (&for_people, "/state/model_calls", json!(u32::MAX), "state.model_calls"),
        (
            &for_people,
            "/state/calls/0/state/awaiting_approval/terms/quorum",
            json!(1),
            "state.calls[0].question.answers",
        ),
        (
            &for_results,
            "/state/calls/0/state",
            json!({"running": {"attempt": 1}}),
            "state.calls[0].state.running.started_at",
        ),
        (&for_results, "/state/calls/0/state", json!("sleeping"), "state.calls[0].state"),
        (&for_results, "/context/user_id", json!("x".repeat(300)), "context.user_id"),
    ];
    for (run, pointer, value, field) in cases {
        let mut payload = unsigned(run);
        *payload.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        let error = load_unsigned(&payload.to_string()).expect_err(pointer);
        assert_eq!(
            error,
            CodecError::Invalid { document: holdpoint_codec::Document::Continuation, field: field.into() }
        );
    }
}

#[test]
fn only_a_paused_run_has_a_continuation_and_only_one_that_waits_for_results_has_tasks() {
    let Story { log, for_people, .. } = story();
    let running = support::folded(&log[..2]);
    assert_eq!(continuation::dump(&running, &DumpOptions::default()).unwrap_err(), CodecError::NotPaused);
    let error = tasks::dump(&for_people, &tasks::DumpOptions::default()).unwrap_err();
    assert_eq!(error, CodecError::NotPaused);
    assert!(pending(&running).is_empty() && tasks::tasks(&for_people).is_empty());
}

#[test]
fn a_pause_lists_only_what_is_still_missing() {
    let Story { for_people, for_results, in_doubt, .. } = story();
    let ids = |run: &Run| pending(run).iter().map(|p| p.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&for_people), ["mail"]);
    assert_eq!(ids(&for_results), ["mail"]);
    let doubt = pending(&in_doubt);
    assert!(doubt.len() == 1 && doubt[0].is_uncertain());
    let listed = tasks::tasks(&for_results);
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].executed_name.as_str(), &*listed[0].id), ("mail_send", "run-1.b1.c0"));
    assert_eq!(listed[0].idempotency_key, pending(&for_results)[0].idempotency_key);
}

#[test]
fn tasks_are_signed_for_themselves_and_checked_like_continuations() {
    let Story { for_results, .. } = story();
    let key = key("k1");
    let options = tasks::DumpOptions { key: Some(&key), ..tasks::DumpOptions::default() };
    let text = tasks::dump(&for_results, &options).unwrap();
    let keys = [key];
    let check = LoadOptions { keys: &keys, ..LoadOptions::default() };
    assert_eq!(tasks::load(&text, &check).unwrap().trust, Trust::Signed);
    for (from, to, field) in [
        ("\"to\":\"bo\"", "\"to\":\"eve\"", "tasks[0].digest"),
        ("\"tool_call_id\":\"mail\"", "\"tool_call_id\":\"m\"", "signature"),
        ("\"id\":\"run-1.b1.c0\"", "\"id\":\"run-1.b1.c00\"", "tasks[0].id"),
        ("\"schema_version\":1", "\"schema_version\":2", "schema version"),
        ("\"receipt\":null,", "", "tasks[0].receipt"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        let error = tasks::load(&changed, &check).expect_err(field);
        assert!(error.to_string().contains(field), "{error}");
    }
    assert_eq!(continuation::load(&text, &check).unwrap_err().code(), Code::InvalidContinuation);
}

#[test]
fn errors_and_debug_show_no_values() {
    let text = signed(&story().for_people).replace("\"turn\":1", "\"turn\":\"hunter2\"");
    let error = load(&text).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    assert_eq!(format!("{:?}", SigningKey::new("k1", "hunter2")), "SigningKey(k1)");
}
