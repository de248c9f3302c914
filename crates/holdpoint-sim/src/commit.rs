//! How a process makes its outbox durable: the commit takes effect or not, is answered late or never, or another process was
//! faster.

use holdpoint_core::{ClockReading, Event, Input, Limits, LogEntry, Settlement, Source, Status, Turn};
use holdpoint_store::{TaskGuard, Transition};

use crate::arrivals::{Arrival, Word};
use crate::checks::{Commit, Seen};
use crate::process::Process;
use crate::storage::{Place, Refused};
use crate::stored;
use crate::transition::{self, Guards};
use crate::world::{Faults, World};

/// What became of a commit.
pub(crate) enum Fate {
    Done,
    Stale,
    /// Somebody else has a task that it wanted to close.
    LeaseLost,
    /// The process died before it knew.
    Died,
    /// The process does not know yet, or the store refused to write for now.
    Open,
}

impl World {
    pub(crate) fn commit(&mut self, process: &mut Process) -> Fate {
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
        for LogEntry { at, event } in &self.disk.append(slot, records) {
            let history = &self.disk.log(slot).history;
            if let Event::ToolEnded { call, settlement: Settlement { source: Some(Source::External), .. } } = event
                && history.calls.get(call.as_usize()).is_some_and(|known| !known.is_taken)
            {
                self.supplied.insert(Place { slot, turn: Turn(history.turn), call: *call });
            }
            self.checks.see(&Seen::Logged { slot, at: *at, event, history }, &self.disk);
            if let (Event::Imported(_), Some(import)) = (event, self.imports.get(&slot)) {
                self.disk.log_mut(slot).history = import.history.clone();
            }
            self.disk.log_mut(slot).history.record(event, *at);
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
            log: process.machine.outbox(),
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
    pub(crate) fn lost_lease(&mut self, process: Process) {
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
}
