//! Rules about waiting for a run to move.

use holdpoint_core::{Revision, RunId, Status};
use tokio::time::timeout;

use super::{Checked, Fixture, PATIENCE, append, create, expect, must};
use crate::HeadUpdate;

/// What happened already need not be waited for.
pub async fn waiting_for_the_past_is_over_at_once(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("past");
    create(&store, &run, HeadUpdate::new(Status::Running)).await?;
    append(&store, &run, Revision(1)).await?;
    for after in [0, 1] {
        let waited = must("waiting", timeout(PATIENCE, store.runs.changed(&run, Revision(after))).await)?;
        let revision = must("changed", waited)?;
        expect(revision == Revision(2), || format!("waiting after {after} gave {revision}, not 2"))?;
    }
    Ok(())
}

/// Who waits hears of the next commit of that run, not of those of others, whether it came before or after the wait began.
pub async fn waiting_ends_at_the_next_commit(Fixture { store, .. }: Fixture) -> Checked {
    let (run, other) = (RunId::new("watched"), RunId::new("not-watched"));
    create(&store, &run, HeadUpdate::new(Status::Running)).await?;
    create(&store, &other, HeadUpdate::new(Status::Running)).await?;
    for seen in 1..20 {
        let (waiting, watched) = (store.clone(), run.clone());
        let waiter = tokio::spawn(async move { waiting.runs.changed(&watched, Revision(seen)).await });
        if seen % 2 == 0 {
            tokio::task::yield_now().await;
        }
        append(&store, &other, Revision(seen)).await?;
        expect(!waiter.is_finished(), || format!("waiting after {seen} ended before the run moved"))?;
        append(&store, &run, Revision(seen)).await?;
        let waited = must("waiting", timeout(PATIENCE, waiter).await)?;
        let revision = must("changed", must("the waiter", waited)?)?;
        expect(revision == Revision(seen + 1), || format!("waiting after {seen} gave {revision}"))?;
    }
    Ok(())
}

/// One commit wakes all who wait for the run.
pub async fn everybody_who_waits_is_woken(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("popular");
    create(&store, &run, HeadUpdate::new(Status::Running)).await?;
    let waiters: Vec<_> = (0..20)
        .map(|_| {
            let (waiting, watched) = (store.clone(), run.clone());
            tokio::spawn(async move { waiting.runs.changed(&watched, Revision(1)).await })
        })
        .collect();
    tokio::task::yield_now().await;
    append(&store, &run, Revision(1)).await?;
    for waiter in waiters {
        let waited = must("waiting", timeout(PATIENCE, waiter).await)?;
        let revision = must("changed", must("a waiter", waited)?)?;
        expect(revision == Revision(2), || format!("a waiter was told {revision}, not 2"))?;
    }
    Ok(())
}
