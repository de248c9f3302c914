//! Workers and whoever watches over them: they lease, start, die, deliver in time or late, and lose what they had.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::tasks::{StoredTask, decode_delivery, decode_task, encode_delivery};
use holdpoint_core::{
    AfterLoss, CallLease, Decision, Input, LossCause, Recheck, Repeat, Source, TaskLate, TaskLost, TaskReturned,
    TaskRevoked, TasksReturned, task_loss,
};
use holdpoint_store::{Fence, Release, TaskGuard};

use crate::arrivals::Arrival;
use crate::checks::{Seen, StartedTool};
use crate::disk::Slot;
use crate::driver::settlement;
use crate::leases::TaskTerm;
use crate::mistake::Mistake;
use crate::storage::{Grip, Lane, Lease, Leased, Place, PlacedAttempt, State, Task, Wanted};
use crate::tools;
use crate::transition::Guards;
use crate::world::{Faults, World};

/// The shortest lease. Some steps of the world take longer than that.
const LEASE_MS: u64 = 4_000;
/// How much longer a lease may be.
const LEASE_MS_MORE: usize = 12_000;
/// More tasks than a world has at once.
const TASKS_MAX: usize = 64;

/// What a worker is about to do.
#[derive(Clone)]
pub(crate) enum Errand {
    /// Start a task that it leased.
    Start(Leased, Asked),
    /// Bring what the tool gave.
    Deliver(Lease, Vec<u8>),
    /// Bring it once somebody else has the task.
    Oversleep(Lease, Vec<u8>),
    /// Say that it failed after it had started.
    Fail(Lease),
}

/// What a worker knows of a lease beside the task.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    term: TaskTerm,
    lease_ms: u64,
}

impl Errand {
    /// The lease that it is about.
    pub(crate) fn lease(&self) -> &Lease {
        match self {
            Errand::Start(Leased { lease, .. }, _)
            | Errand::Deliver(lease, _)
            | Errand::Oversleep(lease, _)
            | Errand::Fail(lease) => lease,
        }
    }

    /// Whether the worker may die instead. One that oversleeps was silent for long enough.
    pub(crate) fn may_die(&self) -> bool {
        !matches!(self, Errand::Oversleep(..))
    }
}

impl World {
    /// Something happens around the queue.
    pub(crate) fn tend_queue(&mut self) {
        match self.random.weighted(&[45, 35, 20]) {
            0 => self.lease_some(),
            1 => self.notice_lapsed(),
            _ => {
                let arrived = self.storage().arrivals();
                let slots: Vec<Slot> = self.disk.slots().collect();
                let anywhere = arrived.is_empty() || self.random.percent(30);
                let slot = *self.random.pick(if anywhere { &slots } else { &arrived });
                self.fold(slot);
            }
        }
    }

    /// A worker asks for tasks of one tool, or of all that it knows.
    fn lease_some(&mut self) {
        let now = self.now;
        let waiting = self.storage().tasks().into_iter().filter(|task| task.can_be_leased(now));
        let lanes: BTreeSet<Lane> = waiting.map(|task| task.lane).collect();
        let lanes: Vec<Lane> = lanes.into_iter().collect();
        if lanes.is_empty() {
            return;
        }
        let worker: Arc<str> = format!("worker_{}", self.random.below(3)).into();
        if self.random.percent(15) {
            return self.lease(worker, lanes, TASKS_MAX);
        }
        let lane = self.random.pick(&lanes).clone();
        let limit = 1 + self.random.below(2);
        self.lease(worker, vec![lane], limit);
    }

    fn lease(&mut self, worker: Arc<str>, lanes: Vec<Lane>, limit: usize) {
        if self.is_read_only {
            return;
        }
        let (lease_ms, sent) = (self.lease_ms(), self.clocks(0));
        let mut leased = self.storage().lease(&Wanted { worker, lanes, limit, lease_ms });
        leased.sort_by_key(|leased| leased.lease.place);
        for leased in leased {
            self.note(|| format!("leases: {:?}", leased.lease));
            let number = self.next_serial();
            self.leases.insert((leased.lease.place, leased.lease.fence), number);
            self.checks.see(&Seen::TaskLeased(&leased.lease), &self.disk);
            let place = leased.lease.place;
            let asked = Asked { term: self.task_term(&leased.lease, sent, lease_ms), lease_ms };
            self.arrivals.push(Arrival::Work(Errand::Start(leased, asked)));
            self.wake(place);
        }
    }

