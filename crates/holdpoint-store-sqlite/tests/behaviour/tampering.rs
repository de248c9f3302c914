//! Whoever changes the audit log behind the store's back is found, and what was changed is named.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::common;

use std::path::Path;

use common::{START, open, step, stranger};
use holdpoint_core::{Revision, RunId, Status, Timestamp};
use holdpoint_store::audit::{Finding, VerifyRequest, verify};
use holdpoint_store::{AuditScope, PruneRequest, SealMark, Store, first_link, next_link};
use sqlx::{AssertSqlSafe, Connection, Executor};
use tempfile::TempDir;

async fn audited(store: &Store, run: &str, at: u64, status: Status) {
    let mut step = step(&[b"x"], status);
    step.head.tenant = Some("acme".into());
    step.audit = Some(format!("row {at}").into_bytes());
    store.runs.commit(&RunId::new(run), Revision(at), step).await.unwrap();
}

/// Seal 1 has run `a` at revision 5, `b` at 3 and `gone`, which was pruned; seal 2 has `a` at 6. Its row 7 is in none.
async fn fill(store: &Store) {
    for at in 0..5 {
        audited(store, "a", at, Status::Running).await;
    }
    for at in 0..3 {
        audited(store, "b", at, Status::Running).await;
    }
    audited(store, "gone", 0, Status::Finished).await;
    store.audit.seal(Some("acme")).await.unwrap().unwrap();
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
    assert_eq!(store.runs.prune(&all).await.unwrap(), [RunId::new("gone")]);
    audited(store, "a", 5, Status::Running).await;
    store.audit.seal(Some("acme")).await.unwrap().unwrap();
    audited(store, "a", 6, Status::Running).await;
}

async fn tamper(path: &Path, sql: &str) {
    let mut connection = stranger(path).await;
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    connection.close().await.unwrap();
}

/// A store to tamper with.
struct Filled {
    store: Store,
    folder: TempDir,
}

impl Filled {
    async fn tamper(&self, sql: &str) {
        tamper(&self.folder.path().join("runs.db"), sql).await;
    }

    async fn close(self) {
        drop(self.store);
        self.folder.close().unwrap();
    }
}

async fn filled() -> Filled {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("runs.db")).await;
    fill(&store).await;
    Filled { store, folder }
}

/// What is found after these statements.
async fn found(sql: &str) -> Vec<Finding> {
    let filled = filled().await;
    filled.tamper(sql).await;
    verify(&filled.store, &VerifyRequest::default(), &mut |_| {}).await.unwrap().findings
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
    let sealed = Finding::SealedMismatch { run: RunId::new("a") };
    assert_eq!(found(&cut).await, [sealed, row(missing, 6)]);
    let hidden = format!("{cut}; UPDATE runs SET sealed_revision = 5, seal_no = 1 WHERE run_id = 'a'");
    assert_eq!(found(&hidden).await, [row(missing, 6)]);
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
    let Filled { store, folder } = filled().await;
    let path = folder.path().join("runs.db");
    audited(&store, "gone", 0, Status::Running).await;
    store.audit.seal(Some("acme")).await.unwrap().unwrap();
    tamper(&path, "DELETE FROM log WHERE run_no = (SELECT run_no FROM runs WHERE run_id = 'gone')").await;
    tamper(&path, "DELETE FROM runs WHERE run_id = 'gone'").await;
    let findings = verify(&store, &VerifyRequest::default(), &mut |_| {}).await.unwrap().findings;
    assert_eq!(findings, [Finding::RunMissing { tenant: Some("acme".into()), run: RunId::new("gone"), seal: 3 }]);
}

