//! Rules about those who change the tables of a database behind the store's back: verifying the audit log finds them, and
//! names what they changed.
//!
//! The databases have the same tables and columns. In the tests of a store,
//! [`store_tampering_tests!`](crate::store_tampering_tests) makes one test per rule.

use std::fmt::Write as _;

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::chains::audited;
use super::{Checked, START, expect, must};
use crate::audit::{Finding, VerifyRequest, verify};
use crate::{AuditScope, Link, PruneRequest, SealMark, Store, first_link, next_link};

/// A fresh, empty store in a database of its own, which somebody else can change. Opening and changing it panic when they
/// fail.
pub trait Tampered: Sized {
    /// What the names of all tables begin with.
    const TABLE_PREFIX: &'static str;

    /// The bytes with these hexadecimal digits, as a literal of SQL.
    fn bytes(hex: &str) -> String;

    /// Makes the database and opens the store.
    fn open() -> impl Future<Output = Self>;

    /// The store.
    fn store(&self) -> &Store;

    /// Runs statements on a connection of their own.
    fn execute(&self, statements: &str) -> impl Future<Output = ()>;

    /// Closes the store and removes the database.
    fn close(self) -> impl Future<Output = ()>;
}

/// Makes one test per rule about tampering, for a [`Tampered`](crate::conformance::tampering::Tampered). A module named `tampering` is
/// the place for them: these tests are slow, and are left out by that name.
#[macro_export]
macro_rules! store_tampering_tests {
    ($database:ty) => {
        $crate::store_tampering_tests! { @each $database:
            nothing_is_found_where_nobody_was,
            a_changed_row_is_named,
            a_removed_row_is_named,
            rows_in_another_order_are_named,
            a_tail_that_was_cut_off_is_named_by_the_seal_that_knows_it,
            a_history_that_was_written_anew_is_named_by_the_seals,
            a_removed_run_is_named,
            a_head_that_was_changed_is_named,
            a_seal_that_was_changed_or_removed_is_named,
            a_tombstone_that_was_changed_or_removed_is_named,
            a_removed_run_is_named_although_another_of_its_name_was_pruned,
            a_row_that_was_put_in_is_named,
            rows_of_two_runs_that_changed_places_are_named,
            a_run_that_was_given_to_another_tenant_is_named,
            a_run_that_says_it_was_sealed_otherwise_is_named,
            a_tombstone_of_a_run_that_was_never_pruned_is_named,
            seals_that_are_not_those_kept_elsewhere_are_named,
            one_tenant_or_one_run_is_verified_alone,
        }
    };
    (@each $database:ty: $($rule:ident,)*) => {
        $(
            #[tokio::test]
            async fn $rule() {
                if let Err(problem) = $crate::conformance::tampering::$rule::<$database>().await {
                    panic!("{problem}");
                }
            }
        )*
    };
}

/// The rows of run `a`. In statements, `@` stands for the prefix of tables.
const A: &str = "run_no = (select run_no from @runs where run_id = 'a')";
const REMOVE_B: &str = "delete from @log where run_no = (select run_no from @runs where run_id = 'b'); \
     delete from @runs where run_id = 'b'";

async fn commit(store: &Store, run: &str, at: u64, status: Status) -> Checked {
    let mut step = audited(Some("acme"), Some(&format!("row {at}")), START);
    step.head.status = status;
    must("commit", store.runs.commit(&RunId::new(run), Revision(at), step).await)?;
    Ok(())
}

async fn seal(store: &Store) -> Checked {
    must("seal", store.audit.seal(Some("acme")).await)?.ok_or("nothing was sealed")?;
    Ok(())
}

/// Seal 1 has run `a` at revision 5, `b` at 3 and `gone`, which was pruned; seal 2 has `a` at 6. Its row 7 is in none.
async fn filled<T: Tampered>() -> Result<T, String> {
    let database = T::open().await;
    let store = database.store();
    for at in 0..5 {
        commit(store, "a", at, Status::Running).await?;
    }
    for at in 0..3 {
        commit(store, "b", at, Status::Running).await?;
    }
    commit(store, "gone", 0, Status::Finished).await?;
    seal(store).await?;
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
    let pruned = must("prune", store.runs.prune(&all).await)?;
    expect(pruned == [RunId::new("gone")], || format!("{pruned:?} were pruned"))?;
    commit(store, "a", 5, Status::Running).await?;
    seal(store).await?;
    commit(store, "a", 6, Status::Running).await?;
    Ok(database)
}

