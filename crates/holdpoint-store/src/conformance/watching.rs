//! Rules about being woken when there is something to do.

use holdpoint_core::{Revision, RunId, Status};
use tokio::sync::watch;
use tokio::time::timeout;

use super::desk::{Desk, opens, task};
use super::{Checked, Fixture, PATIENCE, must};
use crate::{HeadUpdate, Release, Topic, Transition};

/// Something must change, soon.
async fn expect_woken(watched: &mut watch::Receiver<u64>, when: &str) -> Checked {
    let woken = timeout(PATIENCE, watched.changed()).await.map_err(|_| format!("nobody was woken when {when}"))?;
    must("watching", woken)?;
    watched.mark_unchanged();
    Ok(())
}

/// Who waits for tasks is woken when one is opened and when one is given back.
pub async fn a_task_wakes_those_who_wait_for_tasks(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open("quiet", Vec::new()).await?;
    for at in 1..5 {
        let mut watched = desk.store.runs.watch(Topic::Tasks);
        let opening = desk.step(vec![opens(task(u32::try_from(at).unwrap_or_default(), "mail"))]);
        must("commit", desk.store.runs.commit(&run, Revision(at), opening).await)?;
        expect_woken(&mut watched, "a task was opened").await?;
    }
    let leased = desk.lease_one("mail").await?;
    let mut watched = desk.store.runs.watch(Topic::Tasks);
    must("release", desk.store.tasks.release(&leased.lease, Release::Unstarted).await)?;
    expect_woken(&mut watched, "a task was given back").await
}

/// Who waits for runs is woken by a run that goes on in nobody's hands.
pub async fn a_free_run_wakes_those_who_wait_for_runs(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = RunId::new("free");
    for at in 0..4 {
        let mut watched = desk.store.runs.watch(Topic::Runs);
        let step = Transition::new(vec![b"step".to_vec()], HeadUpdate::new(Status::Running), desk.now());
        must("commit", desk.store.runs.commit(&run, Revision(at), step).await)?;
        expect_woken(&mut watched, "a run went on without a holder").await?;
    }
    Ok(())
}

/// Who waits for runs is woken by a result, and by the pause of a run that has one.
pub async fn a_result_wakes_those_who_wait_for_runs(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let run = desk.open_of("busy", HeadUpdate::new(Status::Running), vec![task(0, "mail")]).await?;
    let leased = desk.lease_one("mail").await?;
    let mut watched = desk.store.runs.watch(Topic::Runs);
    desk.deliver(&leased.lease, b"done").await?;
    expect_woken(&mut watched, "a result was delivered").await?;
    let mut watched = desk.store.runs.watch(Topic::Runs);
    must("commit", desk.store.runs.commit(&run, Revision(1), desk.step(Vec::new())).await)?;
    expect_woken(&mut watched, "a run with a result paused").await
}
