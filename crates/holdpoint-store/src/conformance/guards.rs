//! Rules about transitions that change the queue: all of it or nothing.

use holdpoint_core::{CallIndex, Revision, RunId, Status, Turn};

use super::desk::{Desk, LEASE_MS, agents_named, closes, expect_completion, expect_state, key, opens, task};
use super::{Checked, Fixture, expect, must};
use crate::LeaseState::Lost;
use crate::{
    ClaimRequest, CommitError, Fence, Hold, LeaseState, OwnerId, Release, Scope, TaskChange, TaskCompletion, TaskGuard,
    TaskHead, Transition,
};

/// Everything that a transition could have changed, as text.
async fn everything(desk: &Desk, run: &RunId) -> Result<String, String> {
    let store = &desk.store;
    let records = must("load", store.runs.load(&Scope::All, run, Revision(0)).await)?;
    let head = must("head", store.runs.head(&Scope::All, run).await)?;
    let audit = must("audit", store.audit.rows(&Scope::All, run).await)?;
    let tasks = must("tasks", store.tasks.list(&crate::TaskFilter::default()).await)?.items;
    let results = must("delivered", store.tasks.completed(run).await)?;
    let due = must("due", store.runs.due(&agents_named(&["", "new"]), desk.now().plus_ms(99_999), 10).await)?;
    Ok(format!("{records:?}\n{head:?}\n{audit:?}\n{tasks:?}\n{results:?}\n{due:?}"))
}

/// A transition that changes as much as it can, and closes these.
fn sweeping(desk: &Desk, closing: impl IntoIterator<Item = TaskChange>) -> Transition {
    let mut tasks = vec![opens(task(7, "new")), closes(2, TaskGuard::Any)];
    tasks.extend(closing);
    tasks.push(opens(task(8, "new")));
    let mut step = desk.step(tasks);
    step.records.push(b"another".to_vec());
    step.head.status = Status::Running;
    step.head.agent = Some("new".into());
    step.head.deadline = Some(desk.now());
    step.hold = Some(Hold { owner: OwnerId::new("swept"), lease_ms: LEASE_MS });
    step.audit = Some(b"audit".to_vec());
    step
}

/// When one task is not as a transition says, nothing of the transition is there: no records, head, audit row or task.
/// Made right, the same transition is written.
pub async fn a_lost_lease_undoes_the_whole_transition(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("whole", vec![task(0, "mail"), task(1, "post"), task(2, "fax")]).await?;
    let old = desk.lease_one("mail").await?.lease;
    must("release", desk.store.tasks.release(&old, Release::Retry { delay_ms: 0 }).await)?;
    let current = desk.lease_one("mail").await?.lease;
    let before = everything(&desk, &run).await?;
    let mistakes = [
        closes(0, TaskGuard::Leased(old.fence)),
        closes(0, TaskGuard::Waiting),
        closes(1, TaskGuard::Leased(current.fence)),
        closes(9, TaskGuard::Leased(current.fence)),
        TaskChange::Close { turn: Turn(2), index: CallIndex(0), guard: TaskGuard::Leased(current.fence) },
    ];
    for mistake in mistakes {
        let made = desk.store.runs.commit(&run, Revision(1), sweeping(&desk, [mistake.clone()])).await;
        expect(matches!(made, Err(CommitError::LeaseLost)), || format!("{mistake:?} gave {made:?}"))?;
        let after = everything(&desk, &run).await?;
        expect(before == after, || format!("{mistake:?} changed\n{before}\nto\n{after}"))?;
    }
    let right = [closes(0, TaskGuard::Leased(current.fence)), closes(1, TaskGuard::Waiting)];
    let made = desk.store.runs.commit(&run, Revision(1), sweeping(&desk, right)).await;
    expect(matches!(made, Ok(Revision(3))), || format!("the right transition gave {made:?}"))?;
    let tasks = must("tasks", desk.store.tasks.list(&crate::TaskFilter::default()).await)?.items;
    let seen: Vec<u32> = tasks.iter().map(|task: &TaskHead| task.key.index.0).collect();
    expect(seen == [7, 8], || format!("the tasks {seen:?} are there, not 7 and 8"))
}

