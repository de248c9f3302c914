//! Whoever changes the audit log behind the store's back is found, and what was changed is named.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use std::path::Path;

use common::{START, open, step, stranger};
use holdpoint_core::{Revision, RunId, Status, Timestamp};
use holdpoint_store::audit::{Finding, verify};
use holdpoint_store::{PruneRequest, Store, first_link, next_link};
use holdpoint_store_sqlite::SqliteStore;
use sqlx::{AssertSqlSafe, Connection, Executor};

async fn audited(store: &SqliteStore, run: &str, at: u64, status: Status) {
    let mut step = step(&[b"x"], status);
    step.head.tenant = Some("acme".into());
    step.audit = Some(format!("row {at}").into_bytes());
    store.commit(&RunId::new(run), Revision(at), step).await.unwrap();
}

/// Seal 1 has run `a` at revision 5, `b` at 3 and `gone`, which was pruned; seal 2 has `a` at 6. Its row 7 is in none.
async fn fill(store: &SqliteStore) {
    for at in 0..5 {
        audited(store, "a", at, Status::Running).await;
    }
    for at in 0..3 {
        audited(store, "b", at, Status::Running).await;
    }
    audited(store, "gone", 0, Status::Finished).await;
    store.seal(Some("acme")).await.unwrap().unwrap();
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
    assert_eq!(store.prune(&all).await.unwrap(), [RunId::new("gone")]);
    audited(store, "a", 5, Status::Running).await;
    store.seal(Some("acme")).await.unwrap().unwrap();
    audited(store, "a", 6, Status::Running).await;
}

async fn tamper(path: &Path, sql: &str) {
    let mut connection = stranger(path).await;
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    connection.close().await.unwrap();
}

/// What is found after these statements.
async fn found(sql: &str) -> Vec<Finding> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).await;
    fill(&store).await;
    tamper(&path, sql).await;
    verify(&store, &mut |_| {}).await.unwrap().findings
}

fn row(kind: fn(RunId, Revision) -> Finding, revision: u64) -> Finding {
    kind(RunId::new("a"), Revision(revision))
}

fn changed(run: RunId, revision: Revision) -> Finding {
    Finding::RowChanged { run, revision }
}

fn missing(run: RunId, revision: Revision) -> Finding {
    Finding::RowMissing { run, revision }
}

fn moved(run: RunId, revision: Revision) -> Finding {
    Finding::RowOutOfOrder { run, revision }
}

const A: &str = "run_no = (SELECT run_no FROM runs WHERE run_id = 'a')";

#[tokio::test]
async fn nothing_is_found_where_nobody_was() {
    assert_eq!(found("SELECT 1").await, []);
}

#[tokio::test]
async fn a_changed_row_is_named() {
    let cases = ["audit = CAST('row X' AS BLOB)", "at = at + 1", "link = zeroblob(32)", "link = NULL", "link = x'00'"];
    for set in cases {
        let findings = found(&format!("UPDATE log SET {set} WHERE {A} AND last_seq = 3")).await;
        assert_eq!(findings, [row(changed, 3)], "{set}");
    }
}

#[tokio::test]
async fn a_removed_row_is_named() {
    assert_eq!(found(&format!("DELETE FROM log WHERE {A} AND last_seq = 3")).await, [row(missing, 4)]);
    assert_eq!(found(&format!("UPDATE log SET audit = NULL WHERE {A} AND last_seq = 3")).await, [row(missing, 4)]);
    assert_eq!(found(&format!("DELETE FROM log WHERE {A} AND last_seq = 1")).await, [row(missing, 2)]);
    assert_eq!(found(&format!("DELETE FROM log WHERE {A} AND last_seq = 7")).await, [row(missing, 7)]);
    // What a seal names is missing as well.
    assert_eq!(found(&format!("DELETE FROM log WHERE {A} AND last_seq = 5")).await, [row(missing, 6), row(missing, 5)]);
}

#[tokio::test]
async fn rows_in_another_order_are_named() {
    let swap = format!(
        "UPDATE log SET last_seq = -2 WHERE {A} AND last_seq = 2; UPDATE log SET last_seq = 2 WHERE {A} AND last_seq = 4; \
         UPDATE log SET last_seq = 4 WHERE {A} AND last_seq = -2"
    );
    assert_eq!(found(&swap).await, [row(moved, 2), row(moved, 4)]);
}

