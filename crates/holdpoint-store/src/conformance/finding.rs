//! Rules about finding runs: lists and deadlines.

use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::{Checked, Fixture, START, append, create, expect, must, nameless, step};
use crate::{Cursor, DUE_LIMIT_MAX, HeadUpdate, LIST_LIMIT_MAX, RunFilter, Scope, Store, StoreError};

async fn names(store: &Store, filter: &RunFilter) -> Result<(Vec<String>, Option<Cursor>), String> {
    let page = must("list", store.runs.list(filter).await)?;
    Ok((page.items.iter().map(|head| head.run.to_string()).collect(), page.next))
}

async fn create_named(store: &Store, names: &[&str]) -> Checked {
    for name in names {
        create(store, &RunId::new(*name), HeadUpdate::new(Status::Running)).await?;
    }
    Ok(())
}

/// The last created run is the first of the list, even if an older one moved since. Listed heads are the true ones.
pub async fn lists_have_the_newest_first(Fixture { store, .. }: Fixture) -> Checked {
    let (empty, next) = names(&store, &RunFilter::default()).await?;
    expect(empty.is_empty() && next.is_none(), || format!("an empty store lists {empty:?}"))?;
    create_named(&store, &["b", "a", "c"]).await?;
    append(&store, &RunId::new("b"), Revision(1)).await?;
    let (seen, next) = names(&store, &RunFilter::default()).await?;
    expect(seen == ["c", "a", "b"], || format!("the list is {seen:?}, not c, a, b"))?;
    expect(next.is_none(), || "a whole list says that there is more".to_owned())?;
    for listed in must("list", store.runs.list(&RunFilter::default()).await)?.items {
        let head = must("head", store.runs.head(&Scope::All, &listed.run).await)?;
        expect(head.as_ref() == Some(&listed), || format!("{listed:?} is listed, but the head is {head:?}"))?;
    }
    Ok(())
}

/// Status, agent and tenant each leave out the others, and together leave out what any of them leaves out.
pub async fn lists_are_filtered(Fixture { store, .. }: Fixture) -> Checked {
    let runs = [
        ("1", Status::Running, Some("sales"), Some("acme")),
        ("2", Status::Finished, Some("sales"), Some("acme")),
        ("3", Status::Finished, Some("sales"), Some("other")),
        ("4", Status::Finished, Some("support"), Some("acme")),
        ("5", Status::Finished, None, None),
    ];
    for (name, status, agent, tenant) in runs {
        let (agent, tenant) = (agent.map(Into::into), tenant.map(Into::into));
        create(&store, &RunId::new(name), HeadUpdate { agent, tenant, ..HeadUpdate::new(status) }).await?;
    }
    let all = RunFilter::default;
    let cases = [
        (RunFilter { status: Some(Status::Finished), ..all() }, "5432"),
        (RunFilter { status: Some(Status::Cancelled), ..all() }, ""),
        (RunFilter { agent: Some("sales".into()), ..all() }, "321"),
        (RunFilter { tenant: Some("acme".into()), ..all() }, "421"),
        (RunFilter { agent: Some("sales".into()), tenant: Some("acme".into()), ..all() }, "21"),
        (RunFilter { agent: Some("sales".into()), status: Some(Status::Running), ..all() }, "1"),
        (RunFilter { tenant: Some("nobody".into()), ..all() }, ""),
    ];
    for (filter, wanted) in cases {
        let (seen, _) = names(&store, &filter).await?;
        expect(seen.concat() == wanted, || format!("{filter:?} lists {seen:?}, not {wanted}"))?;
    }
    Ok(())
}

/// Pages have the size that was asked for, cover every run once, and are not shifted by runs that appear meanwhile.
pub async fn lists_come_in_pages(Fixture { store, .. }: Fixture) -> Checked {
    for number in 0..LIST_LIMIT_MAX + 5 {
        let agent = if number % 2 == 0 { "even" } else { "odd" };
        let head = HeadUpdate { agent: Some(agent.into()), ..HeadUpdate::new(Status::Running) };
        create(&store, &RunId::new(format!("{number:04}")), head).await?;
    }
    let mut filter = RunFilter { agent: Some("even".into()), limit: Some(40), ..RunFilter::default() };
    let mut seen = Vec::new();
    loop {
        let (page, next) = names(&store, &filter).await?;
        expect(page.len() <= 40, || format!("a page of 40 has {}", page.len()))?;
        expect(page.len() == 40 || next.is_none(), || "a page is short and not the last".to_owned())?;
        seen.extend(page);
        let late = HeadUpdate { agent: Some("even".into()), ..HeadUpdate::new(Status::Running) };
        create(&store, &RunId::new(format!("late-{}", seen.len())), late).await?;
        match next {
            Some(cursor) => filter.cursor = Some(cursor),
            None => break,
        }
    }
    let evens = (0..LIST_LIMIT_MAX + 5).rev().filter(|number| number % 2 == 0);
    let wanted: Vec<String> = evens.map(|number| format!("{number:04}")).collect();
    expect(seen == wanted, || format!("the pages list {seen:?}"))?;
    for (limit, size) in [(Some(usize::MAX), LIST_LIMIT_MAX), (Some(0), 1), (None, crate::LIST_LIMIT_DEFAULT)] {
        let (page, next) = names(&store, &RunFilter { limit, ..RunFilter::default() }).await?;
        expect(page.len() == size && next.is_some(), || format!("a limit of {limit:?} gives {} runs", page.len()))?;
    }
    Ok(())
}

