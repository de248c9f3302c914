//! `holdpoint audit`: the same log in a file and on a server, verified, tampered with, sealed and exported.

use crate::common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{said, snapshot};
use holdpoint::{Actor, Agent, RunId, RunRequest, Status, StoreOptions, open_store, open_store_with};
use holdpoint_core::{Revision, Timestamp};
use holdpoint_model::{ScriptedModel, ScriptedReply};
use holdpoint_policy::Rules;
use holdpoint_store::{HeadUpdate, ManualClock, PruneRequest, Store, Transition};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_tools::raw_tool;
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection};
use tempfile::TempDir;

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A database of the test's own.
enum Place {
    File(TempDir),
    Server(Scratch),
}

impl Place {
    fn url(&self) -> String {
        match self {
            Place::File(folder) => format!("sqlite:{}", folder.path().join("runs.db").display()),
            Place::Server(scratch) => scratch.url().to_owned(),
        }
    }

    /// Does behind the store's back what the statements say. `{log}` and the like are the tables.
    fn tamper(&self, sql: &str) {
        let prefix = match self {
            Place::File(_) => "",
            Place::Server(_) => "holdpoint_",
        };
        let sql = ["runs", "log", "seals", "tombstones"]
            .iter()
            .fold(sql.to_owned(), |sql, table| sql.replace(&format!("{{{table}}}"), &format!("{prefix}{table}")));
        wait(async {
            match self {
                Place::File(_) => {
                    let mut line = SqliteConnection::connect(&self.url()).await.unwrap();
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut line).await.unwrap();
                    line.close().await.unwrap();
                }
                Place::Server(scratch) => {
                    let mut line = PgConnection::connect(scratch.url()).await.unwrap();
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut line).await.unwrap();
                    line.close().await.unwrap();
                }
            }
        });
    }

    fn close(self) {
        match self {
            Place::File(folder) => folder.close().unwrap(),
            Place::Server(scratch) => wait(scratch.close()).unwrap(),
        }
    }
}

/// Checks something in a file and, with the server tests, on a server.
fn on_each(check: impl Fn(&Place)) {
    let mut places = vec![Place::File(TempDir::new().unwrap())];
    if cfg!(feature = "server-tests") {
        places.push(Place::Server(wait(Scratch::new()).unwrap()));
    }
    for place in places {
        check(&place);
        place.close();
    }
}

fn audit(place: &Place, command: &str, more: &[&str]) -> String {
    said(&[&["audit", command, "--store", &place.url()], more].concat(), "")
}

/// A run of a test.
#[derive(Clone, Copy)]
struct TestRun {
    id: &'static str,
    tenant: Option<&'static str>,
}

impl TestRun {
    fn of_acme(id: &'static str) -> Self {
        Self { id, tenant: Some("acme") }
    }

    fn of_nobody(id: &'static str) -> Self {
        Self { id, tenant: None }
    }

