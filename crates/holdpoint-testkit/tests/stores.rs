//! Every scenario gives the same answer on every store.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use holdpoint_store::RunFilter;
use holdpoint_testkit::{Report, RunOptions, StoreChoice, Verdict, run_path, run_text};
use tempfile::TempDir;

/// Most of the time goes into waiting for the disk.
const JOBS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn on(url: &str) -> RunOptions {
    RunOptions { store: StoreChoice::parse(url).unwrap(), ..RunOptions::default() }
}

fn all_hold_on(url: &str) {
    let options = RunOptions { jobs: JOBS, ..on(url) };
    let reports = run_path(&[folder()], &options);
    let bad: Vec<String> = reports.iter().filter(|report| !report.ok()).map(|r| format!("{}: {r}", r.file)).collect();
    assert!(bad.is_empty(), "{} of {} do not hold\n{}", bad.len(), reports.len(), bad.join("\n"));
    assert!(reports.len() >= 280, "only {} scenarios", reports.len());
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn file_in(folder: &TempDir) -> String {
    format!("sqlite:{}", folder.path().join("runs.db").display())
}

/// A run that pauses, survives a crash, is moved to another store and survives a crash there.
const WANDERING: &str = "
name: a run wanders
tools: {pay: {does: {return: paid}}}
policy: [{tool: pay, decide: confirm, reason: money}]
model: [{calls: [{id: a, tool: pay, arguments: {}}, {id: b, tool: pay, arguments: {}}]}, {text: done}]
steps:
  - run: {input: go}
  - crash: {}
    expect: {status: awaiting_tool_confirmation}
  - answer: {decisions: {a: allow}, partial: true}
  - save: {as: s, fresh: true}
  - answer: {decisions: {a: allow}, partial: true}
  - crash: {}
    expect: {pending: [{id: b}]}
  - answer: {decisions: {b: allow}}
    expect: {status: finished, executed: [pay, pay]}
";

#[test]
fn every_scenario_holds_on_sqlite() {
    let folder = TempDir::new().unwrap();
    all_hold_on(&file_in(&folder));
}

#[test]
fn runs_are_in_the_file_afterwards_and_the_file_can_be_used_again() {
    let folder = TempDir::new().unwrap();
    let url = file_in(&folder);
    for times in 1..=2 {
        let report = run_text(WANDERING, "inline.yaml", &on(&url));
        assert!(report.ok(), "{report}");
        let page = wait(async {
            let store = holdpoint::open_store(&url).await.unwrap();
            store.runs.list(&RunFilter::default()).await.unwrap()
        });
        assert_eq!(page.items.len(), times, "one run per scenario; what was imported is elsewhere");
        assert!(
            page.items.iter().all(|head| head.continuation.is_some()),
            "the run here still waits: it went on elsewhere"
        );
    }
}

#[test]
fn a_store_that_cannot_be_opened_fails_the_first_step_that_needs_it() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("not/there/runs.db").display());
    let report: Report = run_text(WANDERING, "inline.yaml", &on(&url));
    let Verdict::Failed { step: Some((1, "run")), difference } = &report.verdict else { panic!("{report}") };
    assert_eq!(difference.path, "error");
    assert!(difference.seen.to_string().contains("store_missing"), "{}", difference.seen);
}

#[cfg(feature = "server-tests")]
mod on_a_server {
    use std::time::Duration;

    use holdpoint_store_postgres::testing::Scratch;
    use sqlx::{Connection, PgConnection};

    use super::{RunFilter, WANDERING, all_hold_on, on, run_text, wait};

    /// How often a test looks before it gives up.
    const LOOKS_MAX: u32 = 200;

    #[test]
    fn every_scenario_holds_on_postgres() {
        let scratch = wait(Scratch::new()).unwrap();
        all_hold_on(scratch.url());
        wait(scratch.close()).unwrap();
    }

    /// How many connections with this name the server has.
    async fn connections(server: &str, name: &str) -> i64 {
        let mut line = PgConnection::connect(server).await.unwrap();
        let count = sqlx::query_scalar("select count(*) from pg_stat_activity where application_name = $1").bind(name);
        let count = count.fetch_one(&mut line).await.unwrap();
        line.close().await.unwrap();
        count
    }

    #[test]
    fn scenarios_leave_no_connection_behind() {
        let scratch = wait(Scratch::new()).unwrap();
        let server = scratch.url().to_owned();
        let name = format!("scenarios-{}", std::process::id());
        let named = format!("{server}{}application_name={name}", if server.contains('?') { '&' } else { '?' });
        let store = wait(async {
            let store = holdpoint::open_store(&named).await.unwrap();
            store.runs.list(&RunFilter::default()).await.unwrap();
            assert!(connections(&server, &name).await > 0, "the name reaches the server");
            store
        });
        drop(store);
        for _ in 0..3 {
            let report = run_text(WANDERING, "inline.yaml", &on(&named));
            assert!(report.ok(), "{report}");
        }
        // The server notices a little later that somebody left.
        let gone = wait(async {
            for _ in 0..LOOKS_MAX {
                if connections(&server, &name).await == 0 {
                    return true;
                }
                // tidy: sleeps because the server tells nobody that a connection ended.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            false
        });
        assert!(gone, "connections are left");
        wait(scratch.close()).unwrap();
    }
}