async fn tamper<T: Tampered>(database: &T, statements: &str) {
    database.execute(&statements.replace('@', T::TABLE_PREFIX)).await;
}

async fn findings(store: &Store, request: &VerifyRequest) -> Result<Vec<Finding>, String> {
    Ok(must("verify", verify(store, request, &mut |_| {}).await)?.findings)
}

/// What is found after these statements.
async fn found<T: Tampered>(statements: &str) -> Result<Vec<Finding>, String> {
    let database = filled::<T>().await?;
    tamper(&database, statements).await;
    let found = findings(database.store(), &VerifyRequest::default()).await;
    database.close().await;
    found
}

/// After these statements, exactly that is found.
async fn finds<T: Tampered>(statements: &str, wanted: &[Finding]) -> Checked {
    expect_found(statements, &found::<T>(statements).await?, wanted)
}

/// After these statements, that is found, and maybe more.
async fn finds_among_others<T: Tampered>(statements: &str, wanted: &[Finding]) -> Checked {
    let found = found::<T>(statements).await?;
    let all = wanted.iter().all(|wanted| found.contains(wanted));
    expect(all, || format!("after `{statements}`, {found:?} were found, without all of {wanted:?}"))
}

fn expect_found(after: &str, found: &[Finding], wanted: &[Finding]) -> Checked {
    expect(found == wanted, || format!("after `{after}`, {found:?} were found, not {wanted:?}"))
}

fn text<T: Tampered>(text: &str) -> String {
    let mut hex = String::new();
    for byte in text.bytes() {
        let _ = write!(hex, "{byte:02x}");
    }
    T::bytes(&hex)
}

fn link<T: Tampered>(link: Link) -> String {
    T::bytes(&link.to_string())
}

fn zeros<T: Tampered>() -> String {
    T::bytes(&"00".repeat(32))
}

fn acme() -> Option<std::sync::Arc<str>> {
    Some("acme".into())
}

fn changed(run: &str, revision: u64) -> Finding {
    Finding::RowChanged { run: RunId::new(run), revision: Revision(revision) }
}

fn missing(revision: u64) -> Finding {
    Finding::RowMissing { run: RunId::new("a"), revision: Revision(revision) }
}

fn moved(revision: u64) -> Finding {
    Finding::RowOutOfOrder { run: RunId::new("a"), revision: Revision(revision) }
}

fn run_missing(run: &str, seal: u64) -> Finding {
    Finding::RunMissing { tenant: acme(), run: RunId::new(run), seal }
}

fn sealed_otherwise(run: &str) -> Finding {
    Finding::SealedMismatch { run: RunId::new(run) }
}

fn other_head() -> Finding {
    Finding::HeadMismatch { run: RunId::new("a") }
}

fn seals_missing(first: u64, last: u64) -> Finding {
    Finding::SealMissing { tenant: acme(), first, last }
}

fn seal_broken(number: u64) -> Finding {
    Finding::SealBroken { tenant: acme(), number }
}

/// The other rules find what was done to the database, and nothing that was there before.
pub async fn nothing_is_found_where_nobody_was<T: Tampered>() -> Checked {
    finds::<T>("select 1", &[]).await
}

/// Whatever part of a row was changed, its run and revision are named.
pub async fn a_changed_row_is_named<T: Tampered>() -> Checked {
    let body = format!("audit = {}", text::<T>("row X"));
    let (zeros, short) = (format!("link = {}", zeros::<T>()), format!("link = {}", T::bytes("00")));
    for set in [&body, "at = at + 1", &zeros, "link = null", &short] {
        finds::<T>(&format!("update @log set {set} where {A} and last_seq = 3"), &[changed("a", 3)]).await?;
    }
    Ok(())
}

