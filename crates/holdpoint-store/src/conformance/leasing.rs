//! Rules about who gets which task.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{Attempt, CallKey, Repeat, RunId, Status, ToolName};

use super::desk::{Desk, LEASE_MS, indexes, key, lease_of, task, wants};
use super::{Checked, Fixture, expect, must};
use crate::{
    HeadUpdate, LEASE_LIMIT_MAX, LEASE_MS_MAX, LeaseRequest, Scope, TaskFilter, TaskHead, TaskOpening, TaskState,
};

/// How many workers ask at once.
const WORKERS: usize = 16;

/// A task that was opened waits, with everything that its opening said, and goes to a worker with its body.
pub async fn an_opened_task_is_leased_as_it_was_opened(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let opening = TaskOpening {
        attempts: Attempt(1),
        attempts_max: Attempt(7),
        repeat: Repeat::WithKey,
        deadline: Some(desk.now().plus_ms(60_000)),
        body: (0..=255).cycle().take(10_000).collect(),
        ..task(3, "mail")
    };
    let head = HeadUpdate {
        agent: Some("support".into()),
        tenant: Some("acme".into()),
        ..HeadUpdate::new(Status::AwaitingToolResults)
    };
    let opened_at = desk.now();
    let run = desk.open_of("opened", head, vec![opening.clone()]).await?;
    let waiting = desk.task(&key(&run, 3)).await?;
    let TaskState::Waiting { available_at } = waiting.state else { return Err(format!("{waiting:?} does not wait")) };
    expect(available_at <= desk.now(), || "a task is not available when it was opened".to_owned())?;
    let wanted = TaskHead {
        key: key(&run, 3),
        agent: "support".into(),
        tenant: Some("acme".into()),
        tool: ToolName::new("mail"),
        attempts: Attempt(1),
        attempts_max: Attempt(7),
        repeat: Repeat::WithKey,
        deadline: opening.deadline,
        created_at: opened_at,
        state: TaskState::Waiting { available_at },
    };
    expect(waiting == wanted, || format!("the task is {waiting:?}, not {wanted:?}"))?;
    let since = desk.clock.advance_ms(5);
    let request = LeaseRequest { tools: vec![("support".into(), ToolName::new("mail"))], ..wants(&[], 1) };
    let leased = must("lease", desk.store.tasks.lease(&request).await)?;
    let [leased] = leased.as_slice() else { return Err(format!("{leased:?} was leased, not one task")) };
    expect(*leased.body == *opening.body, || "the body came back changed".to_owned())?;
    let state = TaskState::Leased {
        worker: "worker".into(),
        fence: leased.lease.fence,
        since,
        until: since.plus_ms(LEASE_MS),
        lease_ms: LEASE_MS,
    };
    let wanted = TaskHead { attempts: Attempt(2), state, ..wanted };
    expect(leased.task == wanted, || format!("the leased task is {:?}, not {wanted:?}", leased.task))?;
    expect(leased.lease.key == wanted.key, || format!("the lease is of {:?}", leased.lease.key))?;
    let seen = desk.task(&wanted.key).await?;
    expect(seen == wanted, || format!("the store says {seen:?}, not {wanted:?}"))
}

/// A worker gets tasks of the tools that it asked for, each with its agent, of its tenant, and no others.
pub async fn a_worker_gets_only_what_it_asked_for(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let owners =
        [("1", None, None), ("2", Some("sales"), Some("acme")), ("3", Some("sales"), None), ("4", None, Some("acme"))];
    for (name, agent, tenant) in owners {
        let (agent, tenant) = (agent.map(Into::into), tenant.map(Into::into));
        let head = HeadUpdate { agent, tenant, ..HeadUpdate::new(Status::AwaitingToolResults) };
        desk.open_of(name, head, vec![task(0, "mail"), task(1, "post"), task(2, "Mail")]).await?;
    }
    let acme = || Some("acme".into());
    let ask = |tools: &[(&str, &str)], tenant| LeaseRequest {
        tools: tools.iter().map(|(agent, tool)| (Arc::from(*agent), ToolName::new(*tool))).collect(),
        tenant,
        ..wants(&[], 100)
    };
    let cases = [
        (ask(&[], None), vec![]),
        (ask(&[("", "fax"), ("", "mai"), ("support", "mail")], None), vec![]),
        (ask(&[("sales", "mail")], Some("other".into())), vec![]),
        (ask(&[("sales", "post"), ("", "Mail")], acme()), vec!["2.1", "4.2"]),
        (ask(&[("sales", "mail")], None), vec!["2.0", "3.0"]),
        (ask(&[("", "mail"), ("", "mail"), ("sales", "mail")], None), vec!["1.0", "4.0"]),
        (ask(&[("", "post"), ("sales", "post")], None), vec!["1.1", "3.1", "4.1"]),
    ];
    for (request, wanted) in cases {
        let leased = must("lease", desk.store.tasks.lease(&request).await)?;
        let mut seen: Vec<_> = leased.iter().map(|task| (&task.lease.key.run, task.lease.key.index)).collect();
        seen.sort_unstable();
        let seen: Vec<String> = seen.into_iter().map(|(run, index)| format!("{run}.{index}")).collect();
        expect(seen == wanted, || format!("{request:?} got {seen:?}, not {wanted:?}"))?;
    }
    Ok(())
}

