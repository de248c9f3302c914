//! Whoever changes the audit log behind the store's back is found, and what was changed is named.

use crate::common;

use common::{sql, step_to};
use holdpoint_core::{Revision, RunId, Status, Timestamp};
use holdpoint_store::audit::{Finding, VerifyRequest, verify};
use holdpoint_store::{AuditScope, PruneRequest, SealMark, Store, first_link, next_link};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Options, PostgresStore};

async fn audited(store: &Store, run: &str, at: u64, status: Status) {
    let mut step = step_to("x", status);
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

/// A store to tamper with.
struct Filled {
    store: Store,
    scratch: Scratch,
}

impl Filled {
    async fn tamper(&self, statements: &str) {
        sql(self.scratch.url(), statements).await;
    }

    async fn close(self) {
        drop(self.store);
        self.scratch.close().await.unwrap();
    }
}

async fn filled() -> Filled {
    let scratch = Scratch::new().await.unwrap();
    let options = Options { connections: 2, ..Options::default() };
    let store = Store::from(PostgresStore::open_with(scratch.url(), options).await.unwrap());
    fill(&store).await;
    Filled { store, scratch }
}

/// What is found after these statements.
async fn found(statements: &str) -> Vec<Finding> {
    let filled = filled().await;
    filled.tamper(statements).await;
    let findings = verify(&filled.store, &VerifyRequest::default(), &mut |_| {}).await.unwrap().findings;
    filled.close().await;
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
    let sealed = Finding::SealedMismatch { run: RunId::new("a") };
    assert_eq!(found(&cut).await, [sealed, row(missing, 6)]);
    let hidden = format!("{cut}; update holdpoint_runs set sealed_revision = 5, seal_no = 1 where run_id = 'a'");
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
    let Filled { store, scratch } = filled().await;
    audited(&store, "gone", 0, Status::Running).await;
    store.audit.seal(Some("acme")).await.unwrap().unwrap();
    sql(
        scratch.url(),
        "delete from holdpoint_log where run_no = (select run_no from holdpoint_runs where run_id = 'gone')",
    )
    .await;
    sql(scratch.url(), "delete from holdpoint_runs where run_id = 'gone'").await;
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
        "insert into holdpoint_log ({columns}) select run_no, 8, at, 'row 7', body, 8, '\\x{link}' \
         from holdpoint_log where {A} and last_seq = 7"
    );
    assert_eq!(found(&behind).await, [Finding::HeadMismatch { run: RunId::new("a") }]);
    // In the place of another: then the next one follows nothing that is there.
    let between = format!(
        "delete from holdpoint_log where {A} and last_seq = 3; insert into holdpoint_log ({columns}) \
         select run_no, 3, at, 'row X', body, 3, link from holdpoint_log where {A} and last_seq = 2"
    );
    assert_eq!(found(&between).await, [row(changed, 3), row(changed, 4)]);
    // Between two others.
    let more = format!(
        "update holdpoint_log set last_seq = last_seq + 10 where {A} and last_seq > 3; insert into holdpoint_log ({columns}) \
         select run_no, 4, at, 'row X', body, 4, link from holdpoint_log where {A} and last_seq = 3"
    );
    let findings = found(&more).await;
    assert!(findings.contains(&row(changed, 4)) && findings.contains(&row(moved, 14)), "{findings:?}");
}

#[tokio::test]
async fn rows_of_two_runs_that_changed_places_are_named() {
    let of = |run| format!("(select run_no from holdpoint_runs where run_id = '{run}')");
    let (a, b) = (of("a"), of("b"));
    let swap = format!(
        "update holdpoint_log set last_seq = -2 where run_no = {a} and last_seq = 2; \
         update holdpoint_log set run_no = {a} where run_no = {b} and last_seq = 2; \
         update holdpoint_log set run_no = {b}, last_seq = 2 where last_seq = -2"
    );
    let other = Finding::RowChanged { run: RunId::new("b"), revision: Revision(2) };
    assert_eq!(found(&swap).await, [row(changed, 2), other]);
}