/// The row after the one that is not there is named, or the last that the run says it has.
pub async fn a_removed_row_is_named<T: Tampered>() -> Checked {
    let delete = |revision: u64| format!("delete from @log where {A} and last_seq = {revision}");
    finds::<T>(&delete(3), &[missing(4)]).await?;
    finds::<T>(&format!("update @log set audit = null where {A} and last_seq = 3"), &[missing(4)]).await?;
    finds::<T>(&delete(1), &[missing(2)]).await?;
    finds::<T>(&delete(7), &[missing(7)]).await?;
    // What a seal names is missing as well.
    finds::<T>(&delete(5), &[missing(6), missing(5)]).await
}

/// Rows that changed places are named, both.
pub async fn rows_in_another_order_are_named<T: Tampered>() -> Checked {
    let swap = format!(
        "update @log set last_seq = -2 where {A} and last_seq = 2; \
         update @log set last_seq = 2 where {A} and last_seq = 4; \
         update @log set last_seq = 4 where {A} and last_seq = -2"
    );
    finds::<T>(&swap, &[moved(2), moved(4)]).await
}

/// A run that says that it always ended there is found by the seal that names a later row.
pub async fn a_tail_that_was_cut_off_is_named_by_the_seal_that_knows_it<T: Tampered>() -> Checked {
    let cut = format!(
        "delete from @log where {A} and last_seq > 5; \
         update @runs set (audit_revision, audit_rows, audit_link) = \
         (select last_seq, audit_no, link from @log where {A} and last_seq = 5) where run_id = 'a'"
    );
    finds::<T>(&cut, &[sealed_otherwise("a"), missing(6)]).await?;
    let hidden = format!("{cut}; update @runs set sealed_revision = 5, seal_no = 1 where run_id = 'a'");
    finds::<T>(&hidden, &[missing(6)]).await
}

/// A chain that is whole in itself is not the one that was sealed.
pub async fn a_history_that_was_written_anew_is_named_by_the_seals<T: Tampered>() -> Checked {
    let mut last = first_link(&RunId::new("a"), Some("acme"));
    let mut statements = String::new();
    for revision in 1..=7 {
        let body = format!("row {}", if revision == 3 { 99 } else { revision - 1 });
        last = next_link(last, Revision(revision), START, body.as_bytes());
        let (body, link) = (text::<T>(&body), link::<T>(last));
        statements += &format!("update @log set audit = {body}, link = {link} where {A} and last_seq = {revision}; ");
    }
    statements += &format!("update @runs set audit_link = {} where run_id = 'a'", link::<T>(last));
    finds::<T>(&statements, &[changed("a", 5), changed("a", 6)]).await
}

/// A run that is gone without a tombstone is named, and so is the seal that was changed to hide it.
pub async fn a_removed_run_is_named<T: Tampered>() -> Checked {
    finds::<T>(REMOVE_B, &[run_missing("b", 1)]).await?;
    // With the seal that knows it, and with the number of the other changed so that there seem to be no others.
    let hidden = format!("{REMOVE_B}; delete from @seals where number = 1; update @seals set number = 1");
    finds_among_others::<T>(&hidden, &[seal_broken(1)]).await
}

/// A run says itself how far its log goes: that must be so.
pub async fn a_head_that_was_changed_is_named<T: Tampered>() -> Checked {
    let link = format!("audit_link = {}", zeros::<T>());
    for set in [&link, "audit_revision = 6", "audit_rows = 6"] {
        finds::<T>(&format!("update @runs set {set} where run_id = 'a'"), &[other_head()]).await?;
    }
    Ok(())
}

/// Whatever part of a seal was changed, its number is named; of seals that are gone, the first and the last.
pub async fn a_seal_that_was_changed_or_removed_is_named<T: Tampered>() -> Checked {
    let link = format!("link = {}", zeros::<T>());
    let (short, garbage) = (format!("runs = {}", T::bytes("00")), format!("runs = {}", T::bytes("ff00")));
    for set in ["at = at + 1", &link, &short, &garbage] {
        finds::<T>(&format!("update @seals set {set} where number = 2"), &[seal_broken(2)]).await?;
    }
    finds::<T>("delete from @seals where number = 1", &[seals_missing(1, 1)]).await?;
    finds::<T>("delete from @seals where number = 2", &[seals_missing(2, 2)]).await?;
    finds::<T>("delete from @seals", &[seals_missing(1, 2)]).await
}

