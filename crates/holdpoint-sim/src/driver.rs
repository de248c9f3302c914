//! What the async driver does, without its I/O: follow the conductor, step by step.

use std::collections::BTreeSet;

use holdpoint_core::planted::{self, Bug};
use holdpoint_core::{
    Attempt, Authorized, CallIndex, Event, Input, Limits, Measured, Outcome, Returned, Run, Settlement, Source, Step,
    Target, ToolResult, Unfinished,
};
use holdpoint_store::Transition;

use crate::arrivals::{Arrival, Word};
use crate::checks::{Commit, Seen, StartedTool};
use crate::disk::Slot;
use crate::process::{Opening, Process, ProcessId};
use crate::script::{self, Mood};
use crate::storage::Refused;
use crate::tools;
use crate::transition::{self, Guards};
use crate::world::{Faults, World};

/// What became of a commit.
enum Fate {
    Done,
    Stale,
    /// Somebody else has a task that it wanted to close.
    LeaseLost,
    /// The store failed, and nobody knows whether before or after.
    Unknown,
}

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
        let run = self.load(opening.slot);
        let takes_over = matches!(opening.input, Input::Recovered);
        self.note(|| format!("{id:?} opens log {} for `{}`", opening.slot.0, opening.input.name()));
        let mut process = Process::new(id, run, opening.clone());
        let accepted = self.feed(&mut process, opening.input);
        if !accepted.is_ok_and(|events| events > 0) {
            return;
        }
        if takes_over {
            let seen = Seen::Rested { run: process.run() };
            self.checks.see(&seen, &self.disk);
        }
        self.drive(process);
    }

    /// Tells a process something. Returns how many events came of it.
    pub(crate) fn feed(&mut self, process: &mut Process, input: Input) -> Result<usize, ()> {
        self.coverage.count(process.run(), &input);
        self.inspect("an input", &input);
        let target = match &input {
            Input::Answered(answered) => Some(answered.target.clone()),
            Input::Delivered(delivered) => Some(delivered.target.clone()),
            _ => None,
        };
        let told = self.is_traced().then(|| format!("{input:?}"));
        let result = process.conductor.feed(input, self.now);
        if let Some(told) = told {
            let came = match &result {
                Ok(count) => {
                    let outbox = process.conductor.outbox();
                    let names: Vec<_> = outbox[outbox.len() - count..].iter().map(Event::name).collect();
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
                Ok(count)
            }
            Err(rejection) => {
                self.inspect("a rejection", &rejection);
                Err(())
            }
        }
    }

    /// Follows the conductor until it waits, stops or dies.
    pub(crate) fn drive(&mut self, mut process: Process) {
        loop {
            if self.faults == Faults::On && self.random.percent(1) {
                return self.crash(process);
            }
            let step = process.conductor.next();
            self.note(|| format!("{:?} next {step:?}", process.id));
            let progress = match step {
                Step::Commit => match self.commit(&mut process) {
                    Fate::Done => Progress::Some,
                    Fate::Stale => return self.overtaken(process),
                    Fate::LeaseLost => return self.note(|| format!("{:?} lost a lease", process.id)),
                    Fate::Unknown => return,
                },
                Step::Start(intents) => {
                    intents.into_iter().for_each(|intent| self.start_tool(&process, intent));
                    Progress::Some
                }
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

    fn commit(&mut self, process: &mut Process) -> Fate {
        let fate = if self.faults == Faults::On { self.random.weighted(&[94, 3, 3]) } else { 0 };
        if fate == 1 {
            self.note(|| "the store fails before the commit".to_owned());
            self.storage().crash();
            return Fate::Unknown;
        }
        let slot = process.slot;
        let found = self.disk.log(slot).revision();
        let based_on = process.conductor.durable();
        let transition = self.transition(process);
        let records = match self.storage().commit(slot, based_on, transition) {
            Ok(records) => records,
            Err(Refused::Stale) => return Fate::Stale,
            Err(Refused::LeaseLost) => return Fate::LeaseLost,
        };
        for event in &self.disk.append(slot, records) {
            let history = &self.disk.log(slot).history;
            self.checks.see(&Seen::Logged { slot, event, history }, &self.disk);
            if let (Event::Imported(_), Some(import)) = (event, self.imports.get(&slot)) {
                self.disk.log_mut(slot).history = import.history.clone();
            }
            self.disk.log_mut(slot).history.record(event);
            self.was_given(slot, event);
        }
        let commit = Commit { used: process.uses.clone(), based_on, found };
        self.checks.see(&Seen::Committed { slot, commit: &commit }, &self.disk);
        if fate == 2 {
            self.note(|| "the store fails after the commit".to_owned());
            self.storage().crash();
            return Fate::Unknown;
        }
        process.conductor.committed();
        process.origin = None;
        process.uses.clear();
        Fate::Done
    }

    fn transition(&mut self, process: &Process) -> Transition {
        let transition = transition::transition(&transition::Step {
            before: self.disk.log(process.slot).run(),
            after: process.run(),
            events: process.conductor.outbox(),
            guards: process.origin.as_ref().map_or(&Guards::Any, |opening| &opening.guards),
            by: process.id,
            at: self.now,
        });
        if let Some(audit) = &transition.audit
            && self.random.percent(3)
        {
            let text = String::from_utf8_lossy(audit);
            self.checks.see(&Seen::Printed { what: "an audit row", text: &text }, &self.disk);
        }
        transition
    }

    /// Somebody else was faster. What the process was opened for is decided again on what is there now.
    fn overtaken(&mut self, process: Process) {
        self.note(|| format!("{:?} is stale", process.id));
        if let Some(mut opening) = process.origin {
            opening.tries += 1;
            if opening.tries < Limits::COMMIT_TRIES_MAX {
                self.arrivals.push(Arrival::Open(opening));
            }
        }
    }

    fn announce(&mut self, process: &Process) {
        let (slot, run) = (process.slot, process.run());
        self.checks.see(&Seen::Announced { slot, at: run.revision() }, &self.disk);
        self.checks.see(&Seen::Rested { run }, &self.disk);
        self.compare_with_log(process);
        if self.random.percent(10) {
            self.inspect("a run", process.run());
        }
        if let Some(import) = self.imports.get(&slot)
            && run.revision().0 == 1
        {
            self.checks.see(&Seen::Imported { from: &import.exported, into: run }, &self.disk);
        }
    }

    fn compare_with_log(&mut self, process: &Process) {
        let log = self.disk.log(process.slot);
        let durable = process.conductor.durable();
        if log.revision() < durable {
            return;
        }
        let mut read = log.rebuilt(durable);
        process.conductor.outbox().iter().for_each(|event| read.apply(event));
        self.checks.see(&Seen::Rebuilt { live: process.run(), read: &read }, &self.disk);
    }

    fn start_tool(&mut self, process: &Process, (call, attempt): (CallIndex, Attempt)) {
        let (slot, run) = (process.slot, process.run());
        let known = run.call(call);
        let started = StartedTool {
            slot,
            turn: run.turn(),
            call,
            attempt,
            tool: known.and_then(|call| call.tool.as_ref()).map(|facts| facts.name.clone()),
            digest: known.and_then(|call| call.canonical()).map(holdpoint_core::Arguments::digest),
            known: process.conductor.durable(),
        };
        self.checks.see(&Seen::ToolStarted(&started), &self.disk);
        let by = (slot, run.turn(), call, attempt);
        let returned = self.made_result(by);
        let turn = run.turn();
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

    fn made_result(&mut self, by: (Slot, holdpoint_core::Turn, CallIndex, Attempt)) -> Returned {
        let serial = self.next_serial();
        self.checks.see(&Seen::ResultMade { serial, by }, &self.disk);
        let result = tools::result(&mut self.random, serial);
        Returned { call: by.2, attempt: Some(by.3), settlement: settlement(result, Source::Tool) }
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
        let messages = process.run().messages();
        self.checks.see(&Seen::ModelAsked { slot: process.slot, messages }, &self.disk);
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
                Some(facts) if !planted::active(Bug::PolicySeesAlias) => facts.name.as_str(),
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

/// What a result means.
pub(crate) fn settlement(result: ToolResult, source: Source) -> Settlement {
    let (outcome, code) = Outcome::of_result(&result);
    Settlement { outcome, code, source: Some(source), result: result.into(), latency_us: 7 }
}

fn timed_out(made: Settlement) -> Settlement {
    let code = Some(holdpoint_core::Code::TimedOut);
    Settlement { outcome: Outcome::TimedOut, code, ..made }
}
