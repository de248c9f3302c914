//! Rules about results that wait to be taken by their run.

use holdpoint_core::{Attempt, Revision, RunId, Status};

use super::desk::{Desk, closes, expect_completion, key, task};
use super::{Checked, Fixture, expect, must};
use crate::{CommitError, Fence, HeadUpdate, Release, Scope, TaskCompletion, TaskGuard, TaskLease, TaskState};

/// A result stays with its task, with who had it since when, until the run takes it; the first delivered comes first.
pub async fn results_wait_in_the_order_of_their_arrival(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("waiting", vec![task(0, "mail"), task(1, "mail"), task(2, "mail")]).await?;
    let since = desk.now();
    let leased = desk.lease(&["mail"], 3).await?;
    for index in [2, 0] {
        let lease = lease_at(&leased, index)?;
        desk.clock.advance_ms(10);
        let state = desk.deliver(lease, format!("result {index}").as_bytes()).await?;
        expect_completion("delivering", state, TaskCompletion::Stored)?;
    }
    let results = must("delivered", desk.store.tasks.completed(&run).await)?;
    let seen: Vec<u32> = results.iter().map(|result| result.task.key.index.0).collect();
    expect(seen == [2, 0], || format!("the results are of {seen:?}, not 2 and 0"))?;
    for result in &results {
        let index = result.task.key.index.0;
        let fence = lease_at(&leased, index)?.fence;
        let wanted = TaskState::Delivered { worker: "worker".into(), fence, since };
        expect(result.task.state == wanted, || format!("the task with a result is {:?}", result.task))?;
        expect(result.task.attempts == Attempt(1), || format!("the task with a result is {:?}", result.task))?;
        let body = format!("result {index}");
        expect(*result.result == *body.as_bytes(), || format!("the result of {index} came back changed"))?;
        let there = desk.task(&result.task.key).await?;
        expect(there == result.task, || format!("the result is of {:?}, but the task is {there:?}", result.task))?;
    }
    let nobody = must("delivered", desk.store.tasks.completed(&RunId::new("nobody")).await)?;
    expect(nobody.is_empty(), || format!("a run that is not there has {nobody:?}"))
}

/// Who delivers twice under one lease, since the first answer was lost, is told that it is done; the first result stays.
pub async fn delivering_twice_is_delivering_once(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("twice", vec![task(0, "mail")]).await?;
    let lease = desk.lease_one("mail").await?.lease;
    expect_completion("delivering", desk.deliver(&lease, b"first").await?, TaskCompletion::Stored)?;
    let before = desk.task(&lease.key).await?;
    desk.clock.advance_ms(10);
    expect_completion("delivering again", desk.deliver(&lease, b"second").await?, TaskCompletion::Present)?;
    let results = must("delivered", desk.store.tasks.completed(&run).await)?;
    let first = results.len() == 1 && results.iter().all(|result| *result.result == *b"first");
    expect(first, || format!("after two deliveries there are {} results", results.len()))?;
    let after = desk.task(&lease.key).await?;
    expect(before == after, || format!("the second delivery changed {before:?} to {after:?}"))
}

/// A task with a result is not leased again, does not lapse, and cannot be given back.
pub async fn a_task_with_a_result_is_not_leased_again(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    desk.open("done", vec![task(0, "mail")]).await?;
    let lease = desk.lease_one("mail").await?.lease;
    desk.deliver(&lease, b"done").await?;
    for how in [Release::Unstarted, Release::Retry { delay_ms: 0 }] {
        must("release", desk.store.tasks.release(&lease, how).await)?;
        desk.expect_none("mail", "with a result").await?;
    }
    desk.let_leases_lapse();
    desk.expect_none("mail", "with a result").await?;
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed.is_empty(), || "a task with a result lapsed".to_owned())?;
    let there = desk.task(&lease.key).await?;
    expect(matches!(there.state, TaskState::Delivered { .. }), || format!("the task with a result became {there:?}"))
}

