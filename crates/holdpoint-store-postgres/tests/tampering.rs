//! Whoever changes the audit log behind the store's back is found, and what was changed is named.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

mod common;

use common::{sql, step_to};
use holdpoint_core::{Revision, RunId, Status, Timestamp};
use holdpoint_store::audit::{Finding, verify};
use holdpoint_store::{PruneRequest, Store, first_link, next_link};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Options, PostgresStore};

async fn audited(store: &PostgresStore, run: &str, at: u64, status: Status) {
    let mut step = step_to("x", status);
    step.head.tenant = Some("acme".into());
    step.audit = Some(format!("row {at}").into_bytes());
    store.commit(&RunId::new(run), Revision(at), step).await.unwrap();
}

/// Seal 1 has run `a` at revision 5, `b` at 3 and `gone`, which was pruned; seal 2 has `a` at 6. Its row 7 is in none.
async fn fill(store: &PostgresStore) {
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

async fn filled() -> (Scratch, PostgresStore) {
    let scratch = Scratch::new().await.unwrap();
    let options = Options { connections: 2, ..Options::default() };
    let store = PostgresStore::open_with(scratch.url(), options).await.unwrap();
    fill(&store).await;
    (scratch, store)
}

/// What is found after these statements.
async fn found(statements: &str) -> Vec<Finding> {
    let (scratch, store) = filled().await;
    sql(scratch.url(), statements).await;
    let findings = verify(&store, &mut |_| {}).await.unwrap().findings;
    drop(store);
    scratch.close().await.unwrap();
    findings
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

/// The moment of every transition here.
const START: Timestamp = Timestamp(1_700_000_000_000_000);
const A: &str = "run_no = (select run_no from holdpoint_runs where run_id = 'a')";

#[tokio::test]
async fn nothing_is_found_where_nobody_was() {
    assert_eq!(found("select 1").await, []);
}

#[tokio::test]
async fn a_changed_row_is_named() {
    let cases =
        ["audit = 'row X'", "at = at + 1", "link = decode(repeat('00', 32), 'hex')", "link = null", "link = '\\x00'"];
    for set in cases {
        let findings = found(&format!("update holdpoint_log set {set} where {A} and last_seq = 3")).await;
        assert_eq!(findings, [row(changed, 3)], "{set}");
    }
}

#[tokio::test]
async fn a_removed_row_is_named() {
    assert_eq!(found(&format!("delete from holdpoint_log where {A} and last_seq = 3")).await, [row(missing, 4)]);
    assert_eq!(
        found(&format!("update holdpoint_log set audit = null where {A} and last_seq = 3")).await,
        [row(missing, 4)]
    );
    assert_eq!(found(&format!("delete from holdpoint_log where {A} and last_seq = 1")).await, [row(missing, 2)]);
    assert_eq!(found(&format!("delete from holdpoint_log where {A} and last_seq = 7")).await, [row(missing, 7)]);
    // What a seal names is missing as well.
    assert_eq!(
        found(&format!("delete from holdpoint_log where {A} and last_seq = 5")).await,
        [row(missing, 6), row(missing, 5)]
    );
}

#[tokio::test]
async fn rows_in_another_order_are_named() {
    let swap = format!(
        "update holdpoint_log set last_seq = -2 where {A} and last_seq = 2; update holdpoint_log set last_seq = 2 where {A} and last_seq = 4; \
         update holdpoint_log set last_seq = 4 where {A} and last_seq = -2"
    );
    assert_eq!(found(&swap).await, [row(moved, 2), row(moved, 4)]);
}

#[tokio::test]
async fn a_tail_that_was_cut_off_is_named_by_the_seal_that_knows_it() {
    // The run says that it always ended there.
    let cut = format!(
        "delete from holdpoint_log where {A} and last_seq > 5; update holdpoint_runs set (audit_revision, audit_rows, audit_link) = \
         (select last_seq, audit_no, link from holdpoint_log where {A} and last_seq = 5) where run_id = 'a'"
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
            "update holdpoint_log set audit = '{body}', link = '\\x{link}' where {A} and last_seq = {revision};"
        );
    }
    sql += &format!("update holdpoint_runs set audit_link = '\\x{link}' where run_id = 'a'");
    assert_eq!(found(&sql).await, [row(changed, 5), row(changed, 6)]);
}

#[tokio::test]
async fn a_removed_run_is_named() {
    let tenant = Some("acme".into());
    let remove = "delete from holdpoint_log where run_no = (select run_no from holdpoint_runs where run_id = 'b'); \
         delete from holdpoint_runs where run_id = 'b'";
    let gone = Finding::RunMissing { tenant, run: RunId::new("b"), seal: 1 };
    assert_eq!(found(remove).await, std::slice::from_ref(&gone));
    // With the seal that knows it, and with the number of the other changed so that there seem to be no others.
    let hidden =
        format!("{remove}; delete from holdpoint_seals where number = 1; update holdpoint_seals set number = 1");
    let findings = found(&hidden).await;
    let broken = Finding::SealBroken { tenant: Some("acme".into()), number: 1 };
    assert!(findings.contains(&broken), "{findings:?}");
}

#[tokio::test]
async fn a_head_that_was_changed_is_named() {
    for set in ["audit_link = decode(repeat('00', 32), 'hex')", "audit_revision = 6", "audit_rows = 6"] {
        let findings = found(&format!("update holdpoint_runs set {set} where run_id = 'a'")).await;
        assert_eq!(findings, [Finding::HeadMismatch { run: RunId::new("a") }], "{set}");
    }
}

#[tokio::test]
async fn a_seal_that_was_changed_or_removed_is_named() {
    let broken = |number| Finding::SealBroken { tenant: Some("acme".into()), number };
    let missing = |first, last| Finding::SealMissing { tenant: Some("acme".into()), first, last };
    for set in ["at = at + 1", "link = decode(repeat('00', 32), 'hex')", "runs = '\\x00'", "runs = '\\xff00'"] {
        let findings = found(&format!("update holdpoint_seals set {set} where number = 2")).await;
        assert_eq!(findings, [broken(2)], "{set}");
    }
    assert_eq!(found("delete from holdpoint_seals where number = 1").await, [missing(1, 1)]);
    assert_eq!(found("delete from holdpoint_seals where number = 2").await, [missing(2, 2)]);
    assert_eq!(found("delete from holdpoint_seals").await, [missing(1, 2)]);
}

#[tokio::test]
async fn a_tombstone_that_was_changed_or_removed_is_named() {
    let (tenant, run, seal) = (Some("acme".into()), RunId::new("gone"), 1);
    let gone = Finding::RunMissing { tenant, run, seal };
    assert_eq!(found("delete from holdpoint_tombstones").await, [gone]);
    let (tenant, run) = (Some("acme".into()), RunId::new("gone"));
    let other = Finding::TombstoneMismatch { tenant, run, seal };
    assert_eq!(found("update holdpoint_tombstones set link = decode(repeat('00', 32), 'hex')").await, [other]);
}

/// A stone of an earlier run of the same name says nothing about a later one.
#[tokio::test]
async fn a_removed_run_is_named_although_another_of_its_name_was_pruned() {
    let (scratch, store) = filled().await;
    audited(&store, "gone", 0, Status::Running).await;
    store.seal(Some("acme")).await.unwrap().unwrap();
    sql(
        scratch.url(),
        "delete from holdpoint_log where run_no = (select run_no from holdpoint_runs where run_id = 'gone')",
    )
    .await;
    sql(scratch.url(), "delete from holdpoint_runs where run_id = 'gone'").await;
    let findings = verify(&store, &mut |_| {}).await.unwrap().findings;
    assert_eq!(findings, [Finding::RunMissing { tenant: Some("acme".into()), run: RunId::new("gone"), seal: 3 }]);
}
