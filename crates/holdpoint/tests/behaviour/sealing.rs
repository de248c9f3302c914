//! The keeper seals the audit log, and whoever verifies it finds it whole.

use crate::common;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Counter, PATIENCE, by_name, echo};
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::{Actor, Agent, Keeper, RunId, RunRequest, open_store};
use holdpoint_store::audit::{VerifyRequest, verify};
use holdpoint_store::{AuditLogLayer, Layer, MemoryStore, Seal, Store, StoreError, StoreFault, Unsealed};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const SOON: Duration = Duration::from_millis(20);
/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);

fn agent(store: &Store) -> Agent {
    let replies = (0..40).flat_map(|_| [ScriptedReply::call("w", "work", "{}"), ScriptedReply::text("done")]);
    let builder = Agent::builder().model(ScriptedModel::new(replies.collect())).policy(by_name());
    builder.tool(echo("work", &Counter::default())).store(store.clone()).build().unwrap()
}

async fn run_of(agent: &Agent, tenant: Option<&str>) -> RunId {
    let actor = Actor { tenant: tenant.map(Into::into), ..Actor::default() };
    agent.chat(RunRequest::new("go").by(actor)).await.unwrap().run_id().clone()
}

/// A keeper that runs.
struct Kept {
    stop: CancellationToken,
    keeper: JoinHandle<()>,
}

fn keep(agent: &Agent, change: impl FnOnce(Keeper) -> Keeper) -> Kept {
    let stop = CancellationToken::new();
    let keeper = change(Keeper::new(agent.runner()).poll(SOON));
    Kept { stop: stop.clone(), keeper: tokio::spawn(keeper.run(stop)) }
}

async fn stopped(kept: Kept) {
    kept.stop.cancel();
    tokio::time::timeout(PATIENCE, kept.keeper).await.expect("it stops").unwrap();
}

/// Tells whenever it was sealed. Cannot be sealed the first few times.
struct Telling {
    inner: Store,
    failures: AtomicU32,
    told: Arc<Notify>,
}

impl Layer for Telling {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait::async_trait]
impl AuditLogLayer for Telling {
    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        self.inner.audit.unsealed().await
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        let left = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() {
            return Err(StoreError::fault(StoreFault::Unavailable, "seal", "the line is down"));
        }
        let sealed = self.inner.audit.seal(tenant).await;
        self.told.notify_waiters();
        sealed
    }
}

/// A store that cannot be sealed so many times, and then tells whenever it was.
fn telling(inner: impl Into<Store>, failures: u32, told: &Arc<Notify>) -> Store {
    let inner = inner.into();
    let layer = Telling { inner: inner.clone(), failures: AtomicU32::new(failures), told: Arc::clone(told) };
    Store { audit: Arc::new(layer), ..inner }
}

async fn until_sealed(store: &Store, told: &Notify) {
    let waiting = async {
        loop {
            let mut next = pin!(told.notified());
            next.as_mut().enable();
            if store.audit.unsealed().await.unwrap().is_empty() {
                return;
            }
            next.await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it is sealed");
}

/// The runs that seals of a tenant name, each as often as it is named.
async fn sealed(store: &Store, tenant: Option<&str>) -> Vec<RunId> {
    let seals = store.audit.seals(tenant, 0, usize::MAX).await.unwrap();
    seals.into_iter().flat_map(|seal| seal.runs).map(|sealed| sealed.run).collect()
}

async fn expect_whole(store: &Store) {
    assert_eq!(verify(store, &VerifyRequest::default(), &mut |_| {}).await.unwrap().findings, []);
}

#[tokio::test]
async fn a_keeper_seals_what_moved_of_every_tenant() {
    let told = Arc::new(Notify::new());
    let store = telling(MemoryStore::new(), 0, &told);
    let agent = agent(&store);
    let keeper = keep(&agent, |keeper| keeper.seal_every(SOON));
    let acme = run_of(&agent, Some("acme")).await;
    let nobody = run_of(&agent, None).await;
    until_sealed(&store, &told).await;
    assert_eq!(sealed(&store, Some("acme")).await.last(), Some(&acme));
    assert_eq!(sealed(&store, None).await.last(), Some(&nobody));
    stopped(keeper).await;
    expect_whole(&store).await;
}

#[tokio::test]
async fn a_keeper_seals_what_is_left_when_it_stops() {
    let told = Arc::new(Notify::new());
    let store = telling(MemoryStore::new(), 0, &told);
    let agent = agent(&store);
    run_of(&agent, Some("acme")).await;
    let keeper = keep(&agent, |keeper| keeper.seal_every(NEVER));
    until_sealed(&store, &told).await;
    let late = run_of(&agent, Some("acme")).await;
    assert!(!sealed(&store, Some("acme")).await.contains(&late), "it is not yet time");
    stopped(keeper).await;
    assert!(sealed(&store, Some("acme")).await.contains(&late));
    expect_whole(&store).await;
}

#[tokio::test]
async fn keepers_of_several_processes_make_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("runs.db").display());
    let (mut keepers, told) = (Vec::new(), Arc::new(Notify::new()));
    for _ in 0..3 {
        let agent = agent(&telling(open_store(&url).await.unwrap(), 0, &told));
        keepers.push(keep(&agent, |keeper| keeper.seal_every(SOON)));
    }
    let store = open_store(&url).await.unwrap();
    let agent = agent(&store);
    let mut runs = Vec::new();
    for number in 0..20 {
        runs.push(run_of(&agent, (number % 2 == 0).then_some("acme")).await);
    }
    until_sealed(&store, &told).await;
    for keeper in keepers {
        stopped(keeper).await;
    }
    let (acme, nobody) = (sealed(&store, Some("acme")).await, sealed(&store, None).await);
    assert!(runs.iter().all(|run| acme.contains(run) || nobody.contains(run)));
    expect_whole(&store).await;
}

#[tokio::test]
async fn a_tenant_that_somebody_sealed_just_now_is_left_alone() {
    let store = Store::from(MemoryStore::new());
    let agent = agent(&store);
    run_of(&agent, None).await;
    store.audit.seal(None).await.unwrap().unwrap();
    run_of(&agent, None).await;
    let stop = CancellationToken::new();
    let looking = Keeper::new(agent.runner()).poll(SOON).seal_every(NEVER).run(stop.clone());
    // Dropped, so that it does not seal at its end.
    let _ = tokio::time::timeout(SOON * 3, looking).await;
    assert_eq!(store.audit.seals(None, 0, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_keeper_that_is_told_not_to_seal_does_not() {
    let store = Store::from(MemoryStore::new());
    let agent = agent(&store);
    run_of(&agent, None).await;
    stopped(keep(&agent, Keeper::seal_never)).await;
    assert_eq!(store.audit.seals(None, 0, 10).await.unwrap(), []);
}

#[tokio::test]
async fn a_store_that_was_out_of_reach_is_sealed_afterwards() {
    let told = Arc::new(Notify::new());
    let store = telling(MemoryStore::new(), 3, &told);
    let agent = agent(&store);
    run_of(&agent, Some("acme")).await;
    let keeper = keep(&agent, |keeper| keeper.seal_every(SOON));
    until_sealed(&store, &told).await;
    stopped(keeper).await;
    expect_whole(&store).await;
}
