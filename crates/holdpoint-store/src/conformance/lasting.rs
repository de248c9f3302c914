//! Rules about what is there later: after opening the store again, and when there is a lot of it.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{CallKey, Revision, RunId, Status, Timestamp};

use super::desk::{Desk, LEASE_MS, expect_state, key, task};
use super::{Checked, Fixture, START, at, expect, must, nameless};
use crate::LeaseState::Held;
use crate::{
    ClaimRequest, DUE_LIMIT_MAX, HeadUpdate, Hold, LIST_LIMIT_MAX, OwnerId, RunFilter, Scope, Store, TaskFilter,
    Transition,
};

/// How many runs are many.
const MANY: usize = 10_000;
/// Every so many runs one is running, the others wait.
const RUNNING_EVERY: usize = 4;
/// How many write at once.
const WRITERS: usize = 16;

/// What was acknowledged is there after the store was opened again: runs, audit rows, tasks with their leases and results,
/// and who holds what.
pub async fn what_was_committed_is_there_after_reopening(fixture: Fixture) -> Checked {
    let (paused, held) = (RunId::new("paused"), RunId::new("held"));
    let (before, lease) = {
        let desk = Desk { store: fixture.store.clone(), clock: Arc::clone(&fixture.clock) };
        let waiting = HeadUpdate { deadline: Some(START), ..HeadUpdate::new(Status::AwaitingToolResults) };
        desk.open_of("paused", waiting, vec![task(0, "mail"), task(1, "post"), task(2, "fax")]).await?;
        let hold = Some(Hold { owner: OwnerId::new("holder"), lease_ms: LEASE_MS });
        let running = Transition::new(vec![vec![7; 9_000], vec![8]], HeadUpdate::new(Status::Running), desk.now());
        let running = Transition { hold, audit: Some(b"who".to_vec()), ..running };
        must("commit", desk.store.runs.commit(&held, at(0), running).await)?;
        let lease = desk.lease_one("mail").await?.lease;
        let delivered = desk.lease_one("post").await?.lease;
        desk.deliver(&delivered, b"done").await?;
        (everything(&desk.store, &[&paused, &held]).await?, lease)
    };
    let fixture = fixture.reopened().await;
    let desk = Desk { store: fixture.store.clone(), clock: Arc::clone(&fixture.clock) };
    let after = everything(&desk.store, &[&paused, &held]).await?;
    expect(before == after, || format!("before it was\n{before}\nafter opening again\n{after}"))?;
    let hold = Hold { owner: OwnerId::new("other"), lease_ms: LEASE_MS };
    let claim = ClaimRequest { hold, agents: nameless().into(), limit: 10 };
    let claimed = must("claim", desk.store.leases.claim(&claim).await)?;
    expect(claimed.is_empty(), || format!("{claimed:?} was claimed although it is held"))?;
    expect_state("a heartbeat of an earlier lease", desk.heartbeat(&lease).await?, Held)?;
    let next = desk.lease_one("fax").await?.lease;
    must("release", desk.store.tasks.release(&lease, crate::Release::Unstarted).await)?;
    let again = desk.lease_one("mail").await?.lease;
    expect(again.fence > lease.fence, || {
        format!("after fence {} came {}, and {}", lease.fence, again.fence, next.fence)
    })?;
    must("commit", desk.store.runs.commit(&paused, at(1), desk.step(Vec::new())).await)?;
    desk.let_leases_lapse();
    let claimed = must("claim", desk.store.leases.claim(&claim).await)?;
    expect(claimed == [held], || format!("{claimed:?} was claimed after the lease lapsed"))
}

async fn everything(store: &Store, runs: &[&RunId]) -> Result<String, String> {
    let mut seen = Vec::new();
    for run in runs {
        let records = must("load", store.runs.load(&Scope::All, run, Revision(0)).await)?;
        let bodies: Vec<_> = records.iter().map(|record| &record.body).collect();
        let audit = must("audit", store.audit.rows(&Scope::All, run).await)?;
        let rows: Vec<_> = audit.iter().map(|row| &row.body).collect();
        let head = must("head", store.runs.head(&Scope::All, run).await)?;
        let results = must("delivered", store.tasks.completed(run).await)?;
        let contents: Vec<_> = results.iter().map(|result| &result.result).collect();
        seen.push(format!("{head:?} {records:?} {bodies:?} {audit:?} {rows:?} {results:?} {contents:?}"));
    }
    let tasks = must("tasks", store.tasks.list(&TaskFilter::default()).await)?.items;
    let listed = must("list", store.runs.list(&RunFilter::default()).await)?.items;
    let due = must("due", store.runs.due(&nameless(), START, 10).await)?;
    seen.push(format!("{tasks:?} {listed:?} {due:?}"));
    Ok(seen.join("\n"))
}

