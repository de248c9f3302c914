//! Malformed payloads of every kind: the right code, never a panic, and nothing that was changed is taken for signed.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::support;

use holdpoint_codec::continuation::{self, LoadOptions, Unsigned};
use holdpoint_codec::{
    CodecError, RememberRequest, SigningKey, canonical_json, decode_event, decode_grant, imported_run,
    result_from_short, result_from_text, tasks,
};
use holdpoint_core::{Cancelled, Code, Input, Timestamp};
use serde_json::{Value, json};

fn golden(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name);
    std::fs::read_to_string(path).unwrap().trim_end().to_owned()
}

fn keys() -> [SigningKey; 1] {
    [SigningKey::new("golden-1", b"a secret that everybody knows")]
}

/// Every reader with the payloads that it is meant for, and the codes that it may give.
struct Reader {
    payloads: Vec<String>,
    codes: &'static [Code],
    read: fn(&[u8]) -> Result<(), CodecError>,
    /// Whether whatever says something else must be refused.
    sealed: bool,
}

const PAYLOAD: &[Code] = &[Code::InvalidContinuation, Code::UnsupportedSchemaVersion];

fn readers() -> Vec<Reader> {
    let continuations = ["people", "results", "doubt"].map(|name| golden(&format!("continuation/{name}.json")));
    let stored = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1/stored");
    let events = std::fs::read_dir(stored).unwrap().flat_map(|file| {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        text.lines().take(3).map(str::to_owned).collect::<Vec<_>>()
    });
    vec![
        Reader { payloads: continuations.to_vec(), codes: PAYLOAD, read: read_signed, sealed: true },
        Reader { payloads: continuations.to_vec(), codes: PAYLOAD, read: read_unsigned, sealed: false },
        Reader { payloads: vec![golden("tasks/results.json")], codes: PAYLOAD, read: read_tasks, sealed: true },
        Reader {
            payloads: vec![golden("parts/result-rich.json"), golden("parts/result-error.json")],
            codes: &[Code::InvalidResult, Code::UnsupportedSchemaVersion],
            read: read_result,
            sealed: false,
        },
        Reader {
            payloads: events.collect(),
            codes: &[Code::StoreFailed, Code::UnsupportedSchemaVersion],
            read: |bytes| decode_event(bytes).map(drop),
            sealed: false,
        },
        Reader {
            payloads: of_grants(),
            codes: &[Code::StoreFailed, Code::UnsupportedSchemaVersion],
            read: |bytes| decode_event(bytes).map(drop),
            sealed: false,
        },
        Reader {
            payloads: vec![golden("granted/grant-session.json"), golden("granted/grant-run.json")],
            codes: &[Code::StoreFailed, Code::UnsupportedSchemaVersion],
            read: |bytes| decode_grant(bytes).map(drop),
            sealed: false,
        },
    ]
}

/// One event of each kind that came with grants.
fn of_grants() -> Vec<String> {
    let log = golden("granted/stored.jsonl");
    let kinds = ["grant_given", "grant_used", "grant_revoked", "tool_changed", "\"shadow\""];
    kinds.map(|kind| log.lines().find(|line| line.contains(kind)).unwrap().to_owned()).to_vec()
}

fn read_signed(bytes: &[u8]) -> Result<(), CodecError> {
    continuation::load(bytes, &LoadOptions { keys: &keys(), ..LoadOptions::default() }).map(drop)
}

/// What is accepted makes a run that goes on without a panic.
fn read_unsigned(bytes: &[u8]) -> Result<(), CodecError> {
    let options = LoadOptions { unsigned: Unsigned::Accept, ..LoadOptions::default() };
    let loaded = continuation::load(bytes, &options)?;
    let mut run = imported_run(loaded.run_id, std::sync::Arc::new(loaded.snapshot));
    let _ = (run.usage(), run.text(), run.records(), run.owed(), holdpoint_codec::pending(&run));
    let now = Timestamp(1_900_000_000_000_000);
    let mut expired = run.clone();
    let _ = expired.step(Input::Elapsed, now);
    let _ = run.step(Input::Cancelled(Cancelled::by(support::person("ana"))), now);
    Ok(())
}

fn read_tasks(bytes: &[u8]) -> Result<(), CodecError> {
    tasks::load(bytes, &LoadOptions { keys: &keys(), ..LoadOptions::default() }).map(drop)
}

fn read_result(bytes: &[u8]) -> Result<(), CodecError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => result_from_text(text).map(drop),
        Err(_) => Ok(()),
    }
}

impl Reader {
    /// Reads a changed payload.
    fn try_one(&self, original: &str, changed: &[u8], how: &str) {
        match (self.read)(changed) {
            Err(error) => assert!(self.codes.contains(&error.code()), "{how}: {} {error}", error.code()),
            Ok(()) => {
                let text = String::from_utf8_lossy(changed);
                let same = canonical_json(&text).ok() == canonical_json(original).ok();
                assert!(!self.sealed || same, "{how}: accepted although it was changed");
            }
        }
    }
}

