//! Leases as their holder knows them, and the one way in which a tool starts.
//!
//! A process may be suspended, or hear late that a request of its own was accepted. Meanwhile its lease lapses and another
//! process takes the run or the task over. So the holder counts each lease from before the request that made it was sent,
//! and looks at it once more right before the tool's own code runs.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_core::{ClockReading, LeaseTerm, RunId, Settlement};
use holdpoint_store::{Hold, LeaseClock, LeaseState, LeasedTask, Store, StoreError, TaskLease};
use holdpoint_tools::{Asking, Gate, Invocation, Unsettled, invoke_gated};

use crate::background::patience::Patience;

/// How often a start is tried whose lease lapsed between the check and the tool.
const START_TRIES_MAX: usize = 8;

/// The right to act on a run or a task for a while.
#[async_trait]
pub(crate) trait Lease: Send + Sync {
    /// Whether a tool may start now, by this process's own clocks.
    fn covers_start(&self) -> bool;

    /// Renews it in the store.
    async fn renew(&self) -> Result<LeaseState, StoreError>;
}

/// Why a tool did not start although its intent is durable.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// Another process has the run or the task.
    LeaseLost,
    /// The lease may have lapsed, and the store cannot say.
    Store(StoreError),
}

/// Starts one attempt whose intent is durable, under the lease that covers it.
///
/// # Errors
/// When the tool did not start.
pub(crate) async fn start_attempt(
    lease: &Arc<dyn Lease>,
    invocation: Invocation,
    asking: Asking,
) -> Result<Result<Settlement, Unsettled>, NotStarted> {
    let gate: Gate = {
        let lease = Arc::clone(lease);
        Arc::new(move || lease.covers_start())
    };
    for _ in 0..START_TRIES_MAX {
        ensure(&**lease).await?;
        match invoke_gated(&invocation, asking, Arc::clone(&gate)).await {
            Err(Unsettled::NotStarted) => {}
            ended => return Ok(ended),
        }
    }
    // Each renewal took longer than it lasts: nothing can be started under such a lease.
    Err(NotStarted::LeaseLost)
}

/// Renews a lease that may have lapsed. Tries again while the store is out of reach.
async fn ensure(lease: &dyn Lease) -> Result<(), NotStarted> {
    let mut patience = Patience::new();
    while !lease.covers_start() {
        match lease.renew().await {
            // A lease that is too short for its own renewal is noticed where tries are counted.
            Ok(LeaseState::Held) => return Ok(()),
            Ok(LeaseState::Lost) => return Err(NotStarted::LeaseLost),
            Err(error) if error.may_pass() => {
                if !patience.wait().await {
                    return Err(NotStarted::Store(error));
                }
            }
            Err(error) => return Err(NotStarted::Store(error)),
        }
    }
    Ok(())
}

/// How long a lease lasts, as its holder knows it. Nothing once it may be another's.
#[derive(Debug, Default)]
struct Term(Mutex<Option<LeaseTerm>>);

impl Term {
    fn set(&self, term: Option<LeaseTerm>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = term;
    }

    fn covers_start(&self, now: ClockReading) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|term| term.covers_start(now))
    }
}

/// The lease of a run that a driver holds. Its owner id is the driver's own, so that a takeover by the same process is
/// noticed as well.
pub(crate) struct RunLease {
    store: Store,
    clock: Arc<dyn LeaseClock>,
    run: RunId,
    hold: Hold,
    term: Term,
}

impl RunLease {
    pub(crate) fn new(store: &Store, clock: &Arc<dyn LeaseClock>, run: &RunId, hold: Hold) -> Self {
        let (store, clock) = (store.clone(), Arc::clone(clock));
        Self { store, clock, run: run.clone(), hold, term: Term::default() }
    }

    pub(crate) fn hold(&self) -> &Hold {
        &self.hold
    }

    /// The clocks before a request that sets the lease is sent.
    pub(crate) fn sending(&self) -> ClockReading {
        self.clock.read()
    }

    /// The store acknowledged a commit that sets the lease.
    pub(crate) fn committed(&self, sent: ClockReading) {
        self.term.set(Some(LeaseTerm::new(sent, self.hold.lease_ms)));
    }

    /// The lease must be renewed before anything starts under it.
    pub(crate) fn doubt(&self) {
        self.term.set(None);
    }

    /// Lets another process claim the run at once.
    pub(crate) async fn give_back(&self) -> Result<LeaseState, StoreError> {
        self.doubt();
        self.store.leases.renew(&self.run, &Hold { lease_ms: 0, ..self.hold.clone() }).await
    }
}

#[async_trait]
impl Lease for RunLease {
    fn covers_start(&self) -> bool {
        self.term.covers_start(self.clock.read())
    }

    async fn renew(&self) -> Result<LeaseState, StoreError> {
        let sent = self.sending();
        let state = self.store.leases.renew(&self.run, &self.hold).await?;
        match state {
            LeaseState::Held => self.committed(sent),
            LeaseState::Lost => self.doubt(),
        }
        Ok(state)
    }
}

/// The lease of a task that a worker holds. It ends with the deadline of the task, however often it is renewed.
pub(crate) struct TaskHold {
    store: Store,
    clock: Arc<dyn LeaseClock>,
    lease: TaskLease,
    lease_ms: u64,
    /// The clocks before the task was asked for.
    leased: ClockReading,
    /// The time from the lease to the deadline, by the clock of the store.
    deadline_in_us: Option<i64>,
    term: Term,
}

impl TaskHold {
    /// A task that the store gave to this worker for `lease_ms`. `sent` was read before it was asked for.
    pub(crate) fn new(
        store: &Store,
        clock: &Arc<dyn LeaseClock>,
        leased: &LeasedTask,
        lease_ms: u64,
        sent: ClockReading,
    ) -> Self {
        let since = leased.task.lease().map(|lease| lease.since);
        let deadline_in_us =
            leased.task.deadline.zip(since).map(|(deadline, since)| deadline.0.saturating_sub(since.0));
        let hold = Self {
            store: store.clone(),
            clock: Arc::clone(clock),
            lease: leased.lease.clone(),
            lease_ms,
            leased: sent,
            deadline_in_us,
            term: Term::default(),
        };
        hold.renewed(sent, LeaseState::Held);
        hold
    }

    /// The store answered a heartbeat that was sent then.
    pub(crate) fn renewed(&self, sent: ClockReading, state: LeaseState) {
        self.term.set(match state {
            LeaseState::Held => Some(LeaseTerm::new(sent, self.length_ms(sent))),
            LeaseState::Lost => None,
        });
    }

    /// How long a lease is that was asked for then.
    fn length_ms(&self, sent: ClockReading) -> u64 {
        let Some(deadline_in_us) = self.deadline_in_us else { return self.lease_ms };
        let left_us = deadline_in_us.saturating_sub(sent.us_since(self.leased));
        self.lease_ms.min(u64::try_from(left_us / 1_000).unwrap_or(0))
    }
}

#[async_trait]
impl Lease for TaskHold {
    fn covers_start(&self) -> bool {
        self.term.covers_start(self.clock.read())
    }

    async fn renew(&self) -> Result<LeaseState, StoreError> {
        let sent = self.clock.read();
        let states = self.store.tasks.heartbeat(std::slice::from_ref(&self.lease), self.lease_ms).await?;
        let state = states.first().copied().unwrap_or(LeaseState::Lost);
        self.renewed(sent, state);
        Ok(state)
    }
}
