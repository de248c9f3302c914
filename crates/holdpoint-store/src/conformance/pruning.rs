//! Rules about throwing away what is over.

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::desk::{Desk, key, task};
use super::{Checked, Fixture, START, expect, must};
use crate::{HeadUpdate, PRUNE_LIMIT_MAX, PruneRequest, RunFilter, Scope, Store, StoreError, Transition, is_over};

/// A request for all that is over.
fn everything() -> PruneRequest {
    PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: usize::MAX }
}

async fn create(store: &Store, name: &str, head: HeadUpdate, at: Timestamp) -> Checked {
    let step = Transition { audit: Some(b"audit".to_vec()), ..Transition::new(vec![b"first".to_vec()], head, at) };
    must("commit", store.runs.commit(&RunId::new(name), Revision(0), step).await)?;
    Ok(())
}

async fn prune(store: &Store, request: &PruneRequest) -> Result<Vec<String>, String> {
    let runs = must("prune", store.runs.prune(request).await)?;
    let mut names: Vec<String> = runs.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    Ok(names)
}

/// Only runs that are over are removed: never one that runs or waits, however old it is.
pub async fn only_runs_that_are_over_are_pruned(Fixture { store, .. }: Fixture) -> Checked {
    for status in Status::ALL {
        create(&store, status.as_str(), HeadUpdate::new(status), Timestamp(1)).await?;
    }
    let pruned = prune(&store, &everything()).await?;
    let mut wanted = [Status::Finished, Status::Failed, Status::Cancelled].map(|status| status.as_str().to_owned());
    wanted.sort_unstable();
    expect(pruned == wanted, || format!("{pruned:?} were pruned, not {wanted:?}"))?;
    for status in Status::ALL {
        let head = must("head", store.runs.head(&Scope::All, &RunId::new(status.as_str())).await)?;
        let over = is_over(status);
        expect(head.is_none() == over, || format!("after pruning, the run that is `{}` is {head:?}", status.as_str()))?;
    }
    let again = prune(&store, &everything()).await?;
    expect(again.is_empty(), || format!("{again:?} were pruned twice"))
}

/// Only runs that last moved before the moment are removed, only those of the tenant, and never more than the limit.
pub async fn pruning_is_by_age_and_tenant(Fixture { store, .. }: Fixture) -> Checked {
    let runs =
        [("1", "acme", 10), ("2", "other", 20), ("3", "acme", 30), ("4", "acme", 40), ("5", "", 15), ("6", "", 1)];
    for (name, tenant, ms) in runs {
        let tenant = (!tenant.is_empty()).then(|| tenant.into());
        create(&store, name, HeadUpdate { tenant, ..HeadUpdate::new(Status::Finished) }, START.plus_ms(ms)).await?;
    }
    // Made first and moved last: its age counts from the last move.
    let moved = Transition::new(vec![b"moved".to_vec()], HeadUpdate::new(Status::Failed), START.plus_ms(50));
    must("commit", store.runs.commit(&RunId::new("6"), Revision(1), moved).await)?;
    let request = |ms, tenant: Option<&str>, limit| PruneRequest {
        before: START.plus_ms(ms),
        tenant: tenant.map(Into::into),
        limit,
    };
    let cases = [
        (request(10, None, 10), vec![]),
        (request(99, Some("nobody"), 10), vec![]),
        (request(99, None, 0), vec![]),
        (request(30, Some("acme"), 10), vec!["1"]),
        (request(50, None, 10), vec!["2", "3", "4", "5"]),
        (request(51, None, 10), vec!["6"]),
    ];
    for (request, wanted) in cases {
        let pruned = prune(&store, &request).await?;
        expect(pruned == wanted, || format!("{request:?} removed {pruned:?}, not {wanted:?}"))?;
    }
    for number in 0..5 {
        create(&store, &number.to_string(), HeadUpdate::new(Status::Finished), START).await?;
    }
    for wanted in [2, 2, 1, 0] {
        let pruned = prune(&store, &PruneRequest { limit: 2, ..everything() }).await?;
        expect(pruned.len() == wanted && PRUNE_LIMIT_MAX >= 2, || format!("a limit of 2 removed {pruned:?}"))?;
    }
    Ok(())
}

