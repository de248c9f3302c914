//! Runs in the memory of this process. They end with it. Each role is implemented beside the table that it uses.

mod approvals;
mod audit_log;
mod entry;
mod grants;
mod indexed;
mod log;
mod owners;
mod run_leases;
mod run_log;
mod runs;
mod server_state;
mod sessions;
mod table;
mod task_queue;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_core::RunId;

use crate::{Clock, Notifier, SystemClock};
use table::Table;

/// The store without a disk: for programs that need nothing after they ended, and for tests.
///
/// One lock guards it all; what happens under it is a look-up and a copy of what is new. A run takes one buffer for all
/// its records and a fixed part of well under 250 bytes; a run that is not running has no spare room in its buffer.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
    notifier: Notifier<RunId>,
}

impl MemoryStore {
    /// An empty store by the clock of the machine.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock::new()))
    }

    /// An empty store by another clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Mutex::default(), notifier: Notifier::new() }
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.table().runs.len()
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