#[tokio::test]
async fn a_row_that_was_put_in_is_named() {
    let mut link = first_link(&RunId::new("a"), Some("acme"));
    for revision in 1..=8 {
        link = next_link(link, Revision(revision), START, format!("row {}", revision - 1).as_bytes());
    }
    // Behind the end, with the link that comes next.
    let columns = "run_no, last_seq, at, audit, body, audit_no, link";
    let behind = format!(
        "INSERT INTO log ({columns}) SELECT run_no, 8, at, CAST('row 7' AS BLOB), body, 8, x'{link}' \
         FROM log WHERE {A} AND last_seq = 7"
    );
    assert_eq!(found(&behind).await, [Finding::HeadMismatch { run: RunId::new("a") }]);
    // In the place of another: then the next one follows nothing that is there.
    let between = format!(
        "DELETE FROM log WHERE {A} AND last_seq = 3; INSERT INTO log ({columns}) \
         SELECT run_no, 3, at, CAST('row X' AS BLOB), body, 3, link FROM log WHERE {A} AND last_seq = 2"
    );
    assert_eq!(found(&between).await, [row(changed, 3), row(changed, 4)]);
    // Between two others.
    let more = format!(
        "UPDATE log SET last_seq = last_seq + 10 WHERE {A} AND last_seq > 3; INSERT INTO log ({columns}) \
         SELECT run_no, 4, at, CAST('row X' AS BLOB), body, 4, link FROM log WHERE {A} AND last_seq = 3"
    );
    let findings = found(&more).await;
    assert!(findings.contains(&row(changed, 4)) && findings.contains(&row(moved, 14)), "{findings:?}");
}

#[tokio::test]
async fn rows_of_two_runs_that_changed_places_are_named() {
    let of = |run| format!("(SELECT run_no FROM runs WHERE run_id = '{run}')");
    let (a, b) = (of("a"), of("b"));
    let swap = format!(
        "UPDATE log SET last_seq = -2 WHERE run_no = {a} AND last_seq = 2; \
         UPDATE log SET run_no = {a} WHERE run_no = {b} AND last_seq = 2; \
         UPDATE log SET run_no = {b}, last_seq = 2 WHERE last_seq = -2"
    );
    let other = Finding::RowChanged { run: RunId::new("b"), revision: Revision(2) };
    assert_eq!(found(&swap).await, [row(changed, 2), other]);
}

#[tokio::test]
async fn a_run_that_was_given_to_another_tenant_is_named() {
    let findings = found("UPDATE runs SET tenant = '=other' WHERE run_id = 'b'").await;
    let first = Finding::RowChanged { run: RunId::new("b"), revision: Revision(1) };
    let gone = Finding::RunMissing { tenant: Some("acme".into()), run: RunId::new("b"), seal: 1 };
    assert!(findings.contains(&first) && findings.contains(&gone), "{findings:?}");
}

#[tokio::test]
async fn a_run_that_says_it_was_sealed_otherwise_is_named() {
    // From then on nothing of it would be sealed, or it would be sealed again.
    for set in ["sealed_revision = 99", "sealed_revision = 7", "sealed_revision = 5", "seal_no = 0", "seal_no = 1"] {
        let findings = found(&format!("UPDATE runs SET {set} WHERE run_id = 'a'")).await;
        assert_eq!(findings, [Finding::SealedMismatch { run: RunId::new("a") }], "{set}");
    }
    // There is such a seal, and it does not name the run.
    let (store, run) = (filled().await, RunId::new("new"));
    audited(&store.store, "new", 0, Status::Running).await;
    store.tamper("UPDATE runs SET sealed_revision = 1, seal_no = 2 WHERE run_id = 'new'").await;
    let findings = verify(&store.store, &VerifyRequest::default(), &mut |_| {}).await.unwrap().findings;
    assert_eq!(findings, [Finding::SealedMismatch { run }]);
    store.close().await;
}