/// Nothing of a removed run is left, and its name can be used again, from revision 0 on.
pub async fn a_pruned_run_leaves_nothing_behind(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let head = HeadUpdate { deadline: Some(START), ..HeadUpdate::new(Status::Finished) };
    let run = desk.open_of("gone", head, vec![task(0, "mail"), task(1, "post"), task(2, "fax")]).await?;
    create(&desk.store, "stays", HeadUpdate::new(Status::AwaitingToolResults), START).await?;
    let lease = desk.lease_one("mail").await?.lease;
    let delivered = desk.lease_one("post").await?.lease;
    desk.deliver(&delivered, b"done").await?;
    let pruned = prune(&desk.store, &everything()).await?;
    expect(pruned == ["gone"], || format!("{pruned:?} were pruned"))?;

    let loaded = desk.store.runs.load(&Scope::All, &run, Revision(0)).await;
    expect(matches!(loaded, Err(StoreError::NotFound { .. })), || format!("loading it gave {loaded:?}"))?;
    expect_nothing_of(&desk, &run).await?;
    let state = desk.heartbeat(&lease).await?;
    super::desk::expect_state("a heartbeat of its task", state, crate::LeaseState::Lost)?;

    create(&desk.store, "gone", HeadUpdate::new(Status::Running), START.plus_ms(7)).await?;
    expect_nothing_but_one_record(&desk, &run).await?;
    let audit = must("audit", desk.store.audit.rows(&Scope::All, &RunId::new("stays")).await)?;
    expect(audit.len() == 1, || format!("the audit log of another run is {audit:?}"))
}

async fn expect_nothing_of(desk: &Desk, run: &RunId) -> Checked {
    let store = &desk.store;
    let audit = must("audit", store.audit.rows(&Scope::All, run).await)?;
    expect(audit.is_empty(), || format!("its audit log is {audit:?}"))?;
    let due = must("due", store.runs.due(&super::nameless(), Timestamp(i64::MAX), 10).await)?;
    expect(due.is_empty(), || format!("{due:?} is due"))?;
    let listed = must("list", store.runs.list(&RunFilter::default()).await)?.items;
    expect(listed.iter().all(|head| head.run != *run), || format!("{listed:?} is listed"))?;
    let tasks = must("tasks", store.tasks.list(&crate::TaskFilter::default()).await)?.items;
    expect(tasks.is_empty(), || format!("{tasks:?} are there"))?;
    let results = must("delivered", store.tasks.completed(run).await)?;
    expect(results.is_empty(), || format!("{results:?} wait to be taken"))?;
    desk.expect_none("fax", "after its run was removed").await?;
    desk.let_leases_lapse();
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed.is_empty(), || format!("{lapsed:?} lapsed"))?;
    let there = must("task", store.tasks.find(&Scope::All, &key(run, 0)).await)?;
    expect(there.is_none(), || format!("{there:?} is there"))
}

async fn expect_nothing_but_one_record(desk: &Desk, run: &RunId) -> Checked {
    let records = must("load", desk.store.runs.load(&Scope::All, run, Revision(0)).await)?;
    expect(records.len() == 1, || format!("used again, it has {records:?}"))?;
    let audit = must("audit", desk.store.audit.rows(&Scope::All, run).await)?;
    expect(audit.len() == 1, || format!("used again, its audit log is {audit:?}"))?;
    let head = must("head", desk.store.runs.head(&Scope::All, run).await)?;
    let anew = head.as_ref().is_some_and(|head| head.created_at == START.plus_ms(7) && head.deadline.is_none());
    expect(anew, || format!("used again, its head is {head:?}"))
}

/// Who waits for a run that is removed does not wait for ever.
pub async fn nobody_waits_for_a_pruned_run(Fixture { store, .. }: Fixture) -> Checked {
    create(&store, "over", HeadUpdate::new(Status::Finished), START).await?;
    let run = RunId::new("over");
    let (waiting, watched) = (store.clone(), run.clone());
    let waiter = tokio::spawn(async move { waiting.runs.changed(&watched, Revision(1)).await });
    tokio::task::yield_now().await;
    prune(&store, &everything()).await?;
    let waited = must("waiting", tokio::time::timeout(super::PATIENCE, waiter).await)?;
    let answer = must("the waiter", waited)?;
    expect(matches!(answer, Err(StoreError::NotFound { .. })), || format!("the waiter was told {answer:?}"))
}
