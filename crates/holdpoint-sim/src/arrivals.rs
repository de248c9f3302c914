//! What is on its way. Arrivals are picked in any order, and some come twice or never.

use holdpoint_core::{
    Attempt, Authorized, CallIndex, CallState, Cancelled, Event, Input, Recovered, Returned, Run, Turn, Unfinished,
};
use holdpoint_store::{Hold, TaskGuard};

use crate::disk::Slot;
use crate::leases::Start;
use crate::mistake::Mistake;
use crate::process::{Opening, Process, ProcessId};
use crate::storage::Place;
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
    /// A commit took effect.
    Acknowledged,
    /// Nobody knows whether a commit took effect.
    Unsure,
    /// It may start these tools, whose intents are durable.
    Start(Vec<(CallIndex, Attempt)>),
    /// It may go on with what it heard.
    Drive,
    /// Somebody wants it to stop.
    Cancel,
}

/// Without the calls that were settled meanwhile.
fn still_running(run: &Run, mut intents: Vec<(CallIndex, Attempt)>) -> Vec<(CallIndex, Attempt)> {
    intents.retain(|(call, attempt)| {
        let state = run.call(*call).map(|call| &call.state);
        matches!(state, Some(CallState::Running { attempt: running, .. }) if running == attempt)
    });
    intents
}

impl Arrival {
    /// Whether it comes from outside. What a process does by itself it does once.
    fn may_come_twice(&self) -> bool {
        !matches!(self, Arrival::To(_, Word::Start(_) | Word::Acknowledged | Word::Unsure))
    }
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
        if self.faults == Faults::On && self.random.percent(6) && arrival.may_come_twice() {
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
        let guards = Guards::others(match input {
            // Time takes nothing out of the hands of a worker.
            Input::Elapsed => TaskGuard::Waiting,
            // A result that was acknowledged counts.
            Input::Delivered(_) => TaskGuard::NoResult,
            Input::Cancelled(_) if !self.makes(Mistake::CancelsCompletedTask) => TaskGuard::NoResult,
            _ => TaskGuard::Any,
        });
        self.send_guarded(slot, input, guards);
    }

    /// A run is to be taken over under a claim.
    pub(crate) fn send_claimed(&mut self, slot: Slot, claim: &Hold) {
        let (input, guards) = (Input::Recovered(Recovered::default()), Guards::others(TaskGuard::Any));
        self.arrivals.push(Arrival::Open(Opening { slot, input, guards, tries: 0, claim: Some(claim.clone()) }));
    }

    pub(crate) fn send_guarded(&mut self, slot: Slot, input: Input, guards: Guards) {
        self.arrivals.push(Arrival::Open(Opening { slot, input, guards, tries: 0, claim: None }));
    }

    pub(crate) fn send(&mut self, to: ProcessId, word: Word) {
        self.arrivals.push(Arrival::To(to, word));
    }

    fn hear(&mut self, id: ProcessId, word: Word) {
        let Some(mut process) = self.processes.remove(&id) else {
            return self.hear_late(id, word);
        };
        // It waits for the store and hears nothing else.
        if process.sent.is_some() && !matches!(word, Word::Acknowledged | Word::Unsure) {
            self.processes.insert(id, process);
            return self.send(id, word);
        }
        match word {
            Word::Acknowledged => {
                if let Some(sent) = process.sent.take() {
                    self.acknowledged(&mut process, sent);
                }
            }
            Word::Unsure => {
                if process.sent.take().is_some() && !self.look_back(&mut process) {
                    return self.overtaken(process);
                }
            }
            Word::Start(intents) => {
                let intents = still_running(process.run(), intents);
                match self.start_tools(&mut process, intents) {
                    Start::Done => {}
                    Start::Later => {
                        self.processes.insert(id, process);
                        return;
                    }
                    Start::LeaseLost => return self.give_up(process),
                }
            }
            Word::Reply { serial, input } => {
                let is_awaited =
                    process.model_call.is_some_and(|awaited| awaited == serial || self.makes(Mistake::AcceptsOldReply));
                if is_awaited {
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
            Word::Returned { turn, returned, .. } => self.tool_ended(&mut process, turn, *returned),
            Word::Unfinished { turn, unfinished } => self.tool_unfinished(&mut process, turn, unfinished),
            Word::Drive => {}
            Word::Cancel => self.cancel(&mut process),
        }
        let is_starting = process.machine.outbox().iter().any(|entry| matches!(entry.event, Event::ToolStarted { .. }));
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
        // What it was opened for comes first.
        if process.origin.is_some() {
            return;
        }
        let actor = tools::person(self.random.below(6));
        let (completed, mut guards) = self.completed(process.slot);
        let _ = self.feed(process, Input::Cancelled(Cancelled { completed, ..Cancelled::by(actor) }));
        let outbox = process.machine.outbox();
        let is_recorded = |place: &Place| {
            outbox.iter().any(|entry| matches!(entry.event, Event::TaskTaken { call, .. } if call == place.call))
        };
        guards.each.retain(|(place, _)| is_recorded(place));
        process.guards = guards;
        // The driver gives up whatever it waits for.
        process.executor = None;
        process.machine.executor_ended();
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
