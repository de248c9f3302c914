//! What the async driver does, without its I/O: follow the conductor, step by step.

use std::collections::BTreeSet;

use holdpoint_core::{
    Answer, Attempt, Authorized, CallIndex, Cancelled, Event, Input, Measured, Outcome, Returned, Run, Settlement,
    Source, Step, Target, ToolResult, Unfinished,
};
use holdpoint_store::OwnerId;

use crate::arrivals::Word;
use crate::checks::{self, Seen, StartedTool};
use crate::commit::Fate;
use crate::disk::Slot;
use crate::leases::Start;
use crate::mistake::Mistake;
use crate::process::{Opening, Process, ProcessId};
use crate::script::{self, Mood};
use crate::storage::{Grip, Place, PlacedAttempt};
use crate::tools;
use crate::transition;
use crate::world::{Faults, World};

/// How many pauses people remember.
const SHOWN_MAX: usize = 12;

/// Whether a step led to something that the conductor should look at.
#[derive(PartialEq, Eq)]
enum Progress {
    Some,
    None,
}

impl World {
    /// Loads a run and tells it something.
    pub(crate) fn open(&mut self, opening: Opening) {
        let id = ProcessId(self.processes_made);
        self.processes_made += 1;
        let takes_over = matches!(opening.input, Input::Recovered(_));
        if takes_over && !self.may_take_over(&opening) {
            return self.note(|| format!("log {} is held", opening.slot.0));
        }
        let run = self.load(opening.slot);
        self.note(|| format!("{id:?} opens log {} for `{}`", opening.slot.0, opening.input.name()));
        let mut process = Process::new(id, run, opening.clone(), self.mistake);
        let input = self.with_completed(&mut process, opening.input);
        let accepted = self.feed(&mut process, input);
        if !accepted.is_ok_and(|events| events > 0) {
            return;
        }
        if takes_over {
            let seen = Seen::Rested { run: process.run(), owed: &process.machine.owed() };
            self.checks.see(&seen, &self.disk);
        }
        self.drive(process);
    }

    /// Results that were acknowledged are recorded before the rest is cancelled.
    fn with_completed(&mut self, process: &mut Process, input: Input) -> Input {
        let Input::Cancelled(cancelled) = input else { return input };
        let (completed, guards) = self.completed(process.slot);
        process.guards = guards;
        Input::Cancelled(Cancelled { completed, ..cancelled })
    }

    /// Tells a process something. Returns how many events came of it.
    pub(crate) fn feed(&mut self, process: &mut Process, input: Input) -> Result<usize, ()> {
        self.coverage.count(process.run(), &input);
        self.inspect("an input", &input);
        self.log_arguments(&input);
        let answers = answers_in(process.run(), &input);
        let target = match &input {
            Input::Answered(answered) => Some(answered.target.clone()),
            Input::Delivered(delivered) => Some(delivered.target.clone()),
            _ => None,
        };
        let told = self.is_traced().then(|| format!("{input:?}"));
        let result = process.machine.feed(input, self.now);
        if let Some(told) = told {
            let came = match &result {
                Ok(count) => {
                    let outbox = process.machine.outbox();
                    let names: Vec<_> = outbox[outbox.len() - count..].iter().map(|entry| entry.event.name()).collect();
                    format!("{names:?}")
                }
                Err(rejection) => format!("rejected: {rejection}"),
            };
            self.note(|| format!("{:?} {told} -> {came}", process.id));
        }
        match result {
            Ok(count) => {
                if let Some(Target::Continuation(id)) = target.filter(|_| count > 0) {
                    process.uses.push(id);
                }
                let outbox = process.machine.outbox();
                let counted = outbox[outbox.len() - count..].iter().filter_map(|entry| match &entry.event {
                    Event::CallAnswered(answered) => Some(answered.call),
                    _ => None,
                });
                let counted: BTreeSet<CallIndex> = counted.collect();
                process.answers.extend(answers.into_iter().filter(|answer| counted.contains(&answer.call)));
                Ok(count)
            }
            Err(rejection) => {
                self.inspect("a rejection", &rejection);
                Err(())
            }
        }
    }

    /// What a driver would log that does not keep arguments to itself.
    fn log_arguments(&mut self, input: &Input) {
        let Input::Replied(replied) = input else { return };
        if !self.makes(Mistake::LogsArguments) {
            return;
        }
        for call in replied.reply.iter().flat_map(|reply| &reply.calls) {
            let text = call.arguments.canonical().map_or("", |arguments| arguments.expose());
            self.checks.see(&Seen::Printed { what: "a log line", text }, &self.disk);
        }
    }