/// A run has arrivals while it is paused and has results; one that somebody drives takes them by itself.
pub async fn arrivals_are_of_paused_runs(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let heads = [
        ("confirming", Status::AwaitingToolConfirmation, Some("sales")),
        ("empty", Status::AwaitingToolResults, None),
        ("running", Status::Running, None),
        ("waiting", Status::AwaitingToolResults, None),
    ];
    for (name, status, agent) in heads {
        let head = HeadUpdate { agent: agent.map(Into::into), ..HeadUpdate::new(status) };
        desk.open_of(name, head, vec![task(0, name), task(1, name)]).await?;
    }
    expect_arrivals(&desk, &["", "sales"], 10, &[]).await?;
    for (name, agent) in [("confirming", "sales"), ("running", ""), ("waiting", "")] {
        let tools = vec![(agent.into(), holdpoint_core::ToolName::new(name))];
        let request = crate::LeaseRequest { tools, ..super::desk::wants(&[], 2) };
        for leased in must("lease", desk.store.tasks.lease(&request).await)? {
            desk.deliver(&leased.lease, b"done").await?;
        }
    }
    expect_arrivals(&desk, &["", "sales"], usize::MAX, &["confirming", "waiting"]).await?;
    expect_arrivals(&desk, &[""], 10, &["waiting"]).await?;
    expect_arrivals(&desk, &["other"], 10, &[]).await?;
    let limited = desk.arrivals(&["", "sales"], 1).await?;
    expect(limited.len() == 1, || format!("a limit of 1 gives {limited:?}"))?;
    expect_arrivals(&desk, &["", "sales"], 0, &[]).await?;
    let running = RunId::new("running");
    must("pausing", desk.store.runs.commit(&running, Revision(1), desk.step(Vec::new())).await)?;
    expect_arrivals(&desk, &[""], 10, &["running", "waiting"]).await
}

async fn expect_arrivals(desk: &Desk, agents: &[&str], limit: usize, wanted: &[&str]) -> Checked {
    let seen = desk.arrivals(agents, limit).await?;
    expect(seen == wanted, || format!("for {agents:?} arrived {seen:?}, not {wanted:?}"))
}

/// Closing takes the task with its result away, by the lease under which it came; another lease takes nothing.
pub async fn closing_takes_the_result_away(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("taken", vec![task(0, "mail"), task(1, "post")]).await?;
    let lease = desk.lease_one("mail").await?.lease;
    let other = desk.lease_one("post").await?.lease;
    desk.deliver(&lease, b"done").await?;
    desk.deliver(&other, b"done").await?;
    let wrong = closes(0, TaskGuard::Delivered(Fence(lease.fence.0 + 1_000)));
    for guard in [wrong, closes(0, TaskGuard::Waiting)] {
        let closed = desk.close(&run, 1, guard).await;
        expect(matches!(closed, Err(CommitError::LeaseLost)), || format!("closing what is not so gave {closed:?}"))?;
    }
    let closed = desk.close(&run, 1, closes(0, TaskGuard::Delivered(lease.fence))).await;
    expect(matches!(closed, Ok(Revision(2))), || format!("closing by the lease of the result gave {closed:?}"))?;
    let gone = must("task", desk.store.tasks.find(&Scope::All, &key(&run, 0)).await)?;
    expect(gone.is_none(), || format!("a closed task is there: {gone:?}"))?;
    let results = must("delivered", desk.store.tasks.completed(&run).await)?;
    let left: Vec<u32> = results.iter().map(|result| result.task.key.index.0).collect();
    expect(left == [1], || format!("the results of {left:?} are left, not that of 1"))?;
    expect_arrivals(&desk, &[""], 10, &["taken"]).await?;
    let closed = desk.close(&run, 2, closes(1, TaskGuard::Any)).await;
    expect(matches!(closed, Ok(Revision(3))), || format!("closing whatever it is gave {closed:?}"))?;
    expect_arrivals(&desk, &[""], 10, &[]).await?;
    desk.let_leases_lapse();
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed.is_empty(), || "closed tasks lapsed".to_owned())
}

fn lease_at(leased: &[crate::LeasedTask], index: u32) -> Result<&TaskLease, String> {
    let found = leased.iter().find(|leased| leased.lease.key.index.0 == index);
    found.map(|leased| &leased.lease).ok_or_else(|| format!("call {index} was not leased"))
}
