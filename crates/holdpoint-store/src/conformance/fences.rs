//! Rules about leases of tasks: which one is the current one, and how it ends.

use holdpoint_core::Attempt;

use super::desk::{Desk, LEASE_MS, closes, expect_completion, expect_state, indexes, key, lease_of, opens, task};
use super::{Checked, Fixture, expect, must};
use crate::LeaseState::{Held, Lost};
use crate::{CommitError, LeaseState, Release, Scope, TaskCompletion, TaskGuard, TaskLease, TaskState};

const RETRY_MS: u64 = 5_000;

/// A heartbeat prolongs the lease from the moment of the heartbeat.
pub async fn a_heartbeat_prolongs_the_lease(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("beating", vec![task(0, "mail")]).await?;
    let leased = desk.lease_one("mail").await?;
    for _ in 0..3 {
        let now = desk.clock.advance_ms(LEASE_MS / 2 + 1);
        expect_state("a heartbeat", desk.heartbeat(&leased.lease).await?, Held)?;
        let head = desk.task(&key(&run, 0)).await?;
        let (fence, until) = lease_of(&head)?;
        expect(fence == leased.lease.fence, || format!("a heartbeat changed the fence to {fence}"))?;
        expect(until == now.plus_ms(LEASE_MS), || format!("a heartbeat at {} lasts until {}", now.0, until.0))?;
        let (before, since) = (&leased.task.state, &head.state);
        let same = matches!((before, since), (TaskState::Leased { since: a, .. }, TaskState::Leased { since: b, .. }) if a == b);
        expect(same && head.attempts == Attempt(1), || format!("a heartbeat changed {before:?} to {head:?}"))?;
    }
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed.is_empty(), || "a lease that was prolonged lapsed".to_owned())
}

/// Each lease of a heartbeat has its own answer, in the order of asking.
pub async fn a_heartbeat_answers_each_lease_in_order(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("several", vec![task(0, "mail"), task(1, "mail"), task(2, "mail")]).await?;
    let leased = desk.lease(&["mail"], 3).await?;
    let [first, second, third] = leased.as_slice() else { return Err(format!("{leased:?} are not three tasks")) };
    let nobody = TaskLease { key: key(&run, 9), fence: first.lease.fence };
    let foreign = TaskLease { key: second.lease.key.clone(), fence: third.lease.fence };
    must("closing", desk.close(&run, 1, closes(second.lease.key.index.0, TaskGuard::Any)).await)?;
    let asked = [third.lease.clone(), second.lease.clone(), nobody, first.lease.clone(), foreign, third.lease.clone()];
    let states = must("heartbeat", desk.store.tasks.heartbeat(&asked, LEASE_MS).await)?;
    let wanted = [Held, Lost, Lost, Held, Lost, Held];
    expect(states == wanted, || format!("the answers are {states:?}, not {wanted:?}"))?;
    let none = must("heartbeat", desk.store.tasks.heartbeat(&[], LEASE_MS).await)?;
    expect(none.is_empty(), || format!("no lease has the answers {none:?}"))
}

/// A lease that lapsed is named, the longest lapsed first, to those who care for its agent.
pub async fn lapsed_leases_are_named(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    desk.open("lapsing", vec![task(0, "c"), task(1, "b"), task(2, "a"), task(3, "unleased")]).await?;
    for tool in ["a", "c", "b"] {
        desk.lease_one(tool).await?;
        desk.clock.advance_ms(100);
    }
    let early = desk.lapsed(&[""], 10).await?;
    expect(early.is_empty(), || format!("{early:?} lapsed before their time"))?;
    desk.let_leases_lapse();
    for (agents, limit, wanted) in
        [(&[""][..], 10, vec![2, 0, 1]), (&["x", ""], usize::MAX, vec![2, 0, 1]), (&[""], 2, vec![2, 0])]
    {
        let lapsed = desk.lapsed(agents, limit).await?;
        expect(lapsed == wanted, || format!("{lapsed:?} lapsed, not {wanted:?}"))?;
    }
    for (agents, limit) in [(&["support"][..], 10), (&[], 10), (&[""], 0)] {
        let lapsed = desk.lapsed(agents, limit).await?;
        expect(lapsed.is_empty(), || format!("{lapsed:?} lapsed for the agents {agents:?}, {limit} at most"))?;
    }
    Ok(())
}

/// A lease that lapsed is held again by a heartbeat, and takes a result, as long as nobody else took the task.
pub async fn a_lapsed_lease_can_be_held_again(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    desk.open("late", vec![task(0, "mail")]).await?;
    let leased = desk.lease_one("mail").await?;
    desk.let_leases_lapse();
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed == [0], || format!("{lapsed:?} lapsed, not 0"))?;
    expect_state("a late heartbeat", desk.heartbeat(&leased.lease).await?, Held)?;
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed.is_empty(), || "a lease that is held again is still lapsed".to_owned())?;
    desk.let_leases_lapse();
    expect_completion("a late result", desk.deliver(&leased.lease, b"done").await?, TaskCompletion::Stored)
}

/// A task that was given back unstarted is there at once, and its attempt does not count.
pub async fn a_task_given_back_unstarted_is_there_at_once(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("unstarted", vec![task(0, "mail")]).await?;
    let first = desk.lease_one("mail").await?;
    expect(first.task.attempts == Attempt(1), || format!("the first lease is attempt {}", first.task.attempts))?;
    expect_state(
        "giving back",
        must("release", desk.store.tasks.release(&first.lease, Release::Unstarted).await)?,
        Held,
    )?;
    let waiting = desk.task(&key(&run, 0)).await?;
    expect(waiting.attempts == Attempt(0), || format!("given back unstarted, it is {waiting:?}"))?;
    let second = desk.lease_one("mail").await?;
    expect(second.task.attempts == Attempt(1), || format!("leased again, it is {:?}", second.task))?;
    expect_old_is_lost(&desk, &first.lease, &second.lease).await
}