    /// Follows the conductor until it waits, stops or dies.
    pub(crate) fn drive(&mut self, mut process: Process) {
        loop {
            if self.faults == Faults::On && self.random.percent(1) {
                return self.crash(process);
            }
            let step = process.machine.next();
            self.note(|| format!("{:?} next {step:?}", process.id));
            let progress = match step {
                Step::Commit => match self.commit(&mut process) {
                    Fate::Done => Progress::Some,
                    Fate::Stale => return self.overtaken(process),
                    Fate::LeaseLost => return self.lost_lease(process),
                    Fate::Died => return,
                    Fate::Open => Progress::None,
                },
                // The process is suspended, or slow, between the intent and the tool.
                Step::Start(intents) if self.faults == Faults::On && self.random.percent(15) => {
                    self.send(process.id, Word::Start(intents));
                    Progress::None
                }
                Step::Start(intents) => match self.start_tools(&mut process, intents) {
                    Start::Done => Progress::Some,
                    Start::Later => Progress::None,
                    Start::LeaseLost => return self.give_up(process),
                },
                Step::CallModel { .. } => self.call_model(&mut process),
                Step::Authorize { calls } => self.authorize(&mut process, &calls),
                Step::Execute { calls } => {
                    self.execute(&mut process, calls);
                    Progress::Some
                }
                Step::Wait => Progress::None,
                Step::Pause { .. } | Step::Finish { .. } => return self.announce(&process),
            };
            if progress == Progress::None {
                self.processes.insert(process.id, process);
                return;
            }
        }
    }

    /// Reads a run as a process does.
    fn load(&mut self, slot: Slot) -> Run {
        let Some(records) = self.storage().load(slot) else { return self.disk.log(slot).run().clone() };
        let log = self.disk.log(slot);
        let read = log.run_of(records.iter());
        self.checks.see(&Seen::Rebuilt { live: log.run(), read: &read }, &self.disk);
        read
    }

    pub(crate) fn crash(&mut self, process: Process) {
        self.note(|| format!("{:?} dies", process.id));
        self.compare_with_log(&process);
        self.storage().crash();
    }

    /// Whether a claim is still the current one. Without a claim, whether the process that holds the run is gone.
    fn may_take_over(&mut self, opening: &Opening) -> bool {
        let Some(claim) = &opening.claim else { return !self.is_driven(opening.slot) };
        if self.makes(Mistake::TakesOverOnOldClaim) {
            return true;
        }
        if self.is_read_only || self.storage().renew(opening.slot, claim) == Grip::Lost {
            return false;
        }
        self.holders.set(opening.slot, Some(claim.owner.clone()), self.now);
        true
    }

    /// Whether the process that holds a run is there.
    pub(crate) fn is_driven(&self, slot: Slot) -> bool {
        let is_alive = |owner: &OwnerId| self.processes.keys().any(|id| transition::hold(*id).owner == *owner);
        self.holders.owner(slot).is_some_and(is_alive)
    }

    fn announce(&mut self, process: &Process) {
        let (slot, run) = (process.slot, process.run());
        self.checks.see(&Seen::Announced { slot, at: run.revision() }, &self.disk);
        self.checks.see(&Seen::Rested { run, owed: &process.machine.owed() }, &self.disk);
        self.compare_with_log(process);
        if self.random.percent(10) {
            self.inspect("a run", process.run());
        }
        if run.continuation().is_some() {
            self.shown.push((slot, run.clone()));
            if self.shown.len() > SHOWN_MAX {
                self.shown.remove(0);
            }
        }
        if let Some(import) = self.imports.get(&slot)
            && run.revision().0 == 1
        {
            self.checks.see(&Seen::Imported { from: &import.exported, into: run }, &self.disk);
        }
    }

    fn compare_with_log(&mut self, process: &Process) {
        let log = self.disk.log(process.slot);
        let durable = process.machine.durable();
        if log.revision() < durable {
            return;
        }
        let mut read = log.rebuilt(durable);
        process.machine.outbox().iter().for_each(|entry| read.apply(entry));
        self.checks.see(&Seen::Rebuilt { live: process.run(), read: &read }, &self.disk);
    }

    pub(crate) fn start_tool(&mut self, process: &Process, call: CallIndex, attempt: Attempt) {
        let (slot, run) = (process.slot, process.run());
        let (turn, known) = (run.turn(), run.call(call));
        let place = Place { slot, turn, call };
        let started = StartedTool {
            place,
            attempt,
            tool: known.and_then(|call| call.tool.as_ref()).map(|facts| facts.name.clone()),
            digest: known.and_then(|call| call.canonical()).map(holdpoint_core::Arguments::digest),
            known: process.machine.durable(),
            is_leased: self.may_start(process),
        };
        self.checks.see(&Seen::ToolStarted(&started), &self.disk);
        let by = PlacedAttempt { place, attempt };
        let returned = self.made_result(by);
        let word = |returned| Word::Returned { slot, turn, returned: Box::new(returned) };
        if self.faults == Faults::On && self.random.percent(15) {
            // The tool asks a person, or loses sight of what it did; perhaps a result comes all the same.
            let asks = self.random.percent(70).then(|| self.made_result(by).settlement.result);
            self.send(process.id, Word::Unfinished { turn, unfinished: Unfinished { call, attempt, asks } });
            if self.random.percent(80) {
                return;
            }
        }
        if self.faults == Faults::On && self.random.percent(8) {
            // The tool does not come back in time, and perhaps it does later.
            let late = self.made_result(by);
            self.send(process.id, word(Returned { settlement: timed_out(late.settlement), ..late }));
            if self.random.percent(50) {
                return;
            }
        }
        if self.faults == Faults::On && self.random.percent(12) {
            // Somebody tries again, and both arrive.
            let again = self.made_result(by);
            self.send(process.id, word(again));
        }
        self.send(process.id, word(returned));
    }