    /// Commits one step, with what it leaves in the audit log.
    async fn step(self, store: &Store, at: u64, moment: Timestamp, entry: Value) {
        let ended = entry["event"] == "done";
        let head = HeadUpdate {
            tenant: self.tenant.map(Into::into),
            ..HeadUpdate::new(if ended { Status::Finished } else { Status::AwaitingToolConfirmation })
        };
        let mut transition = Transition::new(vec![b"{}".to_vec()], head, moment);
        let written_at = jiff::Timestamp::from_microsecond(moment.0).unwrap();
        transition.audit = Some(format!(r#"{{"v":1,"at":"{written_at}","entries":[{entry}]}}"#).into_bytes());
        store.runs.commit(&RunId::new(self.id), Revision(at), transition).await.unwrap();
    }
}

/// Two runs of `acme`, of which one was pruned, and one of nobody. Always the same, and so are the seals.
fn fill(place: &Place) {
    wait(async {
        let clock = Arc::new(ManualClock::default());
        let options = StoreOptions::default().clock(clock.clone());
        let store = open_store_with(&place.url(), options).await.unwrap();
        let entries = [
            json!({ "event": "run_started", "actor": { "id": "zoe", "tenant": "acme" } }),
            json!({ "event": "call_decided", "turn": 1, "index": 0, "tool": "refund", "decision": "confirm" }),
            json!({ "event": "call_answered", "turn": 1, "index": 0, "actor": { "id": "ana" }, "decision": "allow" }),
        ];
        for run in [TestRun::of_acme("run-1"), TestRun::of_nobody("run-2")] {
            for (at, entry) in (0..).zip(&entries) {
                run.step(&store, at, clock.advance_ms(1_000), entry.clone()).await;
            }
        }
        TestRun::of_acme("run-3").step(&store, 0, clock.advance_ms(1_000), json!({ "event": "done" })).await;
        store.audit.seal(Some("acme")).await.unwrap().unwrap();
        store.audit.seal(None).await.unwrap().unwrap();
        let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
        assert_eq!(store.runs.prune(&all).await.unwrap().len(), 1);
    });
}

/// The lines that the command printed.
fn printed(said: &str) -> Vec<&str> {
    said.lines().skip_while(|line| *line != "--- stdout").skip(1).take_while(|line| *line != "--- stderr").collect()
}

fn newest(place: &Place) -> Vec<String> {
    let said = audit(place, "verify", &[]);
    printed(&said).iter().filter_map(|line| line.strip_prefix("newest seal ")).map(str::to_owned).collect()
}

/// Seals that are made now have another hash each time.
fn without_hashes(text: &str) -> String {
    let is_hash = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = text.split_inclusive(|char: char| !char.is_ascii_alphanumeric());
    parts
        .map(|part| {
            let word = part.trim_end_matches(|char: char| !char.is_ascii_alphanumeric());
            if is_hash(word) { format!("HASH{}", &part[word.len()..]) } else { part.to_owned() }
        })
        .collect()
}

#[test]
fn help_teaches_by_example() {
    snapshot("help_audit", &said(&["audit", "--help"], ""));
    for command in ["verify", "export", "seal"] {
        snapshot(&format!("help_audit_{command}"), &said(&["audit", command, "--help"], ""));
    }
}

#[test]
fn a_log_that_nobody_changed_is_whole_and_its_newest_seals_are_shown() {
    on_each(|place| {
        fill(place);
        snapshot("audit_whole", &audit(place, "verify", &[]));
        snapshot("audit_whole_json", &audit(place, "verify", &["--json"]));
        snapshot("audit_whole_tenant", &audit(place, "verify", &["--tenant", "acme"]));
        snapshot("audit_nobody", &audit(place, "verify", &["--tenant", "nobody"]));
    });
}

#[test]
fn whatever_was_changed_is_named() {
    on_each(|place| {
        fill(place);
        let run = "(SELECT run_no FROM {runs} WHERE run_id = 'run-1')";
        place.tamper(&format!("UPDATE {{log}} SET at = at + 1 WHERE run_no = {run} AND last_seq = 2"));
        place.tamper("DELETE FROM {log} WHERE run_no = (SELECT run_no FROM {runs} WHERE run_id = 'run-2')");
        place.tamper("DELETE FROM {runs} WHERE run_id = 'run-2'; DELETE FROM {tombstones}");
        snapshot("audit_tampered", &audit(place, "verify", &[]));
        snapshot("audit_tampered_json", &audit(place, "verify", &["--json"]));
        snapshot("audit_tampered_tenant", &audit(place, "verify", &["--tenant", "acme"]));
    });
}

#[test]
fn a_seal_that_was_kept_elsewhere_must_be_there() {
    on_each(|place| {
        fill(place);
        let kept = newest(place);
        let [none, acme] = &kept[..] else { panic!("{kept:?}") };
        let expecting = |marks: &[&str]| {
            let marks = marks.iter().flat_map(|mark| ["--expect", mark]);
            audit(place, "verify", &marks.collect::<Vec<_>>())
        };
        snapshot("audit_whole", &expecting(&[none, acme]));
        let other = acme.replace("acme=1:", "other=1:");
        snapshot("audit_unexpected", &expecting(&[&acme.replace(":", ":00")[..acme.len()], &other]));
        place.tamper("DELETE FROM {seals}; DELETE FROM {tombstones}; DELETE FROM {log}; DELETE FROM {runs}");
        snapshot("audit_emptied", &expecting(&[none, acme]));
        snapshot("audit_empty", &expecting(&[]));
        snapshot("audit_no_mark", &expecting(&["acme=1"]));
    });
}

#[test]
fn the_log_is_exported_line_by_line() {
    let golden: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/audit_export.jsonl");
    on_each(|place| {
        fill(place);
        let whole = audit(place, "export", &[]);
        assert!(whole.starts_with("exit 0\n") && whole.ends_with("--- stderr\n"), "{whole}");
        let lines = printed(&whole);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, lines.join("\n") + "\n").unwrap();
        }
        let before = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(lines, before.lines().collect::<Vec<_>>(), "the lines are a format that others read");

        let exported = |more: &[&str]| printed(&audit(place, "export", more)).join("\n");
        assert_eq!(exported(&["--tenant", "acme"]), lines[..3].join("\n"));
        assert_eq!(exported(&["--run", "run-2"]), lines[3..].join("\n"));
        assert_eq!(exported(&["--run", "nobody's"]), "");
        assert_eq!(exported(&["--since", "2025-01-01T00:00:06Z"]), lines[5..].join("\n"));
        assert_eq!(exported(&["--since", "1d"]), "");
        assert_eq!(exported(&["--since", "100000d"]), lines.join("\n"));
        let refused = audit(place, "export", &["--since", "yesterday"]);
        assert!(refused.starts_with("exit 2\n") && refused.contains("hint: "), "{refused}");
    });
}

