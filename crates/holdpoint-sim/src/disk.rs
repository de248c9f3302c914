//! What survives a crash: the encoded events of each run, with a compare-and-swap commit.

use holdpoint_core::planted::{self, Bug};
use holdpoint_core::{Event, Revision, Run, RunId};

use crate::history::History;
use crate::stored;

/// Where a log is. A run that was imported elsewhere has a second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) usize);

/// Every log.
#[derive(Default)]
pub(crate) struct Disk {
    logs: Vec<Log>,
}

/// The log of one run.
pub(crate) struct Log {
    records: Vec<stored::Record>,
    /// What the records amount to, read back from them: loading a run is copying it.
    shadow: Run,
    /// What the checkers make of the same records.
    pub(crate) history: History,
}

/// The log went on without the committer.
pub(crate) struct Stale;

impl Disk {
    pub(crate) fn add(&mut self, run: RunId, history: History) -> Slot {
        self.logs.push(Log { records: Vec::new(), shadow: Run::new(run), history });
        Slot(self.logs.len() - 1)
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.logs.len()).map(Slot)
    }

    pub(crate) fn log(&self, slot: Slot) -> &Log {
        &self.logs[slot.0]
    }

    pub(crate) fn log_mut(&mut self, slot: Slot) -> &mut Log {
        &mut self.logs[slot.0]
    }

    /// Writes all of it or nothing. Returns the events as they read back.
    pub(crate) fn commit(&mut self, slot: Slot, at: Revision, events: &[Event]) -> Result<Vec<Event>, Stale> {
        let log = &mut self.logs[slot.0];
        if log.revision() != at && !planted::active(Bug::MergeStale) {
            return Err(Stale);
        }
        let mut written = Vec::with_capacity(events.len());
        for event in events {
            let record = stored::write(event);
            let event = stored::read(&record);
            log.shadow.apply(&event);
            log.records.push(record);
            written.push(event);
        }
        Ok(written)
    }
}

impl Log {
    pub(crate) fn revision(&self) -> Revision {
        Revision(self.records.len() as u64)
    }

    pub(crate) fn run(&self) -> &Run {
        &self.shadow
    }

    /// Reads the first records and makes a run of them.
    pub(crate) fn rebuilt(&self, at: Revision) -> Run {
        let mut run = Run::new(self.shadow.id().clone());
        let count = usize::try_from(at.0).unwrap_or(usize::MAX);
        for record in self.records.iter().take(count) {
            run.apply(&stored::read(record));
        }
        run
    }
}
