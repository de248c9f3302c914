//! Several stores on one file, as in several processes.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::common;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{create, lease_request, open, open_with_clock, opening, step};
use holdpoint_core::{CallIndex, Revision, RunId, Status, Timestamp, Turn};
use holdpoint_store::{
    ClaimRequest, Clock, CommitError, Hold, LeaseState, OwnerId, Release, Scope, Store, TaskChange, TaskCompletion,
    TaskGuard, Topic,
};
use tokio::time::timeout;

/// How long something that must happen may take. Only a broken store lets it pass.
const PATIENCE: Duration = Duration::from_secs(20);
const STORES: usize = 3;

async fn stores(path: &Path) -> Vec<Store> {
    let mut stores = Vec::new();
    for _ in 0..STORES {
        stores.push(open(path).await);
    }
    stores
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_commits_make_one_history() {
    const REVISIONS: u64 = 30;
    let folder = tempfile::tempdir().unwrap();
    let stores = stores(&folder.path().join("runs.db")).await;
    let run = RunId::new("raced");
    let mut racers = Vec::new();
    for (number, store) in stores.iter().enumerate() {
        let (store, run) = (store.clone(), run.clone());
        racers.push(tokio::spawn(async move {
            let (mut at, mut won) = (Revision(0), Vec::new());
            while at.0 < REVISIONS {
                let name = format!("{number}:{at}");
                match store.runs.commit(&run, at, step(&[name.as_bytes()], Status::Running)).await {
                    Ok(next) => {
                        won.push((next, name));
                        at = next;
                    }
                    Err(CommitError::Stale { current }) => at = current,
                    Err(error) => panic!("{error}"),
                }
            }
            won
        }));
    }
    let mut won = Vec::new();
    for racer in racers {
        won.extend(racer.await.unwrap());
    }
    won.sort();
    let records = stores[0].runs.load(&Scope::All, &run, Revision(0)).await.unwrap();
    let stored: Vec<_> =
        records.iter().map(|record| (record.seq, String::from_utf8(record.body.to_vec()).unwrap())).collect();
    assert_eq!(stored, won);
    assert_eq!(stored.len() as u64, REVISIONS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_leases_and_claims_give_each_thing_once() {
    const THINGS: u32 = 60;
    let folder = tempfile::tempdir().unwrap();
    let stores = stores(&folder.path().join("runs.db")).await;
    let mut opened = step(&[b"opened"], Status::AwaitingToolResults);
    opened.tasks = (0..THINGS).map(|index| opening(index, b"body")).collect();
    stores[0].runs.commit(&RunId::new("many-tasks"), Revision(0), opened).await.unwrap();
    for number in 0..THINGS {
        create(&stores[0], &format!("orphan-{number}"), Status::Running).await;
    }
    let mut takers = Vec::new();
    for store in &stores {
        let store = store.clone();
        takers.push(tokio::spawn(async move {
            let (mut tasks, mut runs) = (Vec::new(), Vec::new());
            let hold = Hold { owner: OwnerId::unique(), lease_ms: 60_000 };
            let request = ClaimRequest { hold, agents: vec!["support".into()], limit: 3 };
            loop {
                let leased = store.tasks.lease(&lease_request(2)).await.unwrap();
                let claimed = store.leases.claim(&request).await.unwrap();
                if leased.is_empty() && claimed.is_empty() {
                    return (tasks, runs);
                }
                for task in leased {
                    assert_eq!(
                        store.tasks.complete(&task.lease, b"done".to_vec()).await.unwrap(),
                        TaskCompletion::Stored
                    );
                    tasks.push(task.lease);
                }
                runs.extend(claimed);
            }
        }));
    }
    let (mut tasks, mut runs) = (Vec::new(), Vec::new());
    for taker in takers {
        let (leased, claimed) = taker.await.unwrap();
        tasks.extend(leased);
        runs.extend(claimed);
    }
    assert_eq!((tasks.len(), runs.len()), (THINGS as usize, THINGS as usize));
    assert_eq!(tasks.iter().map(|lease| lease.key.clone()).collect::<HashSet<_>>().len(), tasks.len());
    assert_eq!(runs.iter().collect::<HashSet<_>>().len(), runs.len());
    assert_eq!(stores[1].tasks.completed(&RunId::new("many-tasks")).await.unwrap().len(), tasks.len());
}

#[tokio::test]
async fn who_waits_hears_of_what_another_process_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let stores = stores(&folder.path().join("runs.db")).await;
    create(&stores[0], "run", Status::Running).await;
    let run = RunId::new("run");
    let (waiting, watched) = (stores[0].clone(), run.clone());
    let waiter = tokio::spawn(async move { waiting.runs.changed(&watched, Revision(1)).await });
    let mut tasks = stores[0].runs.watch(Topic::Tasks);
    let mut runs = stores[0].runs.watch(Topic::Runs);
    tokio::task::yield_now().await;

    let mut opened = step(&[b"next"], Status::AwaitingToolResults);
    opened.tasks = vec![opening(0, b"body")];
    stores[1].runs.commit(&run, Revision(1), opened).await.unwrap();
    assert_eq!(timeout(PATIENCE, waiter).await.unwrap().unwrap().unwrap(), Revision(2));
    timeout(PATIENCE, tasks.changed()).await.unwrap().unwrap();
    timeout(PATIENCE, runs.changed()).await.unwrap().unwrap();

    // And again, once nobody has waited for a while.
    drop((tasks, runs));
    let (waiting, watched) = (stores[0].clone(), run.clone());
    let waiter = tokio::spawn(async move { waiting.runs.changed(&watched, Revision(2)).await });
    stores[1].runs.commit(&run, Revision(2), step(&[b"more"], Status::Finished)).await.unwrap();
    assert_eq!(timeout(PATIENCE, waiter).await.unwrap().unwrap().unwrap(), Revision(3));
}

/// The clock of a process that was there before the machine's clock was set back: it is ahead, and knows it.
struct Ahead {
    by_ms: u64,
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        self.lease_moment().plus_ms(self.by_ms)
    }

    fn lease_moment(&self) -> Timestamp {
        Timestamp(1_800_000_000_000_000)
    }
}

#[tokio::test]
async fn a_process_that_is_ahead_of_another_leaves_its_leases_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let ahead = open_with_clock(&path, Arc::new(Ahead { by_ms: 3_600_000 })).await;
    let behind = open_with_clock(&path, Arc::new(Ahead { by_ms: 0 })).await;
    let hold = |store: &str| Hold { owner: OwnerId::new(store), lease_ms: 30_000 };
    let mut held = step(&[b"held"], Status::Running);
    held.hold = Some(hold("behind"));
    let run = RunId::new("held");
    behind.runs.commit(&run, Revision(0), held).await.unwrap();
    let mut opened = step(&[b"opened"], Status::AwaitingToolResults);
    opened.tasks = vec![opening(0, b"body")];
    let waiting = RunId::new("waiting");
    behind.runs.commit(&waiting, Revision(0), opened).await.unwrap();
    let leased = behind.tasks.lease(&lease_request(1)).await.unwrap().remove(0);

    let agents = vec!["support".into()];
    let claim = ClaimRequest { hold: hold("ahead"), agents: agents.clone(), limit: 9 };
    assert_eq!(ahead.leases.claim(&claim).await.unwrap(), [], "the run is held");
    assert_eq!(ahead.tasks.lapsed(&agents, 9).await.unwrap(), [], "the task is leased");
    let given_back = ahead.tasks.release(&leased.lease, Release::Lapsed { delay_ms: 0 }).await.unwrap();
    assert_eq!(given_back, LeaseState::Lost, "the task is leased");
    let mut closed = step(&[b"closed"], Status::Running);
    let guard = TaskGuard::Lapsed(leased.lease.fence);
    closed.tasks = vec![TaskChange::Close { turn: Turn(1), index: CallIndex(0), guard }];
    let closed = ahead.runs.commit(&waiting, Revision(1), closed).await;
    assert!(matches!(closed, Err(CommitError::LeaseLost)), "{closed:?}");
    assert_eq!(behind.leases.renew(&run, &hold("behind")).await.unwrap(), LeaseState::Held);
    assert_eq!(behind.tasks.complete(&leased.lease, b"done".to_vec()).await.unwrap(), TaskCompletion::Stored);
}

