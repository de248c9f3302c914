//! Golden files: what version 1 looks like. They must load for ever; `UPDATE_GOLDEN=1` writes new ones.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_codec::continuation::{self, DumpOptions, LoadOptions, Traces, Trust, Unsigned};
use holdpoint_codec::view::{EventView, GrantView, event_view};
use holdpoint_codec::{
    Context, Narrator, SigningKey, audit, canonical_json, canonical_value, decode_event, decode_grant, decode_question,
    decode_question_note, encode_event, encode_grant, encode_question, encode_question_note, imported_run,
    message_view, new_run, pending, result_from_text, result_to_text, tasks,
};
use holdpoint_core::{CallIndex, Code, Event, LogEntry, Outcome, Run, RunId, Settlement, ToolResult};
use support::grants::{grant_story, grants};
use support::workers::worker_story;
use support::{other_events, read_message, rich_result, settlement, story};

fn key() -> SigningKey {
    SigningKey::new("golden-1", b"a secret that everybody knows")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

/// Compares with the golden files, all of them and no other.
fn check(prefix: &str, made: &BTreeMap<String, String>) {
    let folder = folder().join(prefix);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in made {
            std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
        }
    }
    let there: BTreeSet<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(there, made.keys().cloned().collect(), "the files of {prefix}");
    for (name, text) in made {
        let golden = std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(golden.trim_end(), text, "{prefix}/{name} is not what it was");
    }
}

fn shown_text(view: &impl serde::Serialize) -> String {
    canonical_value(&serde_json::to_value(view).unwrap())
}

fn golden(prefix: &str) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder().join(prefix)).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap().trim_end().to_owned())
    };
    let read: BTreeMap<String, String> = files.map(read).collect();
    assert!(!read.is_empty(), "there are no golden files of {prefix}");
    read
}

/// One file for each name, with a line for each text that differs.
fn by_name(texts: impl Iterator<Item = (&'static str, String)>) -> BTreeMap<String, String> {
    let mut made: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, text) in texts {
        let lines = made.entry(format!("{name}.jsonl")).or_default();
        if !lines.contains(&text) {
            lines.push(text);
        }
    }
    made.into_iter().map(|(name, lines)| (name, lines.join("\n"))).collect()
}