    fn made_result(&mut self, by: PlacedAttempt) -> Returned {
        let serial = self.next_serial();
        self.checks.see(&Seen::ResultMade { serial, by }, &self.disk);
        let result = tools::result(&mut self.random, serial);
        Returned { call: by.place.call, attempt: Some(by.attempt), settlement: settlement(result, Source::Tool) }
    }

    fn call_model(&mut self, process: &mut Process) -> Progress {
        if process.model_call.is_some() {
            return Progress::None;
        }
        if process.run().settings().context_window.is_some() {
            let is_large = self.faults == Faults::On && self.random.percent(15);
            let measured = Measured { tokens: if is_large { 950 } else { 500 } };
            if self.feed(process, Input::Measured(measured)).is_ok_and(|events| events > 0) {
                return Progress::Some;
            }
        }
        // A process that was overtaken and does not know it yet asks about what was.
        if process.machine.durable() == self.disk.log(process.slot).revision() {
            let messages = process.machine.messages();
            self.checks.see(&Seen::ModelAsked { slot: process.slot, messages: &messages }, &self.disk);
        }
        let serial = self.next_serial();
        process.model_call = Some(serial);
        let mood = match self.faults {
            Faults::On if self.is_routine => Mood::Routine,
            Faults::On => Mood::Any,
            Faults::Off => Mood::Ending,
        };
        let mut input = script::answer(&mut self.random, serial, mood);
        self.versions.fill_in(&mut input);
        self.send(process.id, Word::Reply { serial, input: Box::new(input) });
        Progress::None
    }

    fn authorize(&mut self, process: &mut Process, calls: &[CallIndex]) -> Progress {
        if process.is_authorizing {
            return Progress::None;
        }
        let mut authorized = Authorized::default();
        let mut names = BTreeSet::new();
        for index in calls {
            let Some(call) = process.run().call(*index) else { continue };
            let name = match &call.tool {
                Some(facts) if !self.makes(Mistake::AsksPolicyByAlias) => facts.name.as_str(),
                Some(_) | None => call.name.as_str(),
            };
            self.checks.see(&Seen::PolicyAsked { name }, &self.disk);
            names.extend(call.tool.as_ref().map(|facts| facts.name.clone()));
            let decide = if self.is_routine { tools::decide_usual } else { tools::decide };
            authorized.decisions.push((*index, decide(&mut self.random)));
            if self.random.percent(10) {
                authorized.shadows.push((*index, tools::decide(&mut self.random)));
            }
        }
        authorized.grants = self.offered(process.slot, &names);
        if self.faults == Faults::On && self.random.percent(10) {
            authorized.decisions.truncate(authorized.decisions.len().div_ceil(2));
        }
        if self.faults == Faults::On && self.random.percent(25) {
            process.is_authorizing = true;
            self.send(process.id, Word::Decided { turn: process.run().turn(), authorized });
            return Progress::None;
        }
        match self.feed(process, Input::Authorized(authorized)) {
            Ok(_) => Progress::Some,
            Err(()) => Progress::None,
        }
    }
}

/// What people said in an input, to what they were shown.
fn answers_in(run: &Run, input: &Input) -> Vec<checks::Answer> {
    let Input::Answered(answered) = input else { return Vec::new() };
    let said = answered.answers.iter().filter_map(|(id, given)| {
        let index = run.calls().iter().position(|call| call.id == *id)?;
        let refuses = matches!(given.answer, Answer::Refuse { .. });
        Some(checks::Answer { call: CallIndex::from_usize(index), shown: given.digest, refuses })
    });
    said.collect()
}

/// What a result means.
pub(crate) fn settlement(result: ToolResult, source: Source) -> Settlement {
    let (outcome, code) = Outcome::of_result(&result);
    Settlement { outcome, code, source: Some(source), result: result.into(), latency_us: 7 }
}

fn timed_out(made: Settlement) -> Settlement {
    let code = Some(holdpoint_core::Code::TimedOut);
    Settlement { outcome: Outcome::TimedOut, code, ..made }
}