/// A pruned run has a tombstone with the end that its last seal names.
pub async fn a_tombstone_that_was_changed_or_removed_is_named<T: Tampered>() -> Checked {
    finds::<T>("delete from @tombstones", &[run_missing("gone", 1)]).await?;
    let other = Finding::TombstoneMismatch { tenant: acme(), run: RunId::new("gone"), seal: 1 };
    finds::<T>(&format!("update @tombstones set link = {}", zeros::<T>()), &[other]).await
}

/// A stone of an earlier run of the same name says nothing about a later one.
pub async fn a_removed_run_is_named_although_another_of_its_name_was_pruned<T: Tampered>() -> Checked {
    let database = filled::<T>().await?;
    commit(database.store(), "gone", 0, Status::Running).await?;
    seal(database.store()).await?;
    let remove = REMOVE_B.replace("'b'", "'gone'");
    tamper(&database, &remove).await;
    let found = findings(database.store(), &VerifyRequest::default()).await?;
    database.close().await;
    expect_found(&remove, &found, &[run_missing("gone", 3)])
}

/// A row that somebody wrote is named, wherever it was put.
pub async fn a_row_that_was_put_in_is_named<T: Tampered>() -> Checked {
    let mut last = first_link(&RunId::new("a"), Some("acme"));
    for revision in 1..=8 {
        last = next_link(last, Revision(revision), START, format!("row {}", revision - 1).as_bytes());
    }
    let insert = "insert into @log (run_no, last_seq, at, audit, body, audit_no, link)";
    // Behind the end, with the link that comes next.
    let (row, link) = (text::<T>("row 7"), link::<T>(last));
    let behind = format!("{insert} select run_no, 8, at, {row}, body, 8, {link} from @log where {A} and last_seq = 7");
    finds::<T>(&behind, &[other_head()]).await?;
    // In the place of another: then the next one follows nothing that is there.
    let row = text::<T>("row X");
    let between = format!(
        "delete from @log where {A} and last_seq = 3; \
         {insert} select run_no, 3, at, {row}, body, 3, link from @log where {A} and last_seq = 2"
    );
    finds::<T>(&between, &[changed("a", 3), changed("a", 4)]).await?;
    // Between two others.
    let more = format!(
        "update @log set last_seq = last_seq + 10 where {A} and last_seq > 3; \
         {insert} select run_no, 4, at, {row}, body, 4, link from @log where {A} and last_seq = 3"
    );
    finds_among_others::<T>(&more, &[changed("a", 4), moved(14)]).await
}

/// A row belongs to its run: in another one it is a changed row.
pub async fn rows_of_two_runs_that_changed_places_are_named<T: Tampered>() -> Checked {
    let [a, b] = ["a", "b"].map(|run| format!("(select run_no from @runs where run_id = '{run}')"));
    let swap = format!(
        "update @log set last_seq = -2 where run_no = {a} and last_seq = 2; \
         update @log set run_no = {a} where run_no = {b} and last_seq = 2; \
         update @log set run_no = {b}, last_seq = 2 where last_seq = -2"
    );
    finds::<T>(&swap, &[changed("a", 2), changed("b", 2)]).await
}

/// A run belongs to its tenant: the first row says so, and the seal of the tenant misses it.
pub async fn a_run_that_was_given_to_another_tenant_is_named<T: Tampered>() -> Checked {
    let give = "update @runs set tenant = '=other' where run_id = 'b'";
    finds_among_others::<T>(give, &[changed("b", 1), run_missing("b", 1)]).await
}

/// A run says itself how far it was sealed. If that were believed, it would never be sealed again, or twice.
pub async fn a_run_that_says_it_was_sealed_otherwise_is_named<T: Tampered>() -> Checked {
    for set in ["sealed_revision = 99", "sealed_revision = 7", "sealed_revision = 5", "seal_no = 0", "seal_no = 1"] {
        finds::<T>(&format!("update @runs set {set} where run_id = 'a'"), &[sealed_otherwise("a")]).await?;
    }
    // There is such a seal, and it does not name the run.
    let database = filled::<T>().await?;
    commit(database.store(), "new", 0, Status::Running).await?;
    let set = "update @runs set sealed_revision = 1, seal_no = 2 where run_id = 'new'";
    tamper(&database, set).await;
    let found = findings(database.store(), &VerifyRequest::default()).await?;
    database.close().await;
    expect_found(set, &found, &[sealed_otherwise("new")])
}