#[tokio::test]
async fn a_tail_that_was_cut_off_is_named_by_the_seal_that_knows_it() {
    // The run says that it always ended there.
    let cut = format!(
        "DELETE FROM log WHERE {A} AND last_seq > 5; UPDATE runs SET (audit_revision, audit_rows, audit_link) = \
         (SELECT last_seq, audit_no, link FROM log WHERE {A} AND last_seq = 5) WHERE run_id = 'a'"
    );
    assert_eq!(found(&cut).await, [row(missing, 6)]);
}

#[tokio::test]
async fn a_history_that_was_written_anew_is_named_by_the_seals() {
    let run = RunId::new("a");
    let (mut link, mut sql) = (first_link(&run, Some("acme")), String::new());
    for revision in 1..=7 {
        let body = format!("row {}", if revision == 3 { 99 } else { revision - 1 });
        link = next_link(link, Revision(revision), START, body.as_bytes());
        sql += &format!(
            "UPDATE log SET audit = CAST('{body}' AS BLOB), link = x'{link}' WHERE {A} AND last_seq = {revision};"
        );
    }
    sql += &format!("UPDATE runs SET audit_link = x'{link}' WHERE run_id = 'a'");
    assert_eq!(found(&sql).await, [row(changed, 5), row(changed, 6)]);
}

#[tokio::test]
async fn a_removed_run_is_named() {
    let tenant = Some("acme".into());
    let remove = "DELETE FROM log WHERE run_no = (SELECT run_no FROM runs WHERE run_id = 'b'); \
         DELETE FROM runs WHERE run_id = 'b'";
    let gone = Finding::RunMissing { tenant, run: RunId::new("b"), seal: 1 };
    assert_eq!(found(remove).await, std::slice::from_ref(&gone));
    // With the seal that knows it, and with the number of the other changed so that there seem to be no others.
    let hidden = format!("{remove}; DELETE FROM seals WHERE number = 1; UPDATE seals SET number = 1");
    let findings = found(&hidden).await;
    let broken = Finding::SealBroken { tenant: Some("acme".into()), number: 1 };
    assert!(findings.contains(&broken), "{findings:?}");
}

#[tokio::test]
async fn a_head_that_was_changed_is_named() {
    for set in ["audit_link = zeroblob(32)", "audit_revision = 6", "audit_rows = 6"] {
        let findings = found(&format!("UPDATE runs SET {set} WHERE run_id = 'a'")).await;
        assert_eq!(findings, [Finding::HeadMismatch { run: RunId::new("a") }], "{set}");
    }
}

#[tokio::test]
async fn a_seal_that_was_changed_or_removed_is_named() {
    let broken = |number| Finding::SealBroken { tenant: Some("acme".into()), number };
    let missing = |first, last| Finding::SealMissing { tenant: Some("acme".into()), first, last };
    for set in ["at = at + 1", "link = zeroblob(32)", "runs = x'00'", "runs = x'ff00'"] {
        let findings = found(&format!("UPDATE seals SET {set} WHERE number = 2")).await;
        assert_eq!(findings, [broken(2)], "{set}");
    }
    assert_eq!(found("DELETE FROM seals WHERE number = 1").await, [missing(1, 1)]);
    assert_eq!(found("DELETE FROM seals WHERE number = 2").await, [missing(2, 2)]);
    assert_eq!(found("DELETE FROM seals").await, [missing(1, 2)]);
}

#[tokio::test]
async fn a_tombstone_that_was_changed_or_removed_is_named() {
    let (tenant, run, seal) = (Some("acme".into()), RunId::new("gone"), 1);
    let gone = Finding::RunMissing { tenant, run, seal };
    assert_eq!(found("DELETE FROM tombstones").await, [gone]);
    let (tenant, run) = (Some("acme".into()), RunId::new("gone"));
    let other = Finding::TombstoneMismatch { tenant, run, seal };
    assert_eq!(found("UPDATE tombstones SET link = zeroblob(32)").await, [other]);
}

/// A stone of an earlier run of the same name says nothing about a later one.
#[tokio::test]
async fn a_removed_run_is_named_although_another_of_its_name_was_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).await;
    fill(&store).await;
    audited(&store, "gone", 0, Status::Running).await;
    store.seal(Some("acme")).await.unwrap().unwrap();
    tamper(&path, "DELETE FROM log WHERE run_no = (SELECT run_no FROM runs WHERE run_id = 'gone')").await;
    tamper(&path, "DELETE FROM runs WHERE run_id = 'gone'").await;
    let findings = verify(&store, &mut |_| {}).await.unwrap().findings;
    assert_eq!(findings, [Finding::RunMissing { tenant: Some("acme".into()), run: RunId::new("gone"), seal: 3 }]);
}