#[tokio::test]
async fn a_run_that_was_given_to_another_tenant_is_named() {
    let findings = found("update holdpoint_runs set tenant = '=other' where run_id = 'b'").await;
    let first = Finding::RowChanged { run: RunId::new("b"), revision: Revision(1) };
    let gone = Finding::RunMissing { tenant: Some("acme".into()), run: RunId::new("b"), seal: 1 };
    assert!(findings.contains(&first) && findings.contains(&gone), "{findings:?}");
}

#[tokio::test]
async fn a_run_that_says_it_was_sealed_otherwise_is_named() {
    // From then on nothing of it would be sealed, or it would be sealed again.
    for set in ["sealed_revision = 99", "sealed_revision = 7", "sealed_revision = 5", "seal_no = 0", "seal_no = 1"] {
        let findings = found(&format!("update holdpoint_runs set {set} where run_id = 'a'")).await;
        assert_eq!(findings, [Finding::SealedMismatch { run: RunId::new("a") }], "{set}");
    }
    // There is such a seal, and it does not name the run.
    let (store, run) = (filled().await, RunId::new("new"));
    audited(&store.store, "new", 0, Status::Running).await;
    store.tamper("update holdpoint_runs set sealed_revision = 1, seal_no = 2 where run_id = 'new'").await;
    let findings = verify(&store.store, &VerifyRequest::default(), &mut |_| {}).await.unwrap().findings;
    assert_eq!(findings, [Finding::SealedMismatch { run }]);
    store.close().await;
}

#[tokio::test]
async fn a_tombstone_of_a_run_that_was_never_pruned_is_named() {
    let false_of = |run: &str| Finding::TombstoneFalse { tenant: Some("acme".into()), run: RunId::new(run) };
    let stone =
        |values: &str| format!("insert into holdpoint_tombstones (tenant, run_id, revision, link, seal, at) {values}");
    let living = "select tenant, run_id, audit_revision, audit_link, seal_no, 1 from holdpoint_runs where run_id = 'b'";
    assert_eq!(found(&stone(living)).await, [false_of("b")], "the run is there");
    let made_up = stone("values ('=acme', 'made up', 9, decode(repeat('00', 32), 'hex'), 2, 1)");
    assert_eq!(found(&made_up).await, [false_of("made up")], "the seal does not know it");
    let beyond = stone("values ('=acme', 'made up', 9, decode(repeat('00', 32), 'hex'), 7, 1)");
    let missing = Finding::SealMissing { tenant: Some("acme".into()), first: 3, last: 7 };
    assert_eq!(found(&beyond).await, [missing], "there is no such seal");
    let remove = "delete from holdpoint_log where run_no = (select run_no from holdpoint_runs where run_id = 'b'); \
         delete from holdpoint_runs where run_id = 'b'";
    let forged = format!("{remove}; {}", stone("values ('=acme', 'b', 3, decode(repeat('00', 32), 'hex'), 1, 1)"));
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

    let newest = "delete from holdpoint_seals where number = 2; \
         update holdpoint_runs set sealed_revision = 5, seal_no = 1 where run_id = 'a'";
    filled.tamper(newest).await;
    assert_eq!(found(&[]).await.findings, [], "this cannot be found here");
    assert_eq!(found(&kept).await.findings, [missing(2, 2)]);

    filled.tamper("delete from holdpoint_seals; delete from holdpoint_tombstones; delete from holdpoint_log; delete from holdpoint_runs").await;
    assert_eq!(found(&[]).await.findings, [], "this cannot be found here");
    assert_eq!(found(&kept).await.findings, [missing(1, 2)]);
    filled.close().await;
}

#[tokio::test]
async fn one_tenant_or_one_run_is_verified_alone() {
    let filled = filled().await;
    filled.tamper("update holdpoint_log set at = at + 1 where last_seq = 3").await;
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