/// A cursor that no list gave is refused, never read as something else.
pub async fn a_cursor_of_nobody_is_refused(Fixture { store, .. }: Fixture) -> Checked {
    create_named(&store, &["only"]).await?;
    for text in ["", "nonsense", "-1", "99999999999999999999999999", "18446744073709551615"] {
        let filter = RunFilter { cursor: Some(Cursor::new(text)), ..RunFilter::default() };
        let listed = store.runs.list(&filter).await;
        let refused = matches!(listed, Err(StoreError::InvalidCursor));
        expect(refused, || format!("the cursor `{text}` gave {listed:?}"))?;
    }
    Ok(())
}

/// A run is due from its deadline on, the earliest first, until a commit moves the deadline or takes it away.
pub async fn deadlines_that_passed_are_due(Fixture { store, .. }: Fixture) -> Checked {
    let waits =
        |ms| HeadUpdate { deadline: Some(START.plus_ms(ms)), ..HeadUpdate::new(Status::AwaitingToolConfirmation) };
    for (name, ms) in [("late", 30), ("early", 10), ("middle", 20)] {
        create(&store, &RunId::new(name), waits(ms)).await?;
    }
    create_named(&store, &["never"]).await?;
    due_is(&store, Timestamp(START.plus_ms(10).0 - 1), "").await?;
    due_is(&store, START.plus_ms(10), "early").await?;
    due_is(&store, START.plus_ms(99), "early middle late").await?;
    let limited = must("due", store.runs.due(&nameless(), START.plus_ms(99), 2).await)?;
    expect(limited.len() == 2, || format!("a limit of 2 gives {limited:?}"))?;
    let all = must("due", store.runs.due(&nameless(), START.plus_ms(99), usize::MAX).await)?;
    expect(all.len() == 3 && DUE_LIMIT_MAX >= 3, || format!("no limit gives {all:?}"))?;

    let mut moved = step(&[b"moved"]);
    moved.head = waits(50);
    must("commit", store.runs.commit(&RunId::new("early"), Revision(1), moved).await)?;
    append(&store, &RunId::new("middle"), Revision(1)).await?;
    due_is(&store, START.plus_ms(49), "late").await?;
    due_is(&store, START.plus_ms(50), "late early").await
}

async fn due_is(store: &Store, at: Timestamp, wanted: &str) -> Checked {
    let due = must("due", store.runs.due(&nameless(), at, 10).await)?;
    let seen = due.iter().map(RunId::as_str).collect::<Vec<_>>().join(" ");
    expect(seen == wanted, || format!("at {} `{seen}` is due, not `{wanted}`", at.0))
}

/// Only runs of the agents that were asked for are due; the empty name stands for runs without an agent.
pub async fn only_runs_of_the_agents_are_due(Fixture { store, .. }: Fixture) -> Checked {
    for (name, agent, ms) in [("a", Some("sales"), 30), ("b", None, 20), ("c", Some("sales"), 10), ("d", Some("x"), 5)]
    {
        let deadline = Some(START.plus_ms(ms));
        let paused = HeadUpdate::new(Status::AwaitingToolConfirmation);
        create(&store, &RunId::new(name), HeadUpdate { agent: agent.map(Into::into), deadline, ..paused }).await?;
    }
    let cases: [(&[&str], usize, &str); 6] = [
        (&[], 10, ""),
        (&["sale", "Sales"], 10, ""),
        (&["sales"], 10, "ca"),
        (&[""], 10, "b"),
        (&["", "sales"], 10, "cba"),
        (&["", "sales"], 2, "cb"),
    ];
    for (agents, limit, wanted) in cases {
        let agents: Vec<Arc<str>> = agents.iter().map(|agent| Arc::from(*agent)).collect();
        let due = must("due", store.runs.due(&agents, START.plus_ms(99), limit).await)?;
        let seen = due.iter().map(RunId::as_str).collect::<String>();
        expect(seen == wanted, || format!("of {agents:?} `{seen}` is due, not `{wanted}`"))?;
    }
    Ok(())
}
