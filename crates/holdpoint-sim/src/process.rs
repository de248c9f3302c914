//! A process that holds a run: the machine, and what the driver around it remembers.

use std::collections::VecDeque;

use holdpoint_core::{CallIndex, ClockReading, ContinuationId, Input, LeaseTerm, Run, TaskLate};

use holdpoint_store::Hold;

use crate::checks::Answer;
use crate::disk::Slot;
use crate::machine::Machine;
use crate::mistake::Mistake;
use crate::transition::Guards;

/// One process, which may die at any moment.
pub(crate) struct Process {
    pub(crate) id: ProcessId,
    pub(crate) slot: Slot,
    pub(crate) machine: Machine,
    /// What it was opened for, until that is durable: decided again when somebody else was faster.
    pub(crate) origin: Option<Opening>,
    /// The continuations that the outbox uses.
    pub(crate) uses: Vec<ContinuationId>,
    /// The answers that are in the outbox.
    pub(crate) answers: Vec<Answer>,
    /// What must be true of the tasks that the next commit closes.
    pub(crate) guards: Guards,
    /// Results of tools that are not durable yet.
    pub(crate) unsaved: Vec<TaskLate>,
    /// How far its wall clock is from the store's.
    pub(crate) wall_offset_us: i64,
    /// Its lease. Nothing while it must ask the store first.
    pub(crate) term: Option<LeaseTerm>,
    /// What its clocks showed when it sent a commit whose outcome it does not know yet.
    pub(crate) sent: Option<ClockReading>,
    /// The call of the model that it waits for.
    pub(crate) model_call: Option<u64>,
    /// Whether it waits for policy.
    pub(crate) is_authorizing: bool,
    pub(crate) executor: Option<Executor>,
}

/// Which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ProcessId(pub(crate) u32);

/// An input for which a process loads a run.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) slot: Slot,
    pub(crate) input: Input,
    /// What must be true of the tasks that its first commit closes.
    pub(crate) guards: Guards,
    pub(crate) tries: u32,
    /// The claim under which a run is taken over. Nothing for one whose process is known to be dead.
    pub(crate) claim: Option<Hold>,
}

/// An executor at work: calls that wait for their turn, and those whose end it awaits.
pub(crate) struct Executor {
    pub(crate) batch: Vec<CallIndex>,
    pub(crate) waiting: VecDeque<CallIndex>,
    pub(crate) open: Vec<CallIndex>,
    pub(crate) limit: usize,
}

impl Process {
    pub(crate) fn new(id: ProcessId, run: Run, opening: Opening, mistake: Option<Mistake>) -> Self {
        Self {
            id,
            slot: opening.slot,
            machine: Machine::new(run, mistake),
            guards: opening.guards.clone(),
            origin: Some(opening),
            uses: Vec::new(),
            answers: Vec::new(),
            unsaved: Vec::new(),
            wall_offset_us: 0,
            term: None,
            sent: None,
            model_call: None,
            is_authorizing: false,
            executor: None,
        }
    }

    pub(crate) fn run(&self) -> &Run {
        self.machine.run()
    }
}

impl Executor {
    pub(crate) fn close(&mut self, call: CallIndex) {
        self.open.retain(|open| *open != call);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.open.is_empty() && self.waiting.is_empty()
    }
}
