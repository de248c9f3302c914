//! Leases as their holders know them: by clocks of their own, counted from before each request was sent.

use std::collections::HashMap;

use holdpoint_core::{Attempt, CallIndex, ClockReading, LeaseTerm, Timestamp};
use holdpoint_store::OwnerId;

use crate::arrivals::Word;
use crate::disk::Slot;
use crate::mistake::Mistake;
use crate::process::Process;
use crate::storage::{Grip, Lease, State};
use crate::transition::{self, HOLD_MS};
use crate::world::World;

/// Who holds each log, as the store has it.
#[derive(Default)]
pub(crate) struct Holders(HashMap<Slot, (OwnerId, Timestamp)>);

impl Holders {
    /// The store gave a log to an owner, or took it from all.
    pub(crate) fn set(&mut self, slot: Slot, owner: Option<OwnerId>, now: Timestamp) {
        match owner {
            Some(owner) => self.0.insert(slot, (owner, now.plus_ms(HOLD_MS))),
            None => self.0.remove(&slot),
        };
    }

    fn is_held_by(&self, slot: Slot, owner: &OwnerId, now: Timestamp) -> bool {
        self.0.get(&slot).is_some_and(|(holder, until)| holder == owner && *until > now)
    }

    /// Whether somebody's lease of a log lasts.
    pub(crate) fn is_held(&self, slot: Slot, now: Timestamp) -> bool {
        self.0.get(&slot).is_some_and(|(_, until)| *until > now)
    }

    /// Who holds a log, whether or not the lease has lapsed.
    pub(crate) fn owner(&self, slot: Slot) -> Option<&OwnerId> {
        self.0.get(&slot).map(|(owner, _)| owner)
    }
}

/// What a worker knows of the lease of a task.
#[derive(Clone, Copy)]
pub(crate) struct TaskTerm {
    term: LeaseTerm,
    /// The deadline of the task, by the clock of the store.
    deadline: Option<Timestamp>,
}

/// What became of tools that a process was about to start.
#[derive(PartialEq, Eq)]
pub(crate) enum Start {
    Done,
    /// The store did not answer.
    Later,
    /// Another process has the run.
    LeaseLost,
}

impl World {
    /// What the clocks of a process show. Those of all others show the store's time.
    pub(crate) fn clocks(&self, wall_offset_us: i64) -> ClockReading {
        let wall_us = if self.makes(Mistake::IgnoresWallClock) { self.boot_us } else { self.now.0 + wall_offset_us };
        ClockReading { boot_us: self.boot_us, wall_us }
    }

    pub(crate) fn clocks_of(&self, process: &Process) -> ClockReading {
        self.clocks(process.wall_offset_us)
    }

    /// A lease of a run that was asked for at that moment.
    pub(crate) fn run_term(&self, process: &Process, sent: ClockReading) -> LeaseTerm {
        let counts_late = self.makes(Mistake::CountsLeaseFromReply);
        LeaseTerm::new(if counts_late { self.clocks_of(process) } else { sent }, HOLD_MS)
    }

    /// A process asks the store to prolong its lease. Nothing when the store does not answer.
    pub(crate) fn renew(&mut self, process: &mut Process) -> Option<Grip> {
        if self.is_read_only {
            return None;
        }
        let (hold, sent) = (transition::hold(process.id), self.clocks_of(process));
        let grip = self.storage().renew(process.slot, &hold);
        self.note(|| format!("{:?} renews: {grip:?}", process.id));
        if grip == Grip::Held {
            self.holders.set(process.slot, Some(hold.owner), self.now);
            process.term = Some(LeaseTerm::new(sent, HOLD_MS));
        } else {
            process.term = None;
        }
        Some(grip)
    }

    /// Starts tools whose intents are durable, under a lease that still holds.
    pub(crate) fn start_tools(&mut self, process: &mut Process, intents: Vec<(CallIndex, Attempt)>) -> Start {
        let covered = process.term.is_some_and(|term| term.covers_start(self.clocks_of(process)));
        if !covered && !self.makes(Mistake::StartsUnleased) {
            match self.renew(process) {
                Some(Grip::Held) => {}
                Some(Grip::Lost) => return Start::LeaseLost,
                None => {
                    self.send(process.id, Word::Start(intents));
                    return Start::Later;
                }
            }
        }
        for (call, attempt) in intents {
            self.start_tool(process, call, attempt);
        }
        Start::Done
    }

    /// Whether the store would agree that a process may start a tool now. Cancelling takes a run from its holder at once.
    pub(crate) fn may_start(&self, process: &Process) -> bool {
        let is_cancelled = self.disk.log(process.slot).run().status() == holdpoint_core::Status::Cancelled;
        is_cancelled || self.holders.is_held_by(process.slot, &transition::hold(process.id).owner, self.now)
    }

    /// What a worker knows of a lease that it asked for at that moment.
    pub(crate) fn task_term(&mut self, lease: &Lease, sent: ClockReading, lease_ms: u64) -> TaskTerm {
        let deadline = self.storage().task(lease.place).and_then(|task| task.deadline);
        let left_us = deadline.map_or(u64::MAX, |deadline| u64::try_from(deadline.0 - self.now.0).unwrap_or(0));
        let left_ms = if self.makes(Mistake::ForgetsTaskDeadline) { u64::MAX } else { left_us / 1_000 };
        TaskTerm { term: LeaseTerm::new(sent, lease_ms.min(left_ms)), deadline }
    }

    /// Whether a worker may start a task. Asks the store if the lease may have lapsed; nothing when it does not answer.
    pub(crate) fn may_start_task(&mut self, lease: &Lease, term: TaskTerm, lease_ms: u64) -> Option<bool> {
        let sent = self.clocks(0);
        if term.term.covers_start(sent) || self.makes(Mistake::WorkerStartsUnleased) {
            return Some(true);
        }
        if self.is_read_only {
            return None;
        }
        let grip = self.storage().prolong(lease, lease_ms);
        self.note(|| format!("renews: {lease:?}: {grip:?}"));
        // Past its deadline a task has no lease, however often it is renewed.
        let is_overdue = term.deadline.is_some_and(|deadline| deadline <= self.now);
        Some(grip == Grip::Held && !is_overdue)
    }

    /// Whether the store would agree that a worker may start a task now.
    pub(crate) fn is_leased_now(&mut self, lease: &Lease) -> bool {
        let now = self.now;
        let is_cancelled = self.disk.log(lease.place.slot).run().status() == holdpoint_core::Status::Cancelled;
        // An application that supplies the result takes the task from its worker at once.
        let is_over = is_cancelled || self.supplied.contains(&lease.place);
        let task = self.storage().task(lease.place);
        let state = task.filter(|task| task.is_held_under(lease)).map(|task| task.state);
        is_over || matches!(state, Some(State::Leased { until, .. }) if until > now)
    }
}
