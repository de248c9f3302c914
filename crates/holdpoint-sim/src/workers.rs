//! Workers and whoever watches over them: they lease, start, die, deliver in time or late, and lose what they had.

use std::sync::Arc;

use holdpoint_codec::tasks::{StoredTask, decode_delivery, decode_task, encode_delivery};
use holdpoint_core::{
    AfterLoss, Decision, Input, LossCause, Recheck, Source, TaskLate, TaskLost, TaskReturned, TaskRevoked,
    TasksReturned, task_loss,
};

use crate::arrivals::Arrival;
use crate::checks::{Seen, StartedTool};
use crate::disk::Slot;
use crate::driver::settlement;
use crate::queue::{Guards, Lease, Place, State};
use crate::tools;
use crate::world::{Faults, World};

/// The shortest lease. Some steps of the world take longer than that.
const LEASE_MS: u64 = 4_000;

/// What a worker is about to do.
#[derive(Clone, Debug)]
pub(crate) enum Errand {
    /// Start a task that it leased.
    Start(Lease),
    /// Bring what the tool gave.
    Deliver(Lease, Vec<u8>),
    /// Say that it failed after it had started.
    Fail(Lease),
}

impl World {
    /// Something happens around the queue.
    pub(crate) fn tend_queue(&mut self) {
        match self.random.weighted(&[50, 25, 25]) {
            0 => self.lease_one(),
            1 => self.notice_lapsed(),
            _ => {
                let slots: Vec<Slot> = self.disk.slots().collect();
                let slot = *self.random.pick(&slots);
                self.fold(slot);
            }
        }
    }

    fn lease_one(&mut self) {
        let waiting = self.queue.waiting(self.now);
        if waiting.is_empty() {
            return;
        }
        let place = *self.random.pick(&waiting);
        let worker: Arc<str> = format!("worker_{}", self.random.below(3)).into();
        self.lease(place, worker);
    }

    fn lease(&mut self, place: Place, worker: Arc<str>) {
        let until = self.now.plus_ms(LEASE_MS + self.random.below(20_000) as u64);
        let Some(lease) = self.queue.lease(place, worker, (self.now, until)) else { return };
        self.note(|| format!("{} leases {:?} as attempt {}", lease.worker, lease.place, lease.attempt));
        self.checks.see(&Seen::TaskLeased(&lease), &self.disk);
        self.arrivals.push(Arrival::Work(Errand::Start(lease)));
    }

    /// Tasks whose workers are silent are handed out again, or a person is asked.
    fn notice_lapsed(&mut self) {
        for lease in self.queue.lapsed(self.now) {
            self.lost(&lease, LossCause::LeaseLapsed);
        }
    }

    fn lost(&mut self, lease: &Lease, cause: LossCause) {
        let Some(task) = self.queue.get(&lease.place) else { return };
        if !matches!(&task.state, State::Leased(current) if current.fence == lease.fence) {
            return;
        }
        let overdue = task.deadline.is_some_and(|deadline| deadline <= self.now);
        let cause = match task_loss(task.repeat, task.attempts, task.attempts_max) {
            AfterLoss::Retry { delay_ms } if !overdue => {
                self.note(|| format!("{:?} is handed out again", lease.place));
                self.queue.retry(lease, self.now.plus_ms(delay_ms));
                return self.checks.see(&Seen::TaskReleased(lease), &self.disk);
            }
            AfterLoss::Ask(LossCause::OutOfAttempts) => LossCause::OutOfAttempts,
            AfterLoss::Retry { .. } | AfterLoss::Ask(_) => cause,
        };
        let Lease { place: (slot, turn, call), fence, attempt, worker, since, .. } = lease.clone();
        let input = Input::TaskLost(TaskLost { turn, call, attempt, worker, since, cause });
        self.send_guarded(slot, input, Guards::Leases(vec![(lease.place, fence)]));
    }

    /// The run gets what was delivered, all of it or a part.
    pub(crate) fn fold(&mut self, slot: Slot) {
        let mut tasks = Vec::new();
        let mut leases = Vec::new();
        let delivered = self.queue.of(slot).filter_map(|(_, task)| match &task.state {
            State::Delivered(lease, result) => Some((lease.clone(), task.attempts, result.clone())),
            State::Leased(_) | State::Waiting { .. } => None,
        });
        let delivered: Vec<_> = delivered.collect();
        for (lease, attempt, result) in delivered {
            if self.faults == Faults::On && self.random.percent(15) {
                continue;
            }
            let (_, turn, call) = lease.place;
            let settlement = decode_delivery(&result).expect("a delivery reads back from the bytes written for it");
            leases.push((lease.place, lease.fence));
            tasks.push(TaskReturned { turn, call, attempt, worker: lease.worker, since: lease.since, settlement });
        }
        if tasks.is_empty() {
            return;
        }
        self.random.shuffle(&mut tasks);
        self.send_guarded(slot, Input::TasksReturned(Box::new(TasksReturned { tasks })), Guards::Leases(leases));
    }

