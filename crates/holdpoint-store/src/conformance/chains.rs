//! Rules about the audit log: its rows are chained, and whoever changed nothing finds it whole.

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::desk::closes;
use super::{Checked, Fixture, START, at, expect, must, step_at};
use crate::audit::{VerifyRequest, verify};
use crate::{
    AuditScope, CommitError, Fence, HeadUpdate, Link, PruneRequest, Scope, SealedRun, Store, StoreError, TaskGuard,
    Transition, first_link, next_link,
};

/// A transition with one record and this audit row.
pub(super) fn audited(tenant: Option<&str>, body: Option<&str>, at: Timestamp) -> Transition {
    let mut step = step_at(&[b"x"], at);
    step.head.tenant = tenant.map(Into::into);
    Transition { audit: body.map(|body| body.as_bytes().to_vec()), ..step }
}

/// Adds transitions to a run, from its beginning: one audit row each.
pub(super) async fn write(store: &Store, run: &str, tenant: Option<&str>, rows: &[&str]) -> Checked {
    for (revision, row) in (0..).zip(rows) {
        let step = audited(tenant, Some(row), START.plus_ms(revision));
        must("commit", store.runs.commit(&RunId::new(run), Revision(revision), step).await)?;
    }
    Ok(())
}

/// The head of a chain of which [`write`] wrote these rows.
pub(super) fn head_of(run: &str, tenant: Option<&str>, rows: &[&str]) -> SealedRun {
    let run = RunId::new(run);
    let mut link = first_link(&run, tenant);
    for (revision, row) in (0..).zip(rows) {
        link = next_link(link, Revision(revision + 1), START.plus_ms(revision), row.as_bytes());
    }
    SealedRun { run, revision: Revision(rows.len() as u64), link }
}

/// Nothing is wrong, and so many runs, rows and seals were seen.
pub(super) async fn expect_whole(store: &Store, runs: u64, rows: u64, seals: u64) -> Checked {
    let mut told = 0;
    let seen = must(
        "verifying",
        verify(store, &VerifyRequest::default(), &mut |progress| told = told.max(progress.rows)).await,
    )?;
    expect(seen.is_whole(), || format!("verifying found {:?}", seen.findings))?;
    let (counted, wanted) = ((seen.runs, seen.rows, seen.seals), (runs, rows, seals));
    expect(counted == wanted, || format!("runs, rows and seals are {counted:?}, not {wanted:?}"))?;
    expect(told == seen.rows, || format!("of {} rows, {told} were told of", seen.rows))
}

/// Each audit row has the link that follows from the one before, from a beginning that is the run's and its first
/// tenant's. A transition without an audit row leaves the chain alone, and so does one that is refused.
pub async fn audit_rows_are_chained(Fixture { store, .. }: Fixture) -> Checked {
    let runs = [(RunId::new("one"), Some("acme")), (RunId::new("two"), Some("acme")), (RunId::new("three"), None)];
    let rows = [None, Some("first"), Some(""), None, Some("last")];
    for (done, row) in (0..).zip(rows) {
        for (run, tenant) in &runs {
            // Only the first transition is of that tenant.
            let tenant = tenant.filter(|_| done == 0);
            let step = audited(tenant, row, START.plus_ms(done));
            must("commit", store.runs.commit(run, Revision(done), step).await)?;
            expect_refused(&store, run, Revision(done + 1)).await?;
        }
    }
    for (run, tenant) in &runs {
        let mut link = first_link(run, *tenant);
        let seen = must("audit", store.audit.rows(&Scope::All, run).await)?;
        expect(seen.len() == 3, || format!("the audit log of `{run}` is {seen:?}"))?;
        for row in seen {
            link = next_link(link, row.revision, row.at, &row.body);
            expect(row.link == link, || format!("the row {row:?} of `{run}` does not follow: {link}"))?;
        }
        let page = must("audit", store.audit.rows_after(&AuditScope::Run(run.clone()), None, 10).await)?;
        let head = page.items.first().map(|run| &run.head);
        let right = head.is_some_and(|head| head.link == link && head.revision == Revision(5));
        expect(right, || format!("the chain of `{run}` ends at {head:?}, not at {link}"))?;
    }
    expect_whole(&store, 3, 9, 0).await
}

async fn expect_refused(store: &Store, run: &RunId, now: Revision) -> Checked {
    let stale = store.runs.commit(run, Revision(now.0 + 5), audited(None, Some("stale"), START)).await;
    expect(matches!(stale, Err(CommitError::Stale { .. })), || format!("a commit beyond the end gave {stale:?}"))?;
    let guarded = Transition {
        tasks: vec![closes(0, TaskGuard::Leased(Fence(7)))],
        ..audited(Some("other"), Some("lost"), START)
    };
    let lost = store.runs.commit(run, now, guarded).await;
    expect(matches!(lost, Err(CommitError::LeaseLost)), || format!("a commit without the lease gave {lost:?}"))
}

/// The chain is right whoever writes at the same time, and however much.
pub async fn chains_are_right_under_load(Fixture { store, .. }: Fixture) -> Checked {
    const RUNS: u64 = 40;
    const ROWS: u64 = 12;
    let write = |number: u64| {
        let store = store.clone();
        tokio::spawn(async move {
            let (run, tenant) = (RunId::new(format!("run-{number}")), format!("tenant-{}", number % 3));
            for revision in 0..ROWS {
                let body = format!("row {revision} of {run}").repeat((number % 5) as usize);
                let step = audited(Some(&tenant), Some(&body), START.plus_ms(revision));
                must("commit", store.runs.commit(&run, Revision(revision), step).await)?;
            }
            Ok::<(), String>(())
        })
    };
    for writer in (0..RUNS).map(write).collect::<Vec<_>>() {
        must("a writer", writer.await)??;
    }
    expect_whole(&store, RUNS, RUNS * ROWS, 0).await
}