/// Who holds the run still does after a transition was refused, whether it named another holder or none.
pub async fn a_lost_lease_leaves_the_hold_alone(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = RunId::new("driven");
    let by = |owner| Hold { owner: OwnerId::new(owner), lease_ms: LEASE_MS };
    let mut first = desk.step(Vec::new());
    first.head.status = Status::Running;
    first.hold = Some(by("driver"));
    must("commit", desk.store.runs.commit(&run, Revision(0), first).await)?;
    for hold in [Some(by("swept")), None] {
        let mut refused = sweeping(&desk, [closes(0, TaskGuard::Leased(Fence(1)))]);
        refused.head.agent = None;
        refused.hold = hold;
        let made = desk.store.runs.commit(&run, Revision(1), refused).await;
        expect(matches!(made, Err(CommitError::LeaseLost)), || format!("closing nothing by a lease gave {made:?}"))?;
        let claim = ClaimRequest { hold: by("other"), agents: agents_named(&[""]), limit: 10 };
        let claimed = must("claim", desk.store.leases.claim(&claim).await)?;
        expect(claimed.is_empty(), || format!("{claimed:?} was claimed although it is held"))?;
        for (owner, wanted) in [("swept", Lost), ("driver", LeaseState::Held)] {
            let state = must("renew", desk.store.leases.renew(&run, &by(owner)).await)?;
            expect_state("renewing after a refused transition", state, wanted)?;
        }
    }
    Ok(())
}

/// A run that a refused transition would have created is not there.
pub async fn a_lost_lease_creates_no_run(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = RunId::new("never");
    let made =
        desk.store.runs.commit(&run, Revision(0), sweeping(&desk, [closes(0, TaskGuard::Leased(Fence(1)))])).await;
    expect(matches!(made, Err(CommitError::LeaseLost)), || format!("closing nothing by a lease gave {made:?}"))?;
    let head = must("head", desk.store.runs.head(&Scope::All, &run).await)?;
    expect(head.is_none(), || format!("the run is there: {head:?}"))?;
    let tasks = must("tasks", desk.store.tasks.list(&crate::TaskFilter::default()).await)?.items;
    expect(tasks.is_empty(), || format!("tasks of no run are there: {tasks:?}"))?;
    let hold = Hold { owner: OwnerId::new("other"), lease_ms: LEASE_MS };
    let claim = ClaimRequest { hold, agents: agents_named(&["", "new"]), limit: 10 };
    let claimed = must("claim", desk.store.leases.claim(&claim).await)?;
    expect(claimed.is_empty(), || format!("{claimed:?} was claimed"))
}

/// A transition that is late and closes by an old lease is refused for either reason, and changes nothing.
pub async fn a_stale_commit_leaves_the_queue_alone(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("late", vec![task(0, "mail"), task(1, "post"), task(2, "fax")]).await?;
    let current = desk.lease_one("mail").await?.lease;
    let before = everything(&desk, &run).await?;
    let cases = [
        (0, TaskGuard::Leased(current.fence)),
        (2, TaskGuard::Any),
        (0, TaskGuard::Leased(Fence(current.fence.0 + 1))),
        (2, TaskGuard::Waiting),
    ];
    for (at, guard) in cases {
        let made = desk.store.runs.commit(&run, Revision(at), sweeping(&desk, [closes(0, guard)])).await;
        let holds = matches!(guard, TaskGuard::Any) || guard == TaskGuard::Leased(current.fence);
        let refused = match &made {
            Err(CommitError::Stale { current }) => *current == Revision(1),
            Err(CommitError::LeaseLost) => !holds,
            Ok(_) | Err(CommitError::SessionBusy | CommitError::Invalid(_) | CommitError::Store(_)) => false,
        };
        expect(refused, || format!("a commit at {at} of a run at 1 with {guard:?} gave {made:?}"))?;
        let after = everything(&desk, &run).await?;
        expect(before == after, || format!("a stale commit changed\n{before}\nto\n{after}"))?;
    }
    Ok(())
}