    /// Whoever had the task before and overslept often brings its result at the worst moment: now.
    fn wake(&mut self, place: Place) {
        let sleeps =
            |arrival: &Arrival| matches!(arrival, Arrival::Work(Errand::Oversleep(lease, _)) if lease.place == place);
        let Some(sleeper) = self.arrivals.iter().position(sleeps) else { return };
        if self.faults == Faults::On && self.random.percent(70) {
            let arrival = self.arrivals.swap_remove(sleeper);
            if let Arrival::Work(Errand::Oversleep(lease, result)) = arrival {
                self.deliver_task(lease, result);
            }
        }
    }

    /// A lease as the run records it. Each kind of storage has fences of its own, so the log gets the world's number.
    fn recorded(&self, lease: &Lease) -> CallLease {
        let Lease { place: Place { turn, call, .. }, attempt, ref worker, since, .. } = *lease;
        let fence = Fence(self.leases.get(&(lease.place, lease.fence)).copied().unwrap_or(0));
        CallLease { turn, call, attempt, fence, worker: Arc::clone(worker), since }
    }

    fn lease_ms(&mut self) -> u64 {
        LEASE_MS + self.random.below(LEASE_MS_MORE) as u64
    }

    /// Tasks whose workers are silent are handed out again, or a person is asked.
    fn notice_lapsed(&mut self) {
        let mut lapsed = self.storage().lapsed();
        lapsed.sort_by_key(|task| task.place);
        for task in lapsed {
            self.lost(&task, LossCause::LeaseLapsed);
        }
    }

    /// A worker says that it failed.
    fn fail(&mut self, lease: &Lease) {
        let task = self.storage().task(lease.place);
        if let Some(task) = task.filter(|task| task.is_held_under(lease)) {
            self.lost(&task, LossCause::WorkerFailed);
        }
    }

    fn lost(&mut self, task: &Task, cause: LossCause) {
        let Some(lease) = task.leased() else { return };
        let has_lapsed = cause == LossCause::LeaseLapsed;
        if self.is_read_only {
            return;
        }
        let overdue = task.deadline.is_some_and(|deadline| deadline <= self.now);
        let repeat = if self.makes(Mistake::RetriesNever) { Repeat::Safe } else { task.repeat };
        let cause = match task_loss(repeat, task.attempts, task.attempts_max) {
            AfterLoss::Retry { delay_ms } if !overdue => {
                let how = if has_lapsed { Release::Lapsed { delay_ms } } else { Release::Retry { delay_ms } };
                if self.storage().release(lease, how) == Grip::Held {
                    self.note(|| format!("handed out again: {lease:?}"));
                    self.checks.see(&Seen::TaskReleased(lease), &self.disk);
                }
                return;
            }
            AfterLoss::Ask(LossCause::OutOfAttempts) => LossCause::OutOfAttempts,
            AfterLoss::Retry { .. } | AfterLoss::Ask(_) => cause,
        };
        let (slot, fence) = (lease.place.slot, lease.fence);
        let guard = match has_lapsed {
            true if self.makes(Mistake::ClosesCompletedTask) => TaskGuard::Any,
            true => TaskGuard::Lapsed(fence),
            false => TaskGuard::Leased(fence),
        };
        let input = Input::TaskLost(TaskLost { lease: self.recorded(lease), cause });
        self.send_guarded(slot, input, Guards::only(lease.place, guard));
    }

    /// The run gets what was delivered, all of it or a part.
    pub(crate) fn fold(&mut self, slot: Slot) {
        let (mut tasks, guards) = self.completed(slot);
        if self.faults == Faults::On {
            tasks.retain(|_| !self.random.percent(15));
        }
        if tasks.is_empty() {
            return;
        }
        self.random.shuffle(&mut tasks);
        let guards = Guards { others: TaskGuard::Any, ..guards };
        self.send_guarded(slot, Input::TasksReturned(Box::new(TasksReturned { tasks })), guards);
    }