#[tokio::test]
async fn a_tombstone_of_a_run_that_was_never_pruned_is_named() {
    let false_of = |run: &str| Finding::TombstoneFalse { tenant: Some("acme".into()), run: RunId::new(run) };
    let stone = |values: &str| format!("INSERT INTO tombstones (tenant, run_id, revision, link, seal, at) {values}");
    let living = "SELECT tenant, run_id, audit_revision, audit_link, seal_no, 1 FROM runs WHERE run_id = 'b'";
    assert_eq!(found(&stone(living)).await, [false_of("b")], "the run is there");
    let made_up = stone("VALUES ('=acme', 'made up', 9, zeroblob(32), 2, 1)");
    assert_eq!(found(&made_up).await, [false_of("made up")], "the seal does not know it");
    let beyond = stone("VALUES ('=acme', 'made up', 9, zeroblob(32), 7, 1)");
    let missing = Finding::SealMissing { tenant: Some("acme".into()), first: 3, last: 7 };
    assert_eq!(found(&beyond).await, [missing], "there is no such seal");
    let remove = "DELETE FROM log WHERE run_no = (SELECT run_no FROM runs WHERE run_id = 'b'); \
         DELETE FROM runs WHERE run_id = 'b'";
    let forged = format!("{remove}; {}", stone("VALUES ('=acme', 'b', 3, zeroblob(32), 1, 1)"));
    let other = Finding::TombstoneMismatch { tenant: Some("acme".into()), run: RunId::new("b"), seal: 1 };
    assert_eq!(found(&forged).await, [other], "another end than the seal knows");
}

/// A seal that was kept elsewhere finds what cannot be found here: everything was made anew, seals and all.
#[tokio::test]
async fn seals_that_are_not_those_kept_elsewhere_are_named() {
    let filled = filled().await;
    let found = async |expected: &[SealMark]| {
        let request = VerifyRequest { expected: expected.to_vec(), ..VerifyRequest::default() };
        verify(&filled.store, &request, &mut |_| {}).await.unwrap()
    };
    let missing = |first, last| Finding::SealMissing { tenant: Some("acme".into()), first, last };
    let kept = found(&[]).await.newest;
    assert_eq!(kept.iter().map(|mark| mark.number).collect::<Vec<_>>(), [2]);
    assert_eq!(found(&kept).await.findings, []);
    let other = SealMark { link: first_link(&RunId::new("a"), None), ..kept[0].clone() };
    assert_eq!(found(&[other]).await.findings, [Finding::SealUnexpected { tenant: Some("acme".into()), number: 2 }]);

    let newest = "DELETE FROM seals WHERE number = 2; \
         UPDATE runs SET sealed_revision = 5, seal_no = 1 WHERE run_id = 'a'";
    filled.tamper(newest).await;
    assert_eq!(found(&[]).await.findings, [], "this cannot be found here");
    assert_eq!(found(&kept).await.findings, [missing(2, 2)]);

    filled.tamper("DELETE FROM seals; DELETE FROM tombstones; DELETE FROM log; DELETE FROM runs").await;
    assert_eq!(found(&[]).await.findings, [], "this cannot be found here");
    assert_eq!(found(&kept).await.findings, [missing(1, 2)]);
    filled.close().await;
}

#[tokio::test]
async fn one_tenant_or_one_run_is_verified_alone() {
    let filled = filled().await;
    filled.tamper("UPDATE log SET at = at + 1 WHERE last_seq = 3").await;
    let of = async |scope| {
        let request = VerifyRequest { scope, ..VerifyRequest::default() };
        let seen = verify(&filled.store, &request, &mut |_| {}).await.unwrap();
        (seen.runs, seen.rows, seen.seals, seen.findings)
    };
    let b = Finding::RowChanged { run: RunId::new("b"), revision: Revision(3) };
    assert_eq!(of(AuditScope::Tenant(Some("acme".into()))).await, (2, 10, 2, vec![row(changed, 3), b.clone()]));
    assert_eq!(of(AuditScope::Tenant(None)).await, (0, 0, 0, vec![]));
    assert_eq!(of(AuditScope::Run(RunId::new("b"))).await, (1, 3, 0, vec![b]));
    filled.close().await;
}