/// Ten thousand runs are created, listed, found when they are due, and claimed, each once.
pub async fn ten_thousand_runs_are_all_found(Fixture { store, .. }: Fixture) -> Checked {
    create_many(&store).await?;
    let mut filter = RunFilter { limit: Some(LIST_LIMIT_MAX), ..RunFilter::default() };
    let mut listed = HashSet::new();
    loop {
        let page = must("list", store.runs.list(&filter).await)?;
        for head in page.items {
            expect(listed.insert(head.run.clone()), || format!("run {} is listed twice", head.run))?;
        }
        match page.next {
            Some(next) => filter.cursor = Some(next),
            None => break,
        }
    }
    expect(listed.len() == MANY, || format!("{} runs are listed, not {MANY}", listed.len()))?;
    let due = must("due", store.runs.due(&nameless(), Timestamp(i64::MAX), usize::MAX).await)?;
    let earliest = (0..MANY).filter(|number| number % RUNNING_EVERY != 0).map(|number| RunId::new(number.to_string()));
    let wanted: Vec<RunId> = earliest.take(DUE_LIMIT_MAX).collect();
    expect(due == wanted, || format!("{} runs are due, and not the {} earliest", due.len(), wanted.len()))?;
    let hold = Hold { owner: OwnerId::new("claimer"), lease_ms: LEASE_MS };
    let claim = ClaimRequest { hold, agents: nameless().into(), limit: 700 };
    let mut claimed = HashSet::new();
    loop {
        let runs = must("claim", store.leases.claim(&claim).await)?;
        if runs.is_empty() {
            break;
        }
        for run in runs {
            expect(claimed.insert(run.clone()), || format!("run {run} was claimed twice"))?;
        }
    }
    let running = MANY.div_ceil(RUNNING_EVERY);
    expect(claimed.len() == running, || format!("{} runs were claimed, not {running}", claimed.len()))
}

async fn create_many(store: &Store) -> Checked {
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (writer..MANY).step_by(WRITERS) {
                    let head = if number % RUNNING_EVERY == 0 {
                        HeadUpdate::new(Status::Running)
                    } else {
                        let deadline = Some(START.plus_ms(number as u64));
                        HeadUpdate { deadline, ..HeadUpdate::new(Status::AwaitingToolConfirmation) }
                    };
                    super::create(&store, &RunId::new(number.to_string()), head).await?;
                }
                Ok::<(), String>(())
            })
        })
        .collect();
    for writer in writers {
        must("a writer", writer.await)??;
    }
    Ok(())
}

/// While runs are added, every list covers each run that was there before once, and none twice.
pub async fn lists_are_whole_while_runs_are_added(Fixture { store, .. }: Fixture) -> Checked {
    const THERE: usize = 300;
    const ADDED: usize = 300;
    let head = |number: usize| {
        let tenant = if number.is_multiple_of(3) { "acme" } else { "other" };
        HeadUpdate { tenant: Some(tenant.into()), ..HeadUpdate::new(Status::Running) }
    };
    for number in 0..THERE {
        super::create(&store, &RunId::new(number.to_string()), head(number)).await?;
    }
    let adding = store.clone();
    let writer = tokio::spawn(async move {
        for number in THERE..THERE + ADDED {
            super::create(&adding, &RunId::new(number.to_string()), head(number)).await?;
        }
        Ok::<(), String>(())
    });
    let mut finished = false;
    // One more list after the writer is done: it has all of them.
    while !finished {
        finished = writer.is_finished();
        let seen = list_of_acme(&store).await?;
        let wanted = (0..if finished { THERE + ADDED } else { THERE }).step_by(3);
        let lost = wanted.map(|number| RunId::new(number.to_string())).find(|run| !seen.contains(run));
        expect(lost.is_none(), || format!("run {lost:?} was there before and is not listed"))?;
        tokio::task::yield_now().await;
    }
    must("the writer", writer.await)?
}

async fn list_of_acme(store: &Store) -> Result<HashSet<RunId>, String> {
    let mut filter = RunFilter { tenant: Some("acme".into()), limit: Some(7), ..RunFilter::default() };
    let mut seen = HashSet::new();
    loop {
        let page = must("list", store.runs.list(&filter).await)?;
        for head in page.items {
            expect(head.tenant.as_deref() == Some("acme"), || format!("{head:?} is listed for acme"))?;
            expect(seen.insert(head.run.clone()), || format!("run {} is listed twice", head.run))?;
        }
        match page.next {
            Some(next) => filter.cursor = Some(next),
            None => return Ok(seen),
        }
    }
}

/// Keys of calls are kept apart by run, turn and place.
pub async fn tasks_of_different_calls_are_kept_apart(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let later = |index| crate::TaskOpening { turn: holdpoint_core::Turn(2), ..task(index, "mail") };
    let first = desk.open("a", vec![task(0, "mail"), task(1, "mail"), later(0)]).await?;
    let second = desk.open("b", vec![task(0, "mail")]).await?;
    let closing = super::desk::closes(0, crate::TaskGuard::Any);
    must("closing", desk.close(&first, 1, closing).await)?;
    let left = must("tasks", desk.store.tasks.list(&TaskFilter::default()).await)?.items;
    let seen: Vec<CallKey> = left.into_iter().map(|task| task.key).collect();
    let later = CallKey { turn: holdpoint_core::Turn(2), ..key(&first, 0) };
    let wanted = [key(&first, 1), later, key(&second, 0)];
    expect(seen == wanted, || format!("after closing one, {seen:?} are left"))
}
