//! The lease of a dead process on a store whose clock was set back.

use holdpoint_store::{Agents, Layer, OverlongLease, RunLeasesLayer, StoreError};

use super::*;

/// A process died, and then the store's clock was set back by an hour. Its run goes on once another process has seen the
/// lease unchanged for its own length, and not before.
#[tokio::test]
async fn a_dead_process_keeps_its_run_no_longer_than_a_lease_after_the_clock_was_set_back() {
    let world = World::new();
    let agent = world.suspended();
    assert!(world.store.dies(AFTER_INTENT, agent.chat(request())).await.is_none());
    world.clock.set_back_ms(3_600_000);

    let observer = Arc::new(ManualLeaseClock::new(ClockReading { boot_us: 0, wall_us: 0 }));
    let looks = Arc::new(Counting { inner: world.inner.clone(), looks: Counter::default() });
    let other = world.builder().store(looks.store()).lease_clock(Arc::clone(&observer) as _);
    let other = other.build().unwrap();
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(Keeper::new(other.runner()).poll(Duration::from_millis(5)).run(stop.clone()));
    looks.looks.reached(3).await;
    observer.advance(29_000, 0);
    let so_far = looks.looks.count();
    looks.looks.reached(so_far + 3).await;
    assert_eq!(other.runner().result(&run_id()).await.unwrap().status(), Status::Running);
    observer.advance(1_000, 0);
    let asked = until(&other, &run_id(), |result| result.status() == Status::AwaitingToolConfirmation).await;
    assert!(asked.pending()[0].is_uncertain());
    assert_eq!(world.effects.count(), 0);
    stop.cancel();
    keeper.await.unwrap();
}

/// Counts how often somebody looks for overlong leases.
struct Counting {
    inner: Store,
    looks: Counter,
}

impl Layer for Counting {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait::async_trait]
impl RunLeasesLayer for Counting {
    async fn overlong(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError> {
        let found = self.inner.leases.overlong(agents, limit).await;
        self.looks.add();
        found
    }
}

impl Counting {
    fn store(self: &Arc<Self>) -> Store {
        Store { leases: Arc::clone(self) as _, ..self.inner.clone() }
    }
}