/// The pointers to everything in a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                found.push(pointer.clone());
                pointers(member, &pointer, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let pointer = format!("{at}/{index}");
                found.push(pointer.clone());
                pointers(item, &pointer, found);
            }
        }
        _ => {}
    }
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&name.replace("~1", "/").replace("~0", "~"))),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        _ => unreachable!("only these hold others"),
    }
}

#[test]
fn removed_fields() {
    for reader in readers() {
        for payload in &reader.payloads {
            let original: Value = serde_json::from_str(payload).unwrap();
            let mut found = Vec::new();
            pointers(&original, "", &mut found);
            for pointer in found {
                let mut changed = original.clone();
                remove(&mut changed, &pointer);
                reader.try_one(payload, changed.to_string().as_bytes(), &pointer);
            }
        }
    }
}

#[test]
fn a_required_field_that_is_missing_is_named() {
    let payload: Value = serde_json::from_str(&golden("continuation/people.json")).unwrap();
    for field in payload.as_object().unwrap().keys() {
        let mut changed = payload.clone();
        remove(&mut changed, &format!("/{field}"));
        let error = read_signed(changed.to_string().as_bytes()).expect_err(field);
        assert_eq!(error.code(), Code::InvalidContinuation, "{field}");
        assert!(error.to_string().contains(&format!("`{field}`")), "{field}: {error}");
    }
}

#[test]
fn changed_types() {
    let others = [json!(null), json!(true), json!(-1), json!(1.5), json!(u64::MAX), json!("x"), json!([]), json!({})];
    for reader in readers() {
        for payload in &reader.payloads {
            let original: Value = serde_json::from_str(payload).unwrap();
            let mut found = Vec::new();
            pointers(&original, "", &mut found);
            for (turn, pointer) in found.iter().enumerate() {
                // Small payloads with every type at every place, large ones with some.
                let step = 1 + payload.len() / 1000;
                for other in others.iter().skip(turn % step).step_by(step) {
                    let mut changed = original.clone();
                    *changed.pointer_mut(pointer).unwrap() = other.clone();
                    reader.try_one(payload, changed.to_string().as_bytes(), &format!("{pointer} = {other}"));
                }
            }
        }
    }
}

#[test]
fn flipped_bits() {
    for reader in readers() {
        for payload in &reader.payloads {
            let mut bytes = payload.clone().into_bytes();
            // Small payloads at every position, large ones at many.
            let step = 1 + bytes.len() / 500;
            for position in (0..bytes.len()).step_by(step) {
                let bit = 1 << ((position * 7 + 3) % 8);
                bytes[position] ^= bit;
                reader.try_one(payload, &bytes, &format!("bit at {position}"));
                bytes[position] ^= bit;
            }
        }
    }
}

#[test]
fn truncated() {
    for reader in readers() {
        for payload in &reader.payloads {
            for len in (0..payload.len()).step_by(1 + payload.len() / 500) {
                let error = (reader.read)(&payload.as_bytes()[..len]);
                assert!(error.is_err() || std::str::from_utf8(&payload.as_bytes()[..len]).is_err(), "{len}");
                reader.try_one(payload, &payload.as_bytes()[..len], &format!("first {len}"));
            }
        }
    }
}

#[test]
fn ten_megabytes_are_refused_before_they_are_parsed() {
    let large = format!("{{\"schema_version\":1,\"x\":\"{}\"}}", "x".repeat(10_000_000));
    for read in [read_signed, read_unsigned, read_tasks] {
        let error = read(large.as_bytes()).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge { max_bytes: 8_388_608, .. }), "{error}");
        assert_eq!(error.code(), Code::InvalidContinuation);
    }
}

#[test]
fn deep_nesting() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    for nest in [deep("[", "]"), deep("{\"a\":", "}"), "[".repeat(200_000)] {
        for reader in readers() {
            let error = (reader.read)(nest.as_bytes()).unwrap_err();
            assert!(reader.codes.contains(&error.code()));
            for payload in &reader.payloads {
                let original: Value = serde_json::from_str(payload).unwrap();
                for field in original.as_object().unwrap().keys() {
                    let mut changed = original.clone();
                    changed[field] = json!("NEST");
                    let changed = changed.to_string().replace("\"NEST\"", &nest);
                    reader.try_one(payload, changed.as_bytes(), field);
                }
            }
        }
    }
}

#[test]
fn what_is_no_payload_at_all() {
    for text in ["", " ", "null", "[]", "1", "\"text\"", "{}", "{", "\u{0}", "{\"schema_version\":1}"] {
        for reader in readers() {
            let error = (reader.read)(text.as_bytes()).expect_err(text);
            assert!(reader.codes.contains(&error.code()), "{text}: {error}");
        }
    }
    for reader in readers() {
        reader.try_one("{}", b"\xff\xfe{\"v\":1}", "not UTF-8");
    }
}

