//! The queue follows the run: a call that was handed out has a task, and no other call has one.

use std::collections::BTreeMap;

use holdpoint_codec::receipt::ReceiptMaker;
use holdpoint_codec::tasks::encode_task;
use holdpoint_core::{Attempt, CallIndex, CallState, Run, Turn};
use holdpoint_store::{TaskChange, TaskGuard, TaskOpening};

/// A call of a run.
type Place = (Turn, CallIndex);

/// What must be true of tasks that are closed.
#[derive(Clone, Debug)]
pub(crate) struct Guards {
    /// Of these.
    pub(crate) of: Vec<(Place, TaskGuard)>,
    /// Of all others.
    pub(crate) others: TaskGuard,
}

impl Guards {
    /// Tasks are closed whoever has them.
    pub(crate) fn none() -> Self {
        Self { of: Vec::new(), others: TaskGuard::Any }
    }

    /// This task is closed only if this holds for it.
    pub(crate) fn only(place: Place, guard: TaskGuard) -> Self {
        Self { of: vec![(place, guard)], ..Self::none() }
    }

    /// Tasks are closed only if this holds for each.
    pub(crate) fn others(others: TaskGuard) -> Self {
        Self { of: Vec::new(), others }
    }
}

/// The calls that were out when the run was last durable.
#[derive(Debug)]
pub(super) struct Out {
    durable: BTreeMap<Place, Attempt>,
    guards: Guards,
}

impl Out {
    pub(super) fn new(run: &Run) -> Self {
        Self { durable: deferred(run), guards: Guards::none() }
    }

    pub(super) fn guard(&mut self, guards: Guards) {
        self.guards = guards;
    }

    /// The run is durable as it is.
    pub(super) fn committed(&mut self, run: &Run) {
        if !self.durable.is_empty() || run.tally().deferred > 0 {
            self.durable = deferred(run);
        }
        self.guards = Guards::none();
    }

    /// What the queue must learn with the run's next commit. Each task gets a receipt where receipts are made.
    pub(super) fn changes(&self, run: &Run, receipts: Option<ReceiptMaker<'_>>) -> Vec<TaskChange> {
        if self.durable.is_empty() && run.tally().deferred == 0 {
            return Vec::new();
        }
        let now = deferred(run);
        let closed = self.durable.iter().filter(|(place, attempt)| now.get(place) != Some(attempt));
        let closed = closed.map(|(place, _)| self.close(*place));
        let opened = now.iter().filter(|(place, attempt)| self.durable.get(place) != Some(attempt));
        let opened = opened.filter_map(|((_, index), attempt)| open(run, *index, *attempt, receipts));
        closed.chain(opened).collect()
    }

    fn close(&self, place: Place) -> TaskChange {
        let own = self.guards.of.iter().find(|(of, _)| *of == place);
        let guard = own.map_or(self.guards.others, |(_, guard)| *guard);
        TaskChange::Close { turn: place.0, index: place.1, guard }
    }
}

fn deferred(run: &Run) -> BTreeMap<Place, Attempt> {
    let calls = run.calls().iter().enumerate();
    let out = calls.filter_map(|(index, call)| match call.state {
        CallState::Deferred { attempt, .. } => Some(((run.turn(), CallIndex::from_usize(index)), attempt)),
        _ => None,
    });
    out.collect()
}

fn open(run: &Run, index: CallIndex, attempt: Attempt, receipts: Option<ReceiptMaker<'_>>) -> Option<TaskChange> {
    let call = run.call(index)?;
    let CallState::Deferred { deadline, .. } = call.state else { return None };
    let facts = call.tool.as_ref()?;
    let before = Attempt(attempt.0.saturating_sub(1));
    Some(TaskChange::Open(Box::new(TaskOpening {
        turn: run.turn(),
        index,
        tool: facts.name.clone(),
        attempts: before,
        attempts_max: Attempt(before.0.saturating_add(run.settings().max_task_attempts)),
        repeat: facts.repeat,
        deadline,
        body: encode_task(run, index, receipts)?,
    })))
}