    /// A worker goes on.
    pub(crate) fn work(&mut self, errand: Errand) {
        match errand {
            Errand::Start(lease) => self.start_task(lease),
            // A slow worker: by the time it delivers, somebody else may have the task.
            Errand::Deliver(..) if self.faults == Faults::On && self.random.percent(45) => {
                self.arrivals.push(Arrival::Work(errand));
            }
            Errand::Deliver(lease, result) => self.deliver_task(lease, result),
            Errand::Fail(lease) => self.lost(&lease, LossCause::WorkerFailed),
        }
    }

    fn start_task(&mut self, lease: Lease) {
        let faulty = self.faults == Faults::On;
        if faulty && self.random.percent(6) {
            if self.queue.give_back(&lease, self.now) {
                self.note(|| format!("{} gives {:?} back", lease.worker, lease.place));
                self.checks.see(&Seen::TaskReleased(&lease), &self.disk);
            }
            return;
        }
        let Some(body) = self.queue.get(&lease.place).map(|task| task.body.clone()) else { return };
        if !self.queue.begin(&lease) {
            return;
        }
        let stored = decode_task(&body).expect("a task reads back from the bytes that were written for it");
        if self.revoked(&lease, &stored) {
            return;
        }
        self.run_task(&lease, &stored);
    }

    /// Policy is asked when a worker is about to start.
    fn revoked(&mut self, lease: &Lease, stored: &StoredTask) -> bool {
        if stored.settings.recheck_policy == Recheck::Off {
            return false;
        }
        self.checks.see(&Seen::PolicyAsked { name: stored.task.executed_name.as_str() }, &self.disk);
        let decision = tools::recheck(&mut self.random);
        if !matches!(decision, Decision::Deny(_)) {
            return false;
        }
        let Lease { place: (slot, turn, call), fence, attempt, worker, since, .. } = lease.clone();
        let input = Input::TaskRevoked(TaskRevoked { turn, call, attempt, worker, since, decision });
        self.send_guarded(slot, input, Guards::Leases(vec![(lease.place, fence)]));
        true
    }

    fn run_task(&mut self, lease: &Lease, stored: &StoredTask) {
        let (slot, turn, call) = lease.place;
        let started = StartedTool {
            slot,
            turn,
            call,
            attempt: lease.attempt,
            tool: Some(stored.task.executed_name.clone()),
            digest: Some(stored.task.arguments.digest()),
            known: self.disk.log(slot).revision(),
        };
        self.checks.see(&Seen::TaskStarted(&started), &self.disk);
        let faulty = self.faults == Faults::On;
        if faulty && self.random.percent(20) {
            let until = self.now.plus_ms(LEASE_MS + self.random.below(20_000) as u64);
            self.queue.prolong(lease, until);
        }
        let errand = match if faulty { self.random.weighted(&[82, 8, 10]) } else { 0 } {
            0 => {
                let serial = self.next_serial();
                self.checks.see(&Seen::ResultMade { serial, by: (slot, turn, call, lease.attempt) }, &self.disk);
                let made = settlement(tools::result(&mut self.random, serial), Source::External);
                Errand::Deliver(lease.clone(), encode_delivery(&made))
            }
            1 => Errand::Fail(lease.clone()),
            _ => return self.note(|| format!("{} dies with {:?}", lease.worker, lease.place)),
        };
        self.arrivals.push(Arrival::Work(errand));
    }

    fn deliver_task(&mut self, lease: Lease, result: Vec<u8>) {
        let settlement = decode_delivery(&result).expect("a delivery reads back from the bytes written for it");
        if self.queue.deliver(&lease, result) {
            return self.note(|| format!("{} delivers {:?}", lease.worker, lease.place));
        }
        self.note(|| format!("{} is late with {:?}", lease.worker, lease.place));
        let Lease { place: (slot, turn, call), attempt, worker, .. } = lease;
        let late = TaskLate { turn, call, attempt, worker, result: settlement.result };
        self.send_open(slot, Input::TaskLate(Box::new(late)));
    }

    /// Without faults: the next thing that workers can do for a run is done. Returns whether there was something.
    pub(crate) fn work_off(&mut self, slot: Slot) -> bool {
        let first = self.queue.of(slot).next();
        let Some((place, state, deadline)) = first.map(|(place, task)| (*place, task.state.clone(), task.deadline))
        else {
            return false;
        };
        match state {
            State::Delivered(..) => self.fold(slot),
            State::Leased(lease) => {
                self.now = self.now.max(lease.until);
                self.lost(&lease, LossCause::LeaseLapsed);
            }
            State::Waiting { available_at } => {
                self.now = self.now.max(available_at);
                if deadline.is_some_and(|deadline| deadline <= self.now) {
                    self.send_open(slot, Input::Elapsed);
                } else {
                    self.lease(place, "worker_0".into());
                }
            }
        }
        true
    }
}
