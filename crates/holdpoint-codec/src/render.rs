//! Events as streams and the API show them, told one after another.

use holdpoint_core::{LogEntry, Run};

use crate::view::{EventView, event_view};

/// Follows a run and tells its events as they are shown. Needed where a run may be ahead of the event that is told.
#[derive(Clone, Debug)]
pub struct Narrator {
    run: Run,
}

impl Narrator {
    /// Begins with a run as it was before the next event.
    pub fn new(run: Run) -> Self {
        Self { run }
    }

    /// The run as far as it was told.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Follows one entry and tells it.
    pub fn view(&mut self, entry: &LogEntry) -> EventView {
        self.run.apply(entry);
        event_view(entry, self.run.revision(), &self.run)
    }
}