#[test]
fn short_results() {
    for (value, text, error) in [
        (json!({"text": "ok"}), "ok", false),
        (json!({"error": "no"}), "no", true),
        (json!({"json": {"b": 1, "a": 2.0}}), r#"{"a":2,"b":1}"#, false),
        (json!({"json": null}), "null", false),
        (json!({"content": [{"text": "a"}, {"json": [1]}]}), "a\n[1]", false),
        (json!({"content": []}), "", false),
        (json!({"schema_version": 1, "blocks": [{"text": "v"}], "error": true}), "v", true),
    ] {
        let result = result_from_short(&value).unwrap_or_else(|error| panic!("{value}: {error}"));
        assert_eq!((result.text().as_str(), result.is_error()), (text, error), "{value}");
    }
    for value in [
        json!(null),
        json!("ok"),
        json!(1),
        json!([]),
        json!({}),
        json!({"text": 1}),
        json!({"text": null}),
        json!({"error": true}),
        json!({"content": "x"}),
        json!({"content": [{"text": 1}]}),
        json!({"content": [{"image": {"media_type": "image/png", "data": "***"}}]}),
        json!({"text": "a", "error": "b"}),
        json!({"other": 1}),
        json!({"schema_version": 1}),
        json!({"schema_version": 1, "blocks": [], "error": true, "halt": true}),
    ] {
        assert_eq!(result_from_short(&value).expect_err(&value.to_string()).code(), Code::InvalidResult, "{value}");
    }
}

#[test]
fn messages_that_are_none() {
    for value in [
        json!(null),
        json!({}),
        json!({"role": "king", "text": "x"}),
        json!({"role": "user"}),
        json!({"role": "tool", "text": "x"}),
        json!({"role": "user", "text": "x", "content": []}),
        json!({"role": "assistant", "text": "", "calls": [{"id": "a", "name": "b"}]}),
        json!({"role": "assistant", "text": "", "calls": [{"id": "a", "name": "b", "arguments": []}]}),
        json!({"role": "tool", "call_id": "a", "text": "x", "error": true, "halt": true}),
    ] {
        assert!(support::read_message(&value).is_err(), "{value}");
    }
    let error = support::read_message(&json!({"role": "user", "text": 5})).unwrap_err();
    assert!(error.to_string().contains("messages[0].text`"), "{error}");
}

#[test]
fn what_is_to_be_remembered_reads_in_these_forms_and_in_no_other() {
    use holdpoint_core::{Covers, Reach, Remember};
    let now = Timestamp(1_000_000);
    let said = |value: Value| RememberRequest::from_json(&value).map(|request| request.said_at(now));
    let narrowest = Remember { covers: Covers::TheseArguments, reach: Reach::Run, until: None };
    assert_eq!(said(json!(true)), Some(narrowest.clone()));
    assert_eq!(said(json!({})), Some(narrowest.clone()));
    assert_eq!(said(json!({"arguments": "these", "scope": "run"})), Some(narrowest.clone()));
    let widest = Remember { covers: Covers::AnyArguments, reach: Reach::Tenant, ..narrowest.clone() };
    assert_eq!(said(json!({"arguments": "any", "scope": "tenant"})), Some(widest));
    let session = Remember { reach: Reach::Session, until: Some(Timestamp(61_000_000)), ..narrowest };
    for ends in [json!({"expires_in": "60s"}), json!({"expires_in": "1m"}), json!({"expires_in_ms": 60_000})] {
        let mut value = json!({"scope": "session"});
        value.as_object_mut().unwrap().extend(ends.as_object().unwrap().clone());
        assert_eq!(said(value), Some(session.clone()), "{ends}");
    }
    assert_eq!(said(json!({"scope": "session", "until": "1970-01-01T00:01:01Z"})), Some(session));
    for wrong in [
        json!(false),
        json!(null),
        json!("these"),
        json!(["any"]),
        json!({"arguments": "all"}),
        json!({"arguments": null}),
        json!({"scope": "world"}),
        json!({"scop": "run"}),
        json!({"until": "tomorrow"}),
        json!({"until": 5}),
        json!({"expires_in": "60"}),
        json!({"expires_in": "m"}),
        json!({"expires_in": "-1m"}),
        json!({"expires_in": "1.5h"}),
        json!({"expires_in": "99999999999999999999d"}),
        json!({"expires_in": "18446744073709551615d"}),
        json!({"expires_in_ms": -1}),
        json!({"expires_in_ms": "60"}),
        json!({"expires_in": "1m", "until": "1970-01-01T00:01:01Z"}),
        json!({"expires_in": "1m", "expires_in_ms": 60_000}),
    ] {
        assert_eq!(said(wrong.clone()), None, "{wrong}");
    }
}
