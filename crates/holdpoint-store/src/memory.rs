//! Runs in the memory of this process. They end with it.

mod entry;
mod log;
mod table;
#[cfg(test)]
mod tests;
mod waiters;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};

use crate::{
    Clock, CommitError, DUE_LIMIT_MAX, Head, Record, RunFilter, RunPage, Store, StoreError, SystemClock, Transition,
};
use table::{Moved, Table};

/// The store without a disk: for programs that need nothing after they ended, and for tests.
///
/// One lock guards it all; what happens under it is a look-up and a copy of what is new. A run takes one buffer for all
/// its records and a fixed part of well under 250 bytes; a run that is not running has no spare room in its buffer.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
}

impl MemoryStore {
    /// An empty store by the clock of the machine.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock::new()))
    }

    /// An empty store by another clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Mutex::default() }
    }

    /// The bytes that this run takes: its buffer with all spare room, its fixed part, its name, and its share of the
    /// tables with their spare room. Counted from sizes and capacities; what the allocator adds is not seen. The names of
    /// agents and tenants are kept once for all runs and not counted.
    pub fn bytes_held(&self, run: &RunId) -> Option<usize> {
        self.table().bytes_held(run)
    }

    /// The bytes that all commits so far wrote: grows with what is new, never with what is already there.
    pub fn bytes_written(&self) -> u64 {
        self.table().bytes_written()
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.table().len()
    }

    /// Nothing that can panic runs between two changes that belong together, so a poisoned table is still whole.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} runs)", self.runs())
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        transition.check(run).map_err(CommitError::Invalid)?;
        self.table().commit(run, at, &transition)
    }

    async fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.table().load(run, after)
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        Ok(self.table().head(run))
    }

    async fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        self.table().list(filter)
    }

    async fn due(&self, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        Ok(self.table().due(at, limit.min(DUE_LIMIT_MAX)))
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        loop {
            let waiter = match self.table().moved(run, after)? {
                Moved::To(revision) => return Ok(revision),
                Moved::NotYet(waiter) => waiter,
            };
            waiter.woken().await;
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
