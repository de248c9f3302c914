//! What the async driver does, without its I/O: follow the conductor, step by step.

use std::collections::BTreeSet;

use holdpoint_core::{
    Answer, Attempt, Authorized, CallIndex, Cancelled, ClockReading, Event, Input, Limits, Measured, Outcome, Returned,
    Run, Settlement, Source, Status, Step, Target, ToolResult, Turn, Unfinished,
};
use holdpoint_store::{OwnerId, TaskGuard, Transition};

use crate::arrivals::{Arrival, Word};
use crate::checks::{self, Commit, Seen, StartedTool};
use crate::disk::Slot;
use crate::leases::Start;
use crate::mistake::Mistake;
use crate::process::{Opening, Process, ProcessId};
use crate::script::{self, Mood};
use crate::storage::{Grip, Refused};
use crate::stored;
use crate::tools;
use crate::transition::{self, Guards};
use crate::world::{Faults, World};

/// How many pauses people remember.
const SHOWN_MAX: usize = 12;

/// What became of a commit.
enum Fate {
    Done,
    Stale,
    /// Somebody else has a task that it wanted to close.
    LeaseLost,
    /// The process died before it knew.
    Died,
    /// The process does not know yet, or the store refused to write for now.
    Open,
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
                let outbox = process.machine.outbox();
                let counted = outbox[outbox.len() - count..].iter().filter_map(|event| match event {
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

    fn commit(&mut self, process: &mut Process) -> Fate {
        if self.is_read_only {
            self.note(|| "the store takes no commit".to_owned());
            self.send(process.id, Word::Drive);
            return Fate::Open;
        }
        let fate = if self.faults == Faults::On { self.random.weighted(&[86, 3, 3, 4, 2, 2]) } else { 0 };
        let sent = self.clocks_of(process);
        if fate == 1 {
            self.note(|| "the process dies before the commit".to_owned());
            self.storage().crash();
            return Fate::Died;
        }
        if fate == 4 {
            return self.unsure(process, sent);
        }
        let slot = process.slot;
        let found = self.disk.log(slot).revision();
        let based_on = process.machine.durable();
        let transition = self.transition(process);
        let records = match self.storage().commit(slot, based_on, transition) {
            Ok(records) => records,
            Err(Refused::Stale) => return Fate::Stale,
            Err(Refused::LeaseLost) => return Fate::LeaseLost,
        };
        let takes_over = process.origin.as_ref().is_some_and(|origin| matches!(origin.input, Input::Recovered(_)));
        if takes_over {
            let is_free = !self.is_driven(slot) || !self.holders.is_held(slot, self.now);
            self.checks.see(&Seen::TakenOver { slot, is_free }, &self.disk);
        }
        let owner = (process.run().status() == Status::Running).then(|| transition::hold(process.id).owner);
        self.holders.set(slot, owner, self.now);
        for answer in &process.answers {
            self.checks.see(&Seen::Answered { slot, answer }, &self.disk);
        }
        for event in &self.disk.append(slot, records) {
            let history = &self.disk.log(slot).history;
            if let Event::ToolEnded { call, settlement: Settlement { source: Some(Source::External), .. } } = event
                && history.calls.get(call.as_usize()).is_some_and(|known| !known.is_taken)
            {
                self.supplied.insert((slot, Turn(history.turn), *call));
            }
            self.checks.see(&Seen::Logged { slot, event, history }, &self.disk);
            if let (Event::Imported(_), Some(import)) = (event, self.imports.get(&slot)) {
                self.disk.log_mut(slot).history = import.history.clone();
            }
            self.disk.log_mut(slot).history.record(event);
            self.was_given(slot, event);
        }
        let commit = Commit { used: process.uses.clone(), based_on, found };
        self.checks.see(&Seen::Committed { slot, run: process.run(), commit: &commit }, &self.disk);
        match fate {
            2 => {
                self.note(|| "the process dies after the commit".to_owned());
                self.storage().crash();
                Fate::Died
            }
            3 => {
                self.note(|| "the store's answer takes its time".to_owned());
                process.sent = Some(sent);
                self.send(process.id, Word::Acknowledged);
                Fate::Open
            }
            5 => self.unsure(process, sent),
            _ => {
                self.acknowledged(process, sent);
                Fate::Done
            }
        }
    }

    /// The connection broke: the process looks whether the commit took effect.
    fn unsure(&mut self, process: &mut Process, sent: ClockReading) -> Fate {
        self.note(|| "nobody knows whether the commit took effect".to_owned());
        process.sent = Some(sent);
        self.send(process.id, Word::Unsure);
        Fate::Open
    }

    /// The store said that a commit took effect that was sent then.
    pub(crate) fn acknowledged(&mut self, process: &mut Process, sent: ClockReading) {
        self.written(process);
        process.term = Some(self.run_term(process, sent));
    }

    fn written(&mut self, process: &mut Process) {
        process.machine.committed();
        process.origin = None;
        process.uses.clear();
        process.answers.clear();
        process.unsaved.clear();
        process.guards = Guards::none();
    }

    /// Looks whether the log ends with the outbox of a process. Returns whether it still holds the run.
    pub(crate) fn look_back(&mut self, process: &mut Process) -> bool {
        let durable = usize::try_from(process.machine.durable().0).unwrap_or(usize::MAX);
        let after = self.disk.log(process.slot).records().get(durable..).unwrap_or_default();
        let ours: Vec<_> = process.machine.outbox().iter().map(stored::write).collect();
        if after.is_empty() {
            // It did not take effect: the next commit tries again.
            return true;
        }
        let is_written = after == ours;
        self.note(|| format!("{:?} finds its commit: {is_written}", process.id));
        if is_written {
            self.written(process);
            // The lease that it may have set is renewed before anything starts under it.
            process.term = None;
        }
        is_written
    }

    fn transition(&mut self, process: &Process) -> Transition {
        let transition = transition::transition(&transition::Step {
            before: self.disk.log(process.slot).run(),
            after: process.run(),
            events: process.machine.outbox(),
            guards: &process.guards,
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
    pub(crate) fn overtaken(&mut self, mut process: Process) {
        self.note(|| format!("{:?} is stale", process.id));
        self.keep_results(&mut process);
        self.try_again(process);
    }

    fn try_again(&mut self, process: Process) {
        if let Some(mut opening) = process.origin {
            opening.tries += 1;
            if opening.tries < Limits::COMMIT_TRIES_MAX {
                self.arrivals.push(Arrival::Open(opening));
            }
        }
    }

    /// A task that it wanted to close is not as it must be. What yields to results is tried again.
    fn lost_lease(&mut self, process: Process) {
        self.note(|| format!("{:?} lost a lease", process.id));
        let yields = process.origin.as_ref().is_some_and(|opening| opening.guards.others == TaskGuard::NoResult);
        if yields {
            self.fold(process.slot);
            self.try_again(process);
        }
    }

    /// Another process has the run: this one lets go of it.
    pub(crate) fn give_up(&mut self, mut process: Process) {
        self.note(|| format!("{:?} gives up", process.id));
        self.keep_results(&mut process);
    }

    /// Results that are not durable go to the person who is asked about their calls.
    fn keep_results(&mut self, process: &mut Process) {
        for late in std::mem::take(&mut process.unsaved) {
            self.send_open(process.slot, Input::TaskLate(Box::new(late)));
        }
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
        process.machine.outbox().iter().for_each(|event| read.apply(event));
        self.checks.see(&Seen::Rebuilt { live: process.run(), read: &read }, &self.disk);
    }

    pub(crate) fn start_tool(&mut self, process: &Process, (call, attempt): (CallIndex, Attempt)) {
        let (slot, run) = (process.slot, process.run());
        let known = run.call(call);
        let started = StartedTool {
            slot,
            turn: run.turn(),
            call,
            attempt,
            tool: known.and_then(|call| call.tool.as_ref()).map(|facts| facts.name.clone()),
            digest: known.and_then(|call| call.canonical()).map(holdpoint_core::Arguments::digest),
            known: process.machine.durable(),
            is_leased: self.may_start(process),
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

    fn made_result(&mut self, by: (Slot, Turn, CallIndex, Attempt)) -> Returned {
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