/// What is no JSON any more is exported all the same.
#[test]
fn a_row_that_cannot_be_read_is_exported_as_bytes() {
    let place = Place::File(TempDir::new().unwrap());
    fill(&place);
    place.tamper("UPDATE {log} SET audit = x'7b0a7d' WHERE last_seq = 2");
    let exported = audit(&place, "export", &["--run", "run-1"]);
    let line: Value = serde_json::from_str(printed(&exported)[1]).unwrap();
    assert_eq!((&line["body_hex"], &line["body"]), (&json!("7b0a7d"), &Value::Null));
}

#[test]
fn whatever_moved_is_sealed_once() {
    on_each(|place| {
        fill(place);
        snapshot("audit_seal_nothing", &audit(place, "seal", &[]));
        wait(async {
            let store = open_store(&place.url()).await.unwrap();
            for run in [TestRun::of_acme("new-1"), TestRun::of_acme("new-2"), TestRun::of_nobody("new-3")] {
                run.step(&store, 0, store.runs.now(), json!({ "event": "run_started" })).await;
            }
        });
        snapshot("audit_seal_tenant", &without_hashes(&audit(place, "seal", &["--tenant", "acme"])));
        snapshot("audit_seal_json", &without_hashes(&audit(place, "seal", &["--json"])));
        snapshot("audit_seal_nothing", &audit(place, "seal", &[]));
        snapshot("audit_sealed", &without_hashes(&audit(place, "verify", &[])));
    });
}

#[test]
fn nothing_is_made_where_there_is_nothing_to_prove() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("runs.db");
    let url = format!("sqlite:{}", path.display());
    for command in ["verify", "export", "seal"] {
        let refused = said(&["audit", command, "--store", &url], "");
        assert!(refused.starts_with("exit 2\n") && refused.contains("error[store_missing]"), "{refused}");
        assert!(!path.exists(), "{command} made a database");
        snapshot("store_memory", &said(&["audit", command, "--store", "memory"], ""));
    }
}

/// A real agent's log, from its first decision to a seal.
#[test]
fn what_an_agent_decided_and_did_is_exported_and_verified() {
    let place = Place::File(TempDir::new().unwrap());
    wait(async {
        let script = vec![ScriptedReply::call("pay", "refund", r#"{"iban": "SECRET"}"#), ScriptedReply::text("done")];
        let rules = Rules::parse("[[rule]]\ntool = \"refund\"\ndecide = \"allow\"\n", "policy.toml").unwrap();
        let agent = Agent::builder()
            .model(ScriptedModel::new(script))
            .tool(raw_tool("refund", "Pays money back", json!({ "type": "object" }), async |_| "paid SECRET"))
            .policy(rules)
            .store(open_store(&place.url()).await.unwrap())
            .build()
            .unwrap();
        let actor = Actor { id: Some("ana".into()), tenant: Some("acme".into()), ..Actor::default() };
        agent.chat(RunRequest::new("go").by(actor)).await.unwrap();
    });
    let sealed = audit(&place, "seal", &[]);
    assert!(sealed.contains("1 run sealed, newest seal acme=1:"), "{sealed}");
    let exported = audit(&place, "export", &["--tenant", "acme"]);
    let lines: Vec<Value> = printed(&exported).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let entries: Vec<&Value> = lines.iter().flat_map(|line| line["body"]["entries"].as_array().unwrap()).collect();
    for event in ["run_started", "call_decided", "tool_started", "tool_ended", "done"] {
        assert!(entries.iter().any(|entry| entry["event"] == event), "{event} is not in {exported}");
    }
    assert!(!exported.contains("SECRET"), "{exported}");
    let verified = audit(&place, "verify", &[]);
    assert!(verified.starts_with("exit 0\n"), "{verified}");
}