#[test]
fn stored_events() {
    let story = story();
    let others = other_events(&story);
    let workers = worker_story();
    let events = story.log.iter().chain(&others).chain(workers.log());
    check(
        "stored",
        &by_name(events.map(|event| (event.event.name(), String::from_utf8(encode_event(event)).unwrap()))),
    );
    for (name, texts) in golden("stored") {
        for text in texts.lines() {
            let event = decode_event(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(String::from_utf8(encode_event(&event)).unwrap(), text, "{name}");
        }
    }
}

/// Questions about calls that may run or may have run, and what people said.
#[test]
fn questions() {
    let story = story();
    let workers = worker_story();
    let runs = [("people", &story.for_people), ("doubt", &story.in_doubt), ("lost", &workers.lost)];
    let mut made = BTreeMap::new();
    for (name, run) in runs {
        let places = (0..run.calls().len()).map(CallIndex::from_usize);
        let texts: Vec<String> = places
            .filter_map(|index| encode_question(run, index))
            .map(|body| String::from_utf8(body).unwrap())
            .collect();
        assert!(!texts.is_empty(), "{name}");
        made.insert(format!("{name}.jsonl"), texts.join("\n"));
    }
    let said = story.log.iter().chain(workers.log()).filter_map(|entry| match &entry.event {
        Event::CallAnswered(answered) => Some(String::from_utf8(encode_question_note(answered, entry.at)).unwrap()),
        _ => None,
    });
    made.insert("notes.jsonl".to_owned(), said.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("\n"));
    check("question", &made);
    for (name, texts) in golden("question") {
        for text in texts.lines() {
            if name == "notes.jsonl" {
                let note = decode_question_note(text.as_bytes()).unwrap().unwrap();
                assert!(serde_json::to_value(&note).unwrap()["at"].is_string(), "{name}");
            } else {
                let read = decode_question(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(!read.call_id().is_empty(), "{name}");
                assert!(!read.batch.run.as_str().is_empty(), "{name}");
            }
        }
    }
    assert_eq!(decode_question_note(b"").unwrap(), None);
    for broken in [&b"{}"[..], b"{\"v\":2}", b"\xff", b"{\"v\":1,\"batch_id\":\"x\",\"pending\":{}}"] {
        assert!(decode_question(broken).is_err() && decode_question_note(broken).is_err());
    }
}

#[test]
fn shown_events() {
    let story = story();
    let mut narrator = Narrator::new(new_run(RunId::new("run-1")));
    let mut shown: Vec<(&str, EventView)> = Vec::new();
    for entry in &story.log {
        shown.push((entry.event.name(), narrator.view(entry)));
    }
    for entry in other_events(&story) {
        let view = event_view(&entry, holdpoint_core::Revision(99), &story.for_people);
        shown.push((entry.event.name(), view));
    }
    let mut narrator = Narrator::new(new_run(RunId::new("run-2")));
    for entry in worker_story().log() {
        shown.push((entry.event.name(), narrator.view(entry)));
    }
    assert!(shown.iter().all(|(name, view)| *name == view.event.name()));
    let texts = shown.into_iter().map(|(name, view)| (name, canonical_json(&view.to_string()).unwrap()));
    check("shown", &by_name(texts));
}

/// The command line reads what a server wrote, and loses no digit of it.
#[test]
fn shown_events_read_back() {
    for (name, texts) in golden("shown") {
        for text in texts.lines() {
            let view: EventView = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(canonical_json(&view.to_string()).unwrap(), text, "{name}");
        }
    }
    let strange = ["{}", "7", r#"{"seq":1,"run_id":"r","at":0,"event":"unheard_of","turn":1}"#];
    assert!(strange.iter().all(|text| serde_json::from_str::<EventView>(text).is_err()));
}

#[test]
fn continuations() {
    let story = story();
    let key = key();
    let live = Context::new().with("user_id", 7).with("session", "s-1").with("api_key", "k");
    let keys: BTreeSet<Arc<str>> = BTreeSet::from(["user_id".into(), "session".into()]);
    let signed = DumpOptions { key: Some(&key), ..DumpOptions::default() };
    let traced = DumpOptions { traces: Traces::Include, ..signed };
    let listed = DumpOptions { context: Some(&live), context_keys: Some(&keys), ..signed };
    let workers = worker_story();
    let made = [
        ("people.json", &story.for_people, signed),
        ("out.json", &workers.out, signed),
        ("lost.json", &workers.lost, signed),
        ("results.json", &story.for_results, listed),
        ("doubt.json", &story.in_doubt, traced),
        ("unsigned.json", &story.for_results, DumpOptions::default()),
    ];
    let made = made.map(|(name, run, options)| (name.to_owned(), continuation::dump(run, &options).unwrap()));
    check("continuation", &BTreeMap::from(made));
    for (name, text) in golden("continuation") {
        let (unsigned, trust) = match name.as_str() {
            "unsigned.json" => (Unsigned::Accept, Trust::Unsigned),
            _ => (Unsigned::Refuse, Trust::Signed),
        };
        let options = LoadOptions { keys: std::slice::from_ref(&key), unsigned, ..LoadOptions::default() };
        let loaded = continuation::load(&text, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(loaded.trust, trust, "{name}");
        let run = imported(&loaded);
        let again = DumpOptions { key: (trust == Trust::Signed).then_some(&key), ..DumpOptions::default() };
        let keys: BTreeSet<Arc<str>> = run.context().keys().cloned().collect();
        let traces = if name == "doubt.json" { Traces::Include } else { Traces::Omit };
        let again = DumpOptions { context_keys: Some(&keys), traces, ..again };
        assert_eq!(continuation::dump(&run, &again).unwrap(), text, "{name}");
    }
}

fn imported(loaded: &continuation::Loaded) -> Run {
    imported_run(loaded.run_id.clone(), Arc::new(loaded.snapshot.clone()))
}

#[test]
fn task_payloads() {
    let story = story();
    let key = key();
    let options = tasks::DumpOptions { key: Some(&key), ..tasks::DumpOptions::default() };
    let made = [("results.json".to_owned(), tasks::dump(&story.for_results, &options).unwrap())];
    check("tasks", &BTreeMap::from(made));
    for (name, text) in golden("tasks") {
        let options = LoadOptions { keys: std::slice::from_ref(&key), ..LoadOptions::default() };
        let loaded = tasks::load(&text, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((loaded.tasks.len(), loaded.trust), (1, Trust::Signed), "{name}");
    }
}

#[test]
fn tasks_of_the_queue() {
    let out = worker_story().out;
    let mut made: BTreeMap<String, String> = BTreeMap::new();
    for (index, _) in out.deferred() {
        let stored = tasks::encode_task(&out, index, None).unwrap();
        made.insert(format!("task-{index}.json"), String::from_utf8(stored).unwrap());
    }
    let halted = settlement(Outcome::Halted, ToolResult::halt("stop"));
    let failed = Settlement { code: Some(Code::ToolError), source: None, ..settlement(Outcome::Failed, rich_result()) };
    for (name, settlement) in [("halted", halted), ("failed", failed)] {
        let stored = tasks::encode_delivery(&settlement);
        made.insert(format!("delivery-{name}.json"), String::from_utf8(stored).unwrap());
    }
    check("queue", &made);
    for (name, text) in golden("queue") {
        if name.starts_with("delivery") {
            let settlement = tasks::decode_delivery(text.as_bytes()).unwrap();
            assert_eq!(tasks::encode_delivery(&settlement), text.as_bytes(), "{name}");
            continue;
        }
        let stored = tasks::decode_task(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let asked = tasks::tasks(&out).into_iter().find(|task| task.index == stored.task.index).unwrap();
        assert_eq!(stored.task.to_json(), asked.to_json(), "{name}");
        assert_eq!(stored.settings, *out.settings(), "{name}");
        assert_eq!(stored.context.actor(), out.actor(), "{name}");
        assert_eq!(stored.context.attribute("user_id"), Some(&7.into()), "{name}");
        assert_eq!((stored.run, stored.batch), (out.id().clone(), out.batch()), "{name}");
    }
}

#[test]
fn audit_documents() {
    let story = worker_story();
    let at = holdpoint_core::Timestamp(1_700_000_000_000_000);
    let documents = story.steps.iter().filter_map(|(events, run)| audit::encode(run, events, at));
    let lines: Vec<String> = documents.map(|document| String::from_utf8(document).unwrap()).collect();
    check("audit", &BTreeMap::from([("workers.jsonl".to_owned(), lines.join("\n"))]));
    for line in golden("audit")["workers.jsonl"].lines() {
        let audit = audit::decode(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"));
        let shown = serde_json::to_value(&audit.entries).unwrap();
        let text: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(shown, text["entries"], "{line}");
    }
}

/// Payloads and imports of runs that were paused before there were grants: they say less, and read as they did.
fn lines(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("\n")
}

/// A run with a session, grants, a policy that is tried beside another, and tools that changed.
#[test]
fn a_run_with_grants() {
    let story = grant_story();
    let key = key();
    let at = holdpoint_core::Timestamp(1_700_000_000_000_000);
    let signed = DumpOptions { key: Some(&key), ..DumpOptions::default() };
    let mut narrator = Narrator::new(new_run(RunId::new("run-3")));
    let snapshot = LogEntry { at, event: Event::Imported(Arc::new(story.again.snapshot().unwrap())) };
    let shown: Vec<_> = pending(&story.again).iter().map(holdpoint_codec::Pending::to_json).collect();
    let task = tasks::encode_task(&story.again, CallIndex(1), None).unwrap();
    let audited = story.steps.iter().filter_map(|(events, run)| audit::encode(run, events, at));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let mut made = BTreeMap::from([
        ("stored.jsonl".to_owned(), lines(story.log().map(|event| text(encode_event(event))))),
        (
            "shown.jsonl".to_owned(),
            lines(story.log().map(|event| canonical_json(&narrator.view(event).to_string()).unwrap())),
        ),
        ("imported.json".to_owned(), text(encode_event(&snapshot))),
        ("continuation.json".to_owned(), continuation::dump(&story.again, &signed).unwrap()),
        ("pending.json".to_owned(), canonical_value(&shown.into())),
        ("task.json".to_owned(), text(task)),
        ("audit.jsonl".to_owned(), lines(audited.map(text))),
        ("listed.jsonl".to_owned(), lines(grants().iter().map(|(_, grant)| shown_text(&GrantView::of(grant))))),
    ]);
    made.extend(grants().into_iter().map(|(name, grant)| (name.to_owned(), text(encode_grant(&grant)))));
    check("granted", &made);
}

/// What was written when grants came still reads, and reads as it was meant.
#[test]
fn a_run_with_grants_reads_back() {
    let files = golden("granted");
    for text in files["stored.jsonl"].lines().chain([files["imported.json"].as_str()]) {
        let event = decode_event(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(String::from_utf8(encode_event(&event)).unwrap(), text);
    }
    for (name, text) in files.iter().filter(|(name, _)| name.starts_with("grant-")) {
        let grant = decode_grant(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(String::from_utf8(encode_grant(&grant)).unwrap(), *text, "{name}");
        assert!(grants().iter().any(|(known, meant)| known == name && *meant == grant), "{name}");
    }
    for line in files["audit.jsonl"].lines() {
        let audit = audit::decode(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"));
        let shown = serde_json::to_value(&audit.entries).unwrap();
        let text: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(shown, text["entries"], "{line}");
    }
    let audited = &files["audit.jsonl"];
    for field in ["\"grant_id\":\"run-3.g1\"", "\"policy_version\":\"policy-1\"", "\"shadow\":{\"decision\":\"deny\""] {
        assert!(audited.contains(field), "{field}");
    }
    let key = key();
    let options = LoadOptions { keys: std::slice::from_ref(&key), ..LoadOptions::default() };
    let run = imported(&continuation::load(&files["continuation.json"], &options).unwrap());
    assert_eq!(run.session().map(|session| &**session), Some("talk-7"));
    let earlier = run.earlier_turns();
    assert_eq!(earlier[0].arguments.expose(), r#"{"amount":100}"#);
    assert_eq!(run.snapshot().unwrap().grants, 3);
    assert_eq!(run.calls()[0].question().unwrap().number, 2);
    let task = tasks::decode_task(files["task.json"].as_bytes()).unwrap();
    assert_eq!(task.tool.definition.as_deref(), Some("definition-1"));
}

#[test]
fn results_messages_and_pending_calls() {
    let story = story();
    let mut made = BTreeMap::from([
        ("result-rich.json".to_owned(), result_to_text(&rich_result())),
        ("result-error.json".to_owned(), result_to_text(&ToolResult::error("no"))),
        ("result-halt.json".to_owned(), result_to_text(&ToolResult::halt("stop"))),
    ]);
    for (index, message) in story.for_people.messages().iter().enumerate() {
        made.insert(format!("message-{index}.json"), shown_text(&message_view(message)));
    }
    let workers = worker_story();
    let runs = [
        ("people", &story.for_people),
        ("results", &story.for_results),
        ("doubt", &story.in_doubt),
        ("out", &workers.out),
        ("lost", &workers.lost),
    ];
    for (name, run) in runs {
        let shown: Vec<_> = pending(run).iter().map(holdpoint_codec::Pending::to_json).collect();
        made.insert(format!("pending-{name}.json"), canonical_value(&shown.into()));
    }
    check("parts", &made);
    for (name, text) in golden("parts") {
        if name.starts_with("result") {
            assert_eq!(result_to_text(&result_from_text(&text).unwrap()), text, "{name}");
        }
        if name.starts_with("message") {
            let message = read_message(&serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(shown_text(&message_view(&message)), text, "{name}");
        }
    }
}