/// The same process frees what it left behind itself: its own leases are no longer than those of others.
#[tokio::test]
async fn a_process_that_is_ahead_makes_leases_that_lapse_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let ahead = open_with_clock(&path, Arc::new(Ahead { by_ms: 3_600_000 })).await;
    let later = open_with_clock(&path, Arc::new(Later)).await;
    let agents: Vec<Arc<str>> = vec!["support".into()];
    let hold = |owner: &str| Hold { owner: OwnerId::new(owner), lease_ms: 30_000 };
    let mut held = step(&[b"held"], Status::Running);
    held.hold = Some(hold("dead"));
    ahead.runs.commit(&RunId::new("held"), Revision(0), held).await.unwrap();
    ahead.runs.commit(&RunId::new("left"), Revision(0), step(&[b"left"], Status::Running)).await.unwrap();
    let mut opened = step(&[b"opened"], Status::AwaitingToolResults);
    opened.tasks = vec![opening(0, b"body")];
    ahead.runs.commit(&RunId::new("waiting"), Revision(0), opened).await.unwrap();
    let leased = ahead.tasks.lease(&lease_request(1)).await.unwrap().remove(0);
    assert_eq!(ahead.leases.overlong(&agents, 9).await.unwrap(), []);

    let claim = |owner: &str| ClaimRequest { hold: hold(owner), agents: agents.clone(), limit: 9 };
    assert_eq!(ahead.leases.claim(&claim("one")).await.unwrap(), [RunId::new("left")], "nobody holds it");
    assert_eq!(later.leases.claim(&claim("two")).await.unwrap().len(), 2, "both leases have lapsed");
    let lapsed = later.tasks.lapsed(&agents, 9).await.unwrap();
    assert_eq!(lapsed.iter().map(|task| &task.key).collect::<Vec<_>>(), [&leased.lease.key]);
}

/// A process that started after the clock was set back, much later.
struct Later;

impl Clock for Later {
    fn now(&self) -> Timestamp {
        Ahead { by_ms: 0 }.now().plus_ms(70_000)
    }
}