/// A tombstone is believed only if the run is gone and a seal names it with that end.
pub async fn a_tombstone_of_a_run_that_was_never_pruned_is_named<T: Tampered>() -> Checked {
    let of_nobody = |run: &str| Finding::TombstoneFalse { tenant: acme(), run: RunId::new(run) };
    let insert = "insert into @tombstones (tenant, run_id, revision, link, seal, at)";
    let stone = |run: &str, revision: u64, seal: u64| {
        format!("{insert} values ('=acme', '{run}', {revision}, {}, {seal}, 1)", zeros::<T>())
    };
    // The run is there.
    let living = "select tenant, run_id, audit_revision, audit_link, seal_no, 1 from @runs where run_id = 'b'";
    finds::<T>(&format!("{insert} {living}"), &[of_nobody("b")]).await?;
    // The seal does not know it.
    finds::<T>(&stone("made up", 9, 2), &[of_nobody("made up")]).await?;
    // There is no such seal.
    finds::<T>(&stone("made up", 9, 7), &[seals_missing(3, 7)]).await?;
    // Another end than the seal knows.
    let other = Finding::TombstoneMismatch { tenant: acme(), run: RunId::new("b"), seal: 1 };
    finds::<T>(&format!("{REMOVE_B}; {}", stone("b", 3, 1)), &[other]).await
}

/// A seal that was kept elsewhere finds what cannot be found here: everything was made anew, seals and all.
pub async fn seals_that_are_not_those_kept_elsewhere_are_named<T: Tampered>() -> Checked {
    let database = filled::<T>().await?;
    let finds = async |after: &str, kept: &[SealMark], wanted: &[Finding]| {
        let request = VerifyRequest { expected: kept.to_vec(), ..VerifyRequest::default() };
        expect_found(after, &findings(database.store(), &request).await?, wanted)
    };
    let kept = must("verify", verify(database.store(), &VerifyRequest::default(), &mut |_| {}).await)?.newest;
    let [newest] = &*kept else { return Err(format!("the newest seals are {kept:?}, not one")) };
    expect(newest.number == 2, || format!("the newest seal is {newest:?}, not 2"))?;
    finds("nothing", &kept, &[]).await?;
    let other = SealMark { link: first_link(&RunId::new("a"), None), ..newest.clone() };
    finds("nothing", &[other], &[Finding::SealUnexpected { tenant: acme(), number: 2 }]).await?;

    let cut = "delete from @seals where number = 2; \
         update @runs set sealed_revision = 5, seal_no = 1 where run_id = 'a'";
    tamper(&database, cut).await;
    finds(cut, &[], &[]).await?;
    finds(cut, &kept, &[seals_missing(2, 2)]).await?;

    let all = "delete from @seals; delete from @tombstones; delete from @log; delete from @runs";
    tamper(&database, all).await;
    finds(all, &[], &[]).await?;
    finds(all, &kept, &[seals_missing(1, 2)]).await?;
    database.close().await;
    Ok(())
}

/// Who verifies a tenant or a run reads and finds nothing of others.
pub async fn one_tenant_or_one_run_is_verified_alone<T: Tampered>() -> Checked {
    let database = filled::<T>().await?;
    tamper(&database, "update @log set at = at + 1 where last_seq = 3").await;
    let both = vec![changed("a", 3), changed("b", 3)];
    let cases = [
        (AuditScope::Tenant(acme()), (2, 10, 2, both)),
        (AuditScope::Tenant(None), (0, 0, 0, vec![])),
        (AuditScope::Run(RunId::new("b")), (1, 3, 0, vec![changed("b", 3)])),
    ];
    for (scope, wanted) in cases {
        let request = VerifyRequest { scope, ..VerifyRequest::default() };
        let seen = must("verify", verify(database.store(), &request, &mut |_| {}).await)?;
        let seen = (seen.runs, seen.rows, seen.seals, seen.findings);
        expect(seen == wanted, || format!("verifying {:?} gave {seen:?}, not {wanted:?}", request.scope))?;
    }
    database.close().await;
    Ok(())
}