/// Nothing is asked of a task that is closed with `Any`; `Waiting` wants one that nobody has, or none at all.
pub async fn closing_asks_what_its_guard_says(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let tools = ["waiting", "leased", "lapsed", "given-back"];
    let tasks = || (0..).zip(tools).map(|(index, tool)| task(index, tool)).collect();
    for (name, guard) in [("any", TaskGuard::Any), ("waiting", TaskGuard::Waiting)] {
        let run = desk.open(name, tasks()).await?;
        let lapsed = desk.lease_one("lapsed").await?;
        desk.let_leases_lapse();
        let leased = desk.lease_one("leased").await?;
        let back = desk.lease_one("given-back").await?;
        must("release", desk.store.tasks.release(&back.lease, Release::Retry { delay_ms: 60_000 }).await)?;
        let mut at = 1;
        for index in [0, 1, 2, 3, 9] {
            let made = desk.close(&run, at, closes(index, guard)).await;
            let free = !matches!(index, 1 | 2) || guard == TaskGuard::Any;
            let right = match &made {
                Ok(revision) => free && revision.0 == at + 1,
                Err(CommitError::LeaseLost) => !free,
                Err(
                    CommitError::Stale { .. }
                    | CommitError::SessionBusy
                    | CommitError::Invalid(_)
                    | CommitError::Store(_),
                ) => false,
            };
            expect(right, || format!("closing call {index} with {guard:?} gave {made:?}"))?;
            at += u64::from(free);
            let there = must("task", desk.store.tasks.find(&Scope::All, &key(&run, index)).await)?;
            expect(there.is_some() != free, || format!("after {guard:?} call {index} has the task {there:?}"))?;
        }
        if guard == TaskGuard::Any {
            for lease in [&leased.lease, &lapsed.lease] {
                let state: LeaseState = desk.heartbeat(lease).await?;
                expect_state("a heartbeat of a closed task", state, Lost)?;
            }
        }
    }
    Ok(())
}

/// Makes a guard that wants this lease, if it wants any.
type MakeGuard = fn(Fence) -> TaskGuard;

/// Every guard is tried on every state of a task: it passes where it says so and nowhere else, and what does not pass
/// changes nothing.
pub async fn each_guard_passes_its_own_states_only(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let states = ["missing", "waiting", "lapsed", "leased", "prolonged", "delivered", "delivered_late"];
    let guards: [(MakeGuard, &[&str]); 6] = [
        (|_| TaskGuard::Any, &states),
        (|_| TaskGuard::Waiting, &["missing", "waiting"]),
        (|_| TaskGuard::NoResult, &["missing", "waiting", "lapsed", "leased", "prolonged"]),
        (TaskGuard::Leased, &["lapsed", "leased", "prolonged"]),
        (TaskGuard::Lapsed, &["lapsed"]),
        (TaskGuard::Delivered, &["delivered", "delivered_late"]),
    ];
    for (round, (guard, passing)) in guards.into_iter().enumerate() {
        for (index, state) in states.into_iter().enumerate() {
            let name = format!("{state}-{round}-{index}");
            let opening = (state != "missing").then(|| task(0, &name));
            let run = desk.open(&name, opening.into_iter().collect()).await?;
            let fence = in_state(&desk, state, &name).await?;
            let before = everything(&desk, &run).await?;
            let made = desk.close(&run, 1, closes(0, guard(fence))).await;
            let passed = made.is_ok();
            expect(passed == passing.contains(&state), || format!("{:?} on {state} gave {made:?}", guard(fence)))?;
            let refused = matches!(made, Err(CommitError::LeaseLost));
            expect(passed || refused, || format!("{:?} on {state} gave {made:?}", guard(fence)))?;
            let changed = before != everything(&desk, &run).await?;
            expect(passed == changed, || format!("{:?} on {state} changed something: {changed}", guard(fence)))?;
            // A lease of another task never passes for this one.
            let other = guard(Fence(fence.0 + 1_000));
            if !passed && other.wants_lease() {
                let made = desk.close(&run, 1, closes(0, other)).await;
                expect(matches!(made, Err(CommitError::LeaseLost)), || format!("{other:?} on {state} gave {made:?}"))?;
            }
        }
    }
    Ok(())
}

