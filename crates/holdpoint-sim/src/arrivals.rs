//! What is on its way. Arrivals are picked in any order, and some come twice or never.

use holdpoint_core::{Authorized, CallIndex, CallState, Cancelled, Event, Input, Returned, Turn, Unfinished};

use crate::disk::Slot;
use crate::process::{Opening, Process, ProcessId};
use crate::tools;
use crate::transition::Guards;
use crate::workers::Errand;
use crate::world::{Faults, World};

/// Something on its way.
#[derive(Clone)]
pub(crate) enum Arrival {
    /// Somebody wants something of a run: a process loads it.
    Open(Opening),
    /// A worker goes on, if it still lives then.
    Work(Errand),
    /// Something for a process, if it still lives then.
    To(ProcessId, Word),
}

/// What a process hears.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    /// The model's answer to the call with this number.
    Reply { serial: u64, input: Box<Input> },
    /// Policy's answer.
    Decided { turn: Turn, authorized: Authorized },
    /// The executor comes to a call.
    Turn(CallIndex),
    /// A tool ended.
    Returned { slot: Slot, turn: Turn, returned: Box<Returned> },
    /// A tool was started and has no result.
    Unfinished { turn: Turn, unfinished: Unfinished },
    /// It may go on with what it heard.
    Drive,
    /// Somebody wants it to stop.
    Cancel,
}

impl World {
    /// Delivers one of them.
    pub(crate) fn deliver(&mut self) {
        if self.arrivals.is_empty() {
            return;
        }
        let arrival = match self.faults {
            Faults::On => {
                let place = self.random.below(self.arrivals.len());
                self.arrivals.swap_remove(place)
            }
            Faults::Off => self.arrivals.remove(0),
        };
        if self.faults == Faults::On && self.random.percent(6) {
            self.arrivals.push(arrival.clone());
        }
        match arrival {
            Arrival::Open(opening) if self.faults == Faults::On && self.random.percent(4) => {
                self.note(|| format!("lost: {} for log {}", opening.input.name(), opening.slot.0));
            }
            Arrival::Open(opening) => self.open(opening),
            Arrival::Work(errand) if self.faults == Faults::On && errand.may_die() && self.random.percent(6) => {
                self.note(|| format!("a worker dies: {:?}", errand.lease()));
            }
            Arrival::Work(errand) => self.work(errand),
            Arrival::To(id, word) => self.hear(id, word),
        }
    }

    pub(crate) fn send_open(&mut self, slot: Slot, input: Input) {
        let guards = match input {
            // Time takes nothing out of the hands of a worker.
            Input::Elapsed => Guards::Waiting,
            _ => Guards::Any,
        };
        self.send_guarded(slot, input, guards);
    }

    pub(crate) fn send_guarded(&mut self, slot: Slot, input: Input, guards: Guards) {
        self.arrivals.push(Arrival::Open(Opening { slot, input, guards, tries: 0 }));
    }

    pub(crate) fn send(&mut self, to: ProcessId, word: Word) {
        self.arrivals.push(Arrival::To(to, word));
    }

    fn hear(&mut self, id: ProcessId, word: Word) {
        let Some(mut process) = self.processes.remove(&id) else {
            return self.hear_late(id, word);
        };
        match word {
            Word::Reply { serial, input } => {
                if process.model_call == Some(serial) {
                    process.model_call = None;
                    let _ = self.feed(&mut process, *input);
                }
            }
            Word::Decided { turn, authorized } => {
                if process.is_authorizing && process.run().turn() == turn {
                    process.is_authorizing = false;
                    let _ = self.feed(&mut process, Input::Authorized(authorized));
                }
            }
            Word::Turn(call) => self.come_to(&mut process, call),
            Word::Returned { turn, returned, .. } => self.tool_ended(&mut process, (turn, *returned)),
            Word::Unfinished { turn, unfinished } => self.tool_unfinished(&mut process, turn, unfinished),
            Word::Drive => {}
            Word::Cancel => self.cancel(&mut process),
        }
        let is_starting = process.conductor.outbox().iter().any(|event| matches!(event, Event::ToolStarted { .. }));
        if is_starting && self.faults == Faults::On && self.random.percent(4) {
            self.cancel(&mut process);
        }
        if self.faults == Faults::On && self.random.percent(20) {
            self.send(id, Word::Drive);
            self.processes.insert(id, process);
        } else {
            self.drive(process);
        }
    }

    fn cancel(&mut self, process: &mut Process) {
        let actor = tools::person(self.random.below(6));
        let _ = self.feed(process, Input::Cancelled(Cancelled { actor, reason: None }));
        // The driver gives up whatever it waits for.
        process.executor = None;
        process.conductor.executor_ended();
        process.model_call = None;
        process.is_authorizing = false;
    }

    /// A result for a process that died may still find its way to the one that holds the run now.
    fn hear_late(&mut self, from: ProcessId, word: Word) {
        let Word::Returned { slot, turn, returned } = &word else { return };
        let run = self.disk.log(*slot).run();
        if self.faults == Faults::Off || run.turn() != *turn {
            return;
        }
        let heir = self.processes.values().find(|process| process.slot == *slot);
        let call = heir.and_then(|process| process.run().call(returned.call));
        let is_running = call.is_some_and(|call| matches!(call.state, CallState::Running { .. }));
        let heir = heir.map(|process| process.id);
        match heir {
            Some(heir) if is_running || self.random.percent(20) => {
                self.note(|| format!("a late result reaches {heir:?}"));
                self.hear(heir, word);
            }
            // It is still on its way.
            _ if self.random.percent(85) => self.send(from, word),
            _ => {}
        }
    }
}
