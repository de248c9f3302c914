//! What was executed, in which order, and how much at once. It stands outside the process that a scenario crashes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts executions. Clones share their counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    shared: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    executed: Vec<String>,
    total: InFlight,
    per_tool: HashMap<String, InFlight>,
}

#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    now: u64,
    max: u64,
}

impl InFlight {
    fn enter(&mut self) {
        self.now += 1;
        self.max = self.max.max(self.now);
    }
}

impl Ledger {
    /// An execution of this tool begins. It ends when the guard is dropped.
    pub(crate) fn enter(&self, tool: &str) -> Execution {
        let mut counts = self.counts();
        let nth = counts.executed.iter().filter(|name| *name == tool).count();
        counts.executed.push(tool.to_owned());
        counts.total.enter();
        counts.per_tool.entry(tool.to_owned()).or_default().enter();
        Execution { ledger: self.clone(), tool: tool.to_owned(), nth }
    }

    /// The registered names of all executions, in the order in which they started.
    pub(crate) fn executed(&self) -> Vec<String> {
        self.counts().executed.clone()
    }

    /// The most executions at once.
    pub(crate) fn in_flight_max(&self) -> u64 {
        self.counts().total.max
    }

    /// The most executions at once of each tool.
    pub(crate) fn in_flight_max_of(&self) -> BTreeMap<String, u64> {
        self.counts().per_tool.iter().map(|(tool, in_flight)| (tool.clone(), in_flight.max)).collect()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running execution.
#[derive(Debug)]
pub(crate) struct Execution {
    ledger: Ledger,
    tool: String,
    nth: usize,
}

impl Execution {
    /// How many executions of this tool came before it.
    pub(crate) fn nth(&self) -> usize {
        self.nth
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        let mut counts = self.ledger.counts();
        counts.total.now -= 1;
        if let Some(in_flight) = counts.per_tool.get_mut(&self.tool) {
            in_flight.now -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_order_and_overlap() {
        let ledger = Ledger::default();
        let first = ledger.enter("a");
        let second = ledger.enter("b");
        drop(first);
        let third = ledger.enter("a");
        assert_eq!((second.nth(), third.nth()), (0, 1));
        assert_eq!(ledger.executed(), ["a", "b", "a"]);
        assert_eq!(ledger.in_flight_max(), 2);
        assert_eq!(ledger.in_flight_max_of()["a"], 1);
    }
}