/// The audit logs of all runs come in pages, each row once and in the order of its run, with where the run ends.
pub async fn the_whole_audit_log_comes_in_pages(Fixture { store, .. }: Fixture) -> Checked {
    let rows = ["1", "2", "3", "4", "5"];
    for (number, run) in (0..).zip(["a", "b", "c", "d"]) {
        write(&store, run, (number > 1).then_some("acme"), &rows[..number + 1]).await?;
    }
    must("commit", store.runs.commit(&RunId::new("silent"), at(0), audited(None, None, START)).await)?;
    for limit in [1, 2, 3, 100] {
        let seen = pages(&store, &AuditScope::All, limit).await?;
        let mut wanted: Vec<(String, u64, String)> = Vec::new();
        for (number, run) in ["a", "b", "c", "d"].into_iter().enumerate() {
            wanted.extend((1..).zip(&rows[..number + 1]).map(|(place, row)| (run.into(), place, (*row).into())));
        }
        expect(seen == wanted, || format!("in pages of {limit} came {seen:?}"))?;
    }
    let refused = store.audit.rows_after(&AuditScope::All, Some(&crate::Cursor::new("nobody's")), 10).await;
    expect(matches!(refused, Err(StoreError::InvalidCursor)), || format!("a foreign cursor gave {refused:?}"))
}

/// Run, place and body of each row, in the order of the runs' names.
async fn pages(store: &Store, scope: &AuditScope, limit: usize) -> Result<Vec<(String, u64, String)>, String> {
    let (mut seen, mut silent, mut cursor) = (Vec::new(), 0, None);
    for _ in 0..100 {
        let page = must("audit", store.audit.rows_after(scope, cursor.as_ref(), limit).await)?;
        for run in page.items {
            silent += usize::from(run.head.run.as_str() == "silent");
            let ends = run.head.revision.0 == run.count && (run.count > 0 || run.head.link == empty(&run.head.run));
            expect(ends, || format!("{run:?} does not end where it does"))?;
            let body = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
            seen.extend(run.rows.iter().map(|(place, row)| (run.head.run.to_string(), *place, body(&row.body))));
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    expect(silent > 0 || *scope != AuditScope::All, || "a run without rows does not come".to_owned())?;
    seen.sort();
    Ok(seen)
}

/// The audit log of a tenant, and that of a run, come in pages as the whole one does, and nobody else's rows with them.
pub async fn the_audit_log_of_a_tenant_or_a_run_comes_alone(Fixture { store, .. }: Fixture) -> Checked {
    let rows = ["1", "2", "3"];
    for (run, tenant) in [("a", Some("acme")), ("b", None), ("c", Some("acme")), ("d", Some("")), ("e", Some("other"))]
    {
        write(&store, run, tenant, &rows).await?;
    }
    let tenant = |tenant: Option<&str>| AuditScope::Tenant(tenant.map(Into::into));
    let run = |run| AuditScope::Run(RunId::new(run));
    let cases = [
        (tenant(Some("acme")), vec!["a", "c"]),
        (tenant(None), vec!["b"]),
        (tenant(Some("")), vec!["d"]),
        (tenant(Some("nobody")), vec![]),
        (run("c"), vec!["c"]),
        (run("nobody's"), vec![]),
    ];
    for (scope, runs) in cases {
        let wanted: Vec<(String, u64, String)> = runs
            .iter()
            .flat_map(|run| (1..).zip(rows).map(|(place, row)| ((*run).to_owned(), place, row.to_owned())))
            .collect();
        for limit in [1, 2, 100] {
            let seen = pages(&store, &scope, limit).await?;
            expect(seen == wanted, || format!("of {scope:?}, in pages of {limit}, came {seen:?}"))?;
        }
    }
    Ok(())
}

fn empty(run: &RunId) -> Link {
    first_link(run, None)
}

/// An audit log that nobody changed is found whole: with seals, with runs that were pruned before and after they were
/// sealed, with names that were used again, and after the store was opened again.
pub async fn an_audit_log_that_nobody_changed_is_whole(fixture: Fixture) -> Checked {
    let store = fixture.store.clone();
    expect_whole(&store, 0, 0, 0).await?;
    for round in 0..3_u64 {
        for (run, tenant) in [("a", Some("acme")), ("b", Some("acme")), ("c", None), ("kept", None)] {
            let rounds_kept = if run == "kept" { round } else { 0 };
            let body = format!("{run} {round}");
            must(
                "commit",
                store.runs.commit(&RunId::new(run), at(rounds_kept), audited(tenant, Some(&body), START)).await,
            )?;
        }
        must("seal", store.audit.seal(Some("acme")).await)?;
        // Its last row is in no seal.
        let mut over = audited(Some("acme"), Some("over"), START);
        over.head = HeadUpdate { status: Status::Finished, ..over.head };
        must("commit", store.runs.commit(&RunId::new("a"), at(1), over).await)?;
        for (run, tenant) in [("b", Some("acme")), ("c", None)] {
            let mut over = audited(tenant, Some("over"), START);
            over.head.status = Status::Finished;
            must("commit", store.runs.commit(&RunId::new(run), at(1), over).await)?;
        }
        must("seal", store.audit.seal(None).await)?;
        let request = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 100 };
        let pruned = must("prune", store.runs.prune(&request).await)?;
        expect(pruned.len() == 3, || format!("{pruned:?} were pruned"))?;
        expect_whole(&store, 1, round + 1, 2 * (round + 1)).await?;
    }
    drop(store);
    let fixture = fixture.reopened().await;
    expect_whole(&fixture.store, 1, 3, 6).await
}