    /// The tasks that workers completed, and what must be true of all tasks of the run to close them for good.
    pub(crate) fn completed(&mut self, slot: Slot) -> (Vec<TaskReturned>, Guards) {
        if self.makes(Mistake::CancelsCompletedTask) {
            return (Vec::new(), Guards::none());
        }
        let mut tasks = Vec::new();
        let mut guards = Guards::others(TaskGuard::NoResult);
        for delivered in self.storage().delivered(slot) {
            let (place, fence) = (delivered.lease.place, delivered.lease.fence);
            let lease = CallLease { attempt: delivered.task.attempts, ..self.recorded(&delivered.lease) };
            let settlement =
                decode_delivery(&delivered.result).expect("a delivery reads back from the bytes written for it");
            guards.each.push((place, TaskGuard::Delivered(fence)));
            tasks.push(TaskReturned { lease, settlement });
        }
        (tasks, guards)
    }

    /// A worker goes on.
    pub(crate) fn work(&mut self, errand: Errand) {
        let faulty = self.faults == Faults::On;
        match errand {
            Errand::Start(leased, asked) => self.start_task(&leased, asked),
            // A slow worker: by the time it delivers, somebody else may have the task.
            Errand::Deliver(..) if faulty && self.random.percent(45) => self.arrivals.push(Arrival::Work(errand)),
            Errand::Oversleep(ref lease, _) if faulty && self.sleeps_on(lease) => {
                self.arrivals.push(Arrival::Work(errand));
            }
            Errand::Deliver(lease, result) | Errand::Oversleep(lease, result) => self.deliver_task(lease, result),
            Errand::Fail(lease) => self.fail(&lease),
        }
    }

    /// Whether nobody else has the task yet, and somebody still may.
    fn sleeps_on(&mut self, lease: &Lease) -> bool {
        let task = self.storage().task(lease.place);
        let taken = task.as_ref().and_then(Task::lease).is_some_and(|current| current.fence != lease.fence);
        task.is_some() && !taken && self.random.percent(95)
    }

    fn start_task(&mut self, leased: &Leased, asked: Asked) {
        let lease = &leased.lease;
        // Once for each lease. A worker that started does not say later that it did not, nor the other way round.
        if self.begun.contains(&(lease.place, lease.fence)) {
            return;
        }
        if self.faults == Faults::On && !self.is_read_only && self.random.percent(6) {
            self.begun.insert((lease.place, lease.fence));
            if self.storage().release(lease, Release::Unstarted) == Grip::Held {
                self.note(|| format!("gives back: {lease:?}"));
                self.checks.see(&Seen::TaskReleased(lease), &self.disk);
            }
            return;
        }
        match self.may_start_task(lease, asked.term, asked.lease_ms) {
            Some(true) => {}
            Some(false) => return,
            None => return self.arrivals.push(Arrival::Work(Errand::Start(leased.clone(), asked))),
        }
        self.begun.insert((lease.place, lease.fence));
        let stored = decode_task(&leased.body).expect("a task reads back from the bytes that were written for it");
        if self.has_changed(lease, &stored) || self.revoked(lease, &stored) {
            return;
        }
        self.run_task(lease, &stored);
    }

    /// Whether the tool is another one by now than when the task was handed out.
    fn has_changed(&mut self, lease: &Lease, stored: &StoredTask) -> bool {
        let Place { slot, turn, call } = lease.place;
        let Some(changed) = self.changed(&stored.tool, call, Some((turn, lease.attempt))) else { return false };
        self.note(|| format!("finds another tool: {lease:?}"));
        self.send_guarded(slot, changed, Guards::only(lease.place, TaskGuard::Leased(lease.fence)));
        true
    }