/// The task that was available first is leased first, and never more tasks than the limit.
pub async fn the_first_available_task_is_leased_first(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    // The last opened has the lowest place and name, so that no other order is the right one by chance.
    for (run, index) in [("c", 9), ("b", 5), ("a", 1)] {
        desk.open(run, vec![task(index, "mail")]).await?;
        desk.clock.advance_ms(10);
    }
    for (limit, wanted) in [(0, vec![]), (2, vec![9, 5]), (2, vec![1]), (2, vec![])] {
        let leased = indexes(&desk.lease(&["mail"], limit).await?);
        expect(leased == wanted, || format!("a limit of {limit} gave {leased:?}, not {wanted:?}"))?;
    }
    Ok(())
}

/// Limits and lengths that nobody can mean are cut to the largest that is allowed.
pub async fn leases_are_never_more_or_longer_than_allowed(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let tasks = (0..).take(LEASE_LIMIT_MAX + 10).map(|index| task(index, "mail")).collect();
    let run = desk.open("many", tasks).await?;
    let request = LeaseRequest { lease_ms: u64::MAX, ..wants(&["mail"], usize::MAX) };
    let leased = must("lease", desk.store.tasks.lease(&request).await)?;
    expect(leased.len() == LEASE_LIMIT_MAX, || format!("{} tasks were leased at once", leased.len()))?;
    let longest = desk.now().plus_ms(LEASE_MS_MAX);
    for task in &leased {
        let (_, until) = lease_of(&task.task)?;
        expect(until == longest, || format!("a lease lasts until {}, not {}", until.0, longest.0))?;
    }
    let Some(first) = leased.first() else { return Err("nothing was leased".to_owned()) };
    let forever = crate::Release::Retry { delay_ms: u64::MAX };
    must("release", desk.store.tasks.release(&first.lease, forever).await)?;
    desk.clock.advance_ms(LEASE_MS_MAX);
    let rest = desk.lease(&["mail"], usize::MAX).await?;
    expect(rest.len() == 10, || format!("{} tasks were left, not 10", rest.len()))?;
    let there = must("task", desk.store.tasks.find(&Scope::All, &key(&run, first.lease.key.index.0)).await)?;
    expect(there.is_some(), || "a task that waits for ever is gone".to_owned())
}

/// A task that somebody has is not leased to anybody else, also when the lease lapsed: what became of it must be decided.
pub async fn a_leased_task_is_not_leased_again(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    desk.open("once", vec![task(0, "mail")]).await?;
    desk.lease_one("mail").await?;
    desk.expect_none("mail", "while somebody has it").await?;
    desk.let_leases_lapse();
    desk.expect_none("mail", "after its lease lapsed").await
}

/// Many workers ask at once: every task goes to one of them.
pub async fn racing_workers_never_get_the_same_task(Fixture { store, clock, .. }: Fixture) -> Checked {
    const RUNS: usize = 10;
    const TASKS_PER_RUN: u32 = 10;
    let desk = Desk { store, clock };
    for run in 0..RUNS {
        let tasks = (0..TASKS_PER_RUN).map(|index| task(index, if index % 2 == 0 { "mail" } else { "post" }));
        desk.open(&run.to_string(), tasks.collect()).await?;
    }
    let barrier = Arc::new(tokio::sync::Barrier::new(WORKERS));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let (desk, barrier) =
                (Desk { store: desk.store.clone(), clock: Arc::clone(&desk.clock) }, Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                let mut got = Vec::new();
                loop {
                    let leased = desk.lease(&["mail", "post"], 3).await?;
                    if leased.is_empty() {
                        return Ok::<_, String>(got);
                    }
                    got.extend(leased.into_iter().map(|task| task.lease.key));
                }
            })
        })
        .collect();
    let mut leased = Vec::new();
    for worker in workers {
        leased.extend(must("a worker", worker.await)??);
    }
    // A worker may find nothing while others are still taking; nothing is left once they are done.
    leased.extend(desk.lease(&["mail", "post"], usize::MAX).await?.into_iter().map(|task| task.lease.key));
    let each: HashSet<&CallKey> = leased.iter().collect();
    expect(each.len() == leased.len(), || format!("{} tasks were leased twice", leased.len() - each.len()))?;
    let wanted = RUNS * TASKS_PER_RUN as usize;
    expect(each.len() == wanted, || format!("{} tasks were leased, not {wanted}", each.len()))
}