/// Brings the one task of this tool into a state. Returns its fence, or one that no task has.
async fn in_state(desk: &Desk, state: &str, tool: &str) -> Result<Fence, String> {
    if matches!(state, "missing" | "waiting") {
        return Ok(Fence(u64::from(u32::MAX)));
    }
    let lease = desk.lease_one(tool).await?.lease;
    if matches!(state, "lapsed" | "prolonged" | "delivered_late") {
        desk.let_leases_lapse();
    }
    match state {
        "prolonged" => expect_state("a heartbeat of a lapsed lease", desk.heartbeat(&lease).await?, LeaseState::Held)?,
        "delivered" | "delivered_late" => {
            expect_completion("a result", desk.deliver(&lease, b"done").await?, TaskCompletion::Stored)?;
        }
        _ => {}
    }
    Ok(lease.fence)
}

/// A task whose lease lapsed is given back only while it is lapsed: a heartbeat or a result that came first wins.
pub async fn a_heartbeat_or_a_result_beats_giving_back_a_lapsed_task(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let how = Release::Lapsed { delay_ms: 0 };
    for state in ["leased", "prolonged", "delivered", "delivered_late"] {
        let run = desk.open(state, vec![task(0, state)]).await?;
        let fence = in_state(&desk, state, state).await?;
        let before = everything(&desk, &run).await?;
        let lease = crate::TaskLease { key: key(&run, 0), fence };
        let released = must("release", desk.store.tasks.release(&lease, how).await)?;
        expect_state(&format!("giving back as lapsed what is {state}"), released, Lost)?;
        let after = everything(&desk, &run).await?;
        expect(before == after, || format!("giving back what is {state} changed\n{before}\nto\n{after}"))?;
    }
    let run = desk.open("lapsed", vec![task(0, "lapsed")]).await?;
    let fence = in_state(&desk, "lapsed", "lapsed").await?;
    let lease = crate::TaskLease { key: key(&run, 0), fence };
    expect_state(
        "giving back a lapsed task",
        must("release", desk.store.tasks.release(&lease, how).await)?,
        LeaseState::Held,
    )?;
    let again = desk.lease_one("lapsed").await?;
    expect(again.task.attempts.0 == 2, || format!("the second lease is attempt {}", again.task.attempts))
}

/// A task that is opened over one of the same call takes its place.
pub async fn a_task_opened_again_replaces_the_other(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("replaced", vec![task(0, "mail"), task(1, "mail")]).await?;
    let old = desk.lease_one("mail").await?;
    must("deliver", desk.store.tasks.complete(&old.lease, b"old".to_vec()).await)?;
    must("opening again", desk.close(&run, 1, opens(task(0, "post"))).await)?;
    let results = must("delivered", desk.store.tasks.completed(&run).await)?;
    expect(results.is_empty(), || format!("the result of the task before is there: {results:?}"))?;
    let now = desk.lease(&["mail", "post"], 10).await?;
    let mut seen: Vec<String> =
        now.iter().map(|leased| format!("{} {}", leased.task.tool, leased.lease.key.index)).collect();
    seen.sort_unstable();
    expect(seen == ["mail 1", "post 0"], || format!("{seen:?} were leased"))?;
    let tasks = must("tasks", desk.store.tasks.list(&crate::TaskFilter::default()).await)?.items;
    expect(tasks.len() == 2, || format!("{tasks:?} are listed"))
}