    /// Policy is asked when a worker is about to start.
    fn revoked(&mut self, lease: &Lease, stored: &StoredTask) -> bool {
        if stored.settings.recheck_policy == Recheck::Off {
            return false;
        }
        self.checks.see(&Seen::PolicyAsked { name: stored.task.executed_name.as_str() }, &self.disk);
        let decision = tools::recheck(&mut self.random);
        let asks = decision.asks_again(stored.approved.as_ref()).is_some();
        if !asks && !matches!(decision, Decision::Deny(_)) {
            return false;
        }
        let input = Input::TaskRevoked(TaskRevoked { lease: self.recorded(lease), decision });
        let guards = Guards::only(lease.place, TaskGuard::Leased(lease.fence));
        self.send_guarded(lease.place.slot, input, guards);
        true
    }

    fn run_task(&mut self, lease: &Lease, stored: &StoredTask) {
        let started = StartedTool {
            place: lease.place,
            attempt: lease.attempt,
            tool: Some(stored.task.executed_name.clone()),
            digest: Some(stored.task.arguments.digest()),
            known: self.disk.log(lease.place.slot).revision(),
            is_leased: self.is_leased_now(lease),
        };
        self.checks.see(&Seen::TaskStarted(&started), &self.disk);
        let faulty = self.faults == Faults::On;
        if faulty && !self.is_read_only && self.random.percent(20) {
            let lease_ms = self.lease_ms();
            let grip = self.storage().prolong(lease, lease_ms);
            self.note(|| format!("prolongs: {lease:?}: {grip:?}"));
        }
        let errand = match if faulty { self.random.weighted(&[82, 8, 10]) } else { 0 } {
            0 => {
                let serial = self.next_serial();
                let by = PlacedAttempt { place: lease.place, attempt: lease.attempt };
                self.checks.see(&Seen::ResultMade { serial, by }, &self.disk);
                let made = settlement(tools::result(&mut self.random, serial), Source::External);
                let result = encode_delivery(&made);
                if faulty && self.is_outsourced && self.random.percent(60) {
                    Errand::Oversleep(lease.clone(), result)
                } else {
                    Errand::Deliver(lease.clone(), result)
                }
            }
            1 => Errand::Fail(lease.clone()),
            _ => return self.note(|| format!("dies: {lease:?}")),
        };
        self.arrivals.push(Arrival::Work(errand));
    }

    fn deliver_task(&mut self, lease: Lease, result: Vec<u8>) {
        if self.is_read_only {
            return self.arrivals.push(Arrival::Work(Errand::Deliver(lease, result)));
        }
        let settlement = decode_delivery(&result).expect("a delivery reads back from the bytes written for it");
        let grip = self.storage().deliver(&lease, result);
        if grip == Grip::Held || self.makes(Mistake::AcknowledgesLateResult) {
            let (slot, serial) = (lease.place.slot, tools::serial_of(&settlement.result).unwrap_or(0));
            self.checks.see(&Seen::Acknowledged { slot, serial }, &self.disk);
            return self.note(|| format!("delivers: {lease:?}"));
        }
        self.note(|| format!("is late: {lease:?}"));
        let Lease { place: Place { slot, turn, call }, attempt, worker, .. } = lease;
        let late = TaskLate { turn, call, attempt, worker, result: settlement.result };
        self.send_open(slot, Input::TaskLate(Box::new(late)));
    }

    /// Without faults: the next thing that workers can do for a run is done. Returns whether there was something.
    pub(crate) fn work_off(&mut self, slot: Slot) -> bool {
        let tasks = self.storage().tasks().into_iter().filter(|task| task.place.slot == slot);
        let Some(task) = tasks.min_by_key(|task| task.place) else { return false };
        match task.state {
            State::Delivered(_) => self.fold(slot),
            State::Leased { until, .. } => {
                self.pass_until(until);
                self.lost(&task, LossCause::LeaseLapsed);
            }
            State::Waiting { available_at } => {
                self.pass_until(available_at);
                if task.deadline.is_some_and(|deadline| deadline <= self.now) {
                    self.send_open(slot, Input::Elapsed);
                } else {
                    self.lease("worker_0".into(), vec![task.lane], TASKS_MAX);
                }
            }
        }
        true
    }
}