/// A task that is to be retried is there after its delay and not before, and its attempt counts.
pub async fn a_task_to_be_retried_comes_back_later(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("retried", vec![task(0, "mail"), task(1, "mail")]).await?;
    let first = desk.lease_one("mail").await?;
    desk.let_leases_lapse();
    let again = Release::Retry { delay_ms: RETRY_MS };
    expect_state("giving back", must("release", desk.store.tasks.release(&first.lease, again).await)?, Held)?;
    let waiting = desk.task(&key(&run, 0)).await?;
    let wanted = TaskState::Waiting { available_at: desk.now().plus_ms(RETRY_MS) };
    expect(waiting.state == wanted && waiting.attempts == Attempt(1), || format!("to be retried, it is {waiting:?}"))?;
    desk.clock.advance_ms(RETRY_MS - 1);
    let others = indexes(&desk.lease(&["mail"], 10).await?);
    expect(others == [1], || format!("before the delay was over {others:?} was leased, not 1"))?;
    desk.clock.advance_ms(1);
    let second = desk.lease_one("mail").await?;
    expect(second.task.attempts == Attempt(2), || format!("the retry is {:?}", second.task))?;
    expect_old_is_lost(&desk, &first.lease, &second.lease).await
}

/// Whoever had a task before can do nothing to it any more: every answer is `Lost`, and the task stays as it is.
async fn expect_old_is_lost(desk: &Desk, old: &TaskLease, current: &TaskLease) -> Checked {
    expect(current.fence > old.fence, || format!("after fence {} came {}", old.fence, current.fence))?;
    let before = desk.task(&old.key).await?;
    desk.clock.advance_ms(1);
    expect_state("an old heartbeat", desk.heartbeat(old).await?, Lost)?;
    expect_completion("an old result", desk.deliver(old, b"old").await?, TaskCompletion::LeaseLost)?;
    for how in [Release::Unstarted, Release::Retry { delay_ms: 0 }] {
        let state: LeaseState = must("release", desk.store.tasks.release(old, how).await)?;
        expect_state("giving back an old lease", state, Lost)?;
    }
    let results = must("delivered", desk.store.tasks.completed(&old.key.run).await)?;
    expect(results.is_empty(), || format!("an old result is there: {results:?}"))?;
    let after = desk.task(&old.key).await?;
    expect(before == after, || format!("an old lease changed {before:?} to {after:?}"))?;
    expect_state("the current heartbeat", desk.heartbeat(current).await?, Held)
}

/// What comes under a lease that is not the current one is lost and changes nothing, also to the run.
pub async fn an_old_lease_changes_nothing(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("moved-on", vec![task(0, "mail")]).await?;
    let old = desk.lease_one("mail").await?.lease;
    must("release", desk.store.tasks.release(&old, Release::Retry { delay_ms: 0 }).await)?;
    let waiting = desk.task(&old.key).await?;
    expect_state("a heartbeat of a task given back", desk.heartbeat(&old).await?, Lost)?;
    expect_completion("a result of a task given back", desk.deliver(&old, b"old").await?, TaskCompletion::LeaseLost)?;
    let after = desk.task(&old.key).await?;
    expect(waiting == after, || format!("a lease that was given back changed {waiting:?} to {after:?}"))?;
    let current = desk.lease_one("mail").await?.lease;
    expect_old_is_lost(&desk, &old, &current).await?;
    let closed = desk.close(&run, 1, closes(0, TaskGuard::Leased(old.fence))).await;
    expect(matches!(closed, Err(CommitError::LeaseLost)), || format!("closing by an old lease gave {closed:?}"))?;
    let closed = desk.close(&run, 1, closes(0, TaskGuard::Leased(current.fence))).await;
    expect(closed.is_ok(), || format!("closing by the current lease gave {closed:?}"))
}

/// A fence is never used twice for one call: not after the task was closed and opened again, and not when it was opened
/// over one that was there.
pub async fn a_reopened_task_has_new_fences(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("reopened", vec![task(0, "mail")]).await?;
    let mut old = vec![desk.lease_one("mail").await?.lease];
    let closing = vec![closes(0, TaskGuard::Leased(old[0].fence))];
    must("closing", desk.store.runs.commit(&run, crate::conformance::at(1), desk.step(closing)).await)?;
    let gone = must("task", desk.store.tasks.find(&Scope::All, &key(&run, 0)).await)?;
    expect(gone.is_none(), || format!("a closed task is there: {gone:?}"))?;
    let steps = [
        vec![opens(task(0, "mail"))],
        vec![opens(task(0, "mail"))],
        vec![closes(0, TaskGuard::Any), opens(task(0, "mail"))],
    ];
    for (at, changes) in (2..).zip(steps) {
        must("opening again", desk.store.runs.commit(&run, crate::conformance::at(at), desk.step(changes)).await)?;
        for lease in &old {
            expect_state("an older opening's heartbeat", desk.heartbeat(lease).await?, Lost)?;
            expect_completion(
                "an older opening's result",
                desk.deliver(lease, b"old").await?,
                TaskCompletion::LeaseLost,
            )?;
        }
        let leased = desk.lease_one("mail").await?;
        expect(leased.task.attempts == Attempt(1), || format!("opened again, it is {:?}", leased.task))?;
        for lease in &old {
            expect_old_is_lost(&desk, lease, &leased.lease).await?;
        }
        old.push(leased.lease);
    }
    Ok(())
}