/// No lease lasts beyond the deadline of its task, neither at first nor when it is prolonged, and a task past its deadline
/// is not leased at all.
pub async fn a_lease_ends_at_the_deadline_of_its_task(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let deadline = desk.now().plus_ms(LEASE_MS + 500);
    let due = |index, tool| TaskOpening { deadline: Some(deadline), ..task(index, tool) };
    let run = desk.open("due", vec![due(0, "mail"), due(1, "post")]).await?;
    desk.clock.advance_ms(1_000);
    let leased = desk.lease_one("mail").await?;
    let (_, until) = lease_of(&leased.task)?;
    expect(until == deadline, || format!("the lease lasts until {}, not {}", until.0, deadline.0))?;
    desk.clock.advance_ms(1_000);
    desk.heartbeat(&leased.lease).await?;
    let (_, until) = lease_of(&desk.task(&key(&run, 0)).await?)?;
    expect(until == deadline, || format!("the lease was prolonged until {}, not {}", until.0, deadline.0))?;
    desk.clock.advance_ms(LEASE_MS);
    desk.expect_none("post", "after its deadline").await?;
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed == [0], || format!("after the deadline {lapsed:?} lapsed, not 0"))
}

/// Tasks are listed in the order of their opening, page by page, and filtered by tool and tenant.
pub async fn tasks_are_listed_in_pages(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    for number in (0..12).rev() {
        let tenant = Some(if number % 2 == 0 { "even".into() } else { "odd".into() });
        let head = HeadUpdate { tenant, ..HeadUpdate::new(Status::AwaitingToolResults) };
        let tool = if number % 3 == 0 { "mail" } else { "post" };
        desk.open_of(&format!("{number:02}"), head, vec![task(number, tool)]).await?;
    }
    desk.lease_one("mail").await?;
    let all = TaskFilter { limit: Some(2), ..TaskFilter::default() };
    let cases = [
        (all.clone(), vec![11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        (TaskFilter { tool: Some(ToolName::new("mail")), ..all.clone() }, vec![9, 6, 3, 0]),
        (TaskFilter { tenant: Some("odd".into()), ..all.clone() }, vec![11, 9, 7, 5, 3, 1]),
        (TaskFilter { tenant: Some("even".into()), tool: Some(ToolName::new("mail")), ..all.clone() }, vec![6, 0]),
        (TaskFilter { tenant: Some("nobody".into()), ..all }, vec![]),
    ];
    for (mut filter, wanted) in cases {
        let mut seen = Vec::new();
        loop {
            let page = must("tasks", desk.store.tasks.list(&filter).await)?;
            expect(page.items.len() <= 2, || format!("a page of 2 has {}", page.items.len()))?;
            for head in page.items {
                let there = must("task", desk.store.tasks.find(&Scope::All, &head.key).await)?;
                expect(there.as_ref() == Some(&head), || format!("{head:?} is listed, but the task is {there:?}"))?;
                seen.push(head.key.index.0);
            }
            match page.next {
                Some(next) => filter.cursor = Some(next),
                None => break,
            }
        }
        expect(seen == wanted, || format!("the list has {seen:?}, not {wanted:?}"))?;
    }
    for text in ["", "nonsense", "-1", "99999999999999999999999999", "18446744073709551615"] {
        let filter = TaskFilter { cursor: Some(crate::Cursor::new(text)), ..TaskFilter::default() };
        let listed = desk.store.tasks.list(&filter).await;
        let refused = matches!(listed, Err(crate::StoreError::InvalidCursor));
        expect(refused, || format!("the cursor `{text}` gave {listed:?}"))?;
    }
    let missing = must("task", desk.store.tasks.find(&Scope::All, &key(&RunId::new("00"), 7)).await)?;
    expect(missing.is_none(), || "a call without a task has one".to_owned())
}
