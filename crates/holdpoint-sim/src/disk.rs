//! What bystanders know of each log: every record that became durable, as it read back.

use holdpoint_codec::new_run;
use holdpoint_core::{LogEntry, Revision, Run, RunId};

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

impl Disk {
    pub(crate) fn add(&mut self, run: RunId, history: History) -> Slot {
        self.logs.push(Log { records: Vec::new(), shadow: new_run(run), history });
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

    /// These records became durable. Returns the entries that they are.
    pub(crate) fn append(&mut self, slot: Slot, records: Vec<stored::Record>) -> Vec<LogEntry> {
        let log = &mut self.logs[slot.0];
        let mut written = Vec::with_capacity(records.len());
        for record in records {
            let entry = stored::read(&record);
            log.shadow.apply(&entry);
            log.records.push(record);
            written.push(entry);
        }
        written
    }
}

impl Log {
    pub(crate) fn revision(&self) -> Revision {
        Revision(self.records.len() as u64)
    }

    pub(crate) fn records(&self) -> &[stored::Record] {
        &self.records
    }

    pub(crate) fn run(&self) -> &Run {
        &self.shadow
    }

    /// Reads the first records and makes a run of them.
    pub(crate) fn rebuilt(&self, at: Revision) -> Run {
        let count = usize::try_from(at.0).unwrap_or(usize::MAX);
        self.run_of(self.records.iter().take(count))
    }

    /// Makes a run of records of this log.
    pub(crate) fn run_of<'a>(&self, records: impl Iterator<Item = &'a stored::Record>) -> Run {
        let mut run = new_run(self.shadow.id().clone());
        records.for_each(|record| run.apply(&stored::read(record)));
        run
    }
}
