//! The storage of most worlds: a few tables in memory, as simple as the contract of a store can be written down.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::{GrantId, Revision, Status, Timestamp, ToolName};
use holdpoint_store::{GrantOpening, Hold, OwnerId, Release, Transition};

use crate::disk::{Disk, Slot};
use crate::mistake::Mistake;
use crate::queue::Queue;
use crate::storage::{Delivered, Grip, Lease, Leased, Place, Refused, Storage, Task, TaskStorage, Wanted};
use crate::stored::Record;

/// The model of a store.
pub(crate) struct Model {
    mistake: Option<Mistake>,
    now: Timestamp,
    heads: BTreeMap<Slot, Head>,
    queue: Queue,
    /// The oldest first.
    grants: Vec<Given>,
}

/// What a person said about calls that are yet to come.
struct Given {
    slot: Slot,
    opening: GrantOpening,
    is_revoked: bool,
}

/// What is known of a log. The bystanders keep its records.
struct Head {
    revision: Revision,
    status: Status,
    deadline: Option<Timestamp>,
    owner: Option<OwnerId>,
    /// From when on it can be claimed.
    free_at: Timestamp,
}

impl Model {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        let queue = Queue::new(mistake);
        Self { mistake, now: Timestamp(0), heads: BTreeMap::new(), queue, grants: Vec::new() }
    }

    fn slots(&self, fits: impl Fn(&Slot, &Head) -> bool) -> Vec<Slot> {
        self.heads.iter().filter(|(slot, head)| fits(slot, head)).map(|(slot, _)| *slot).collect()
    }
}

impl Head {
    fn hold(&mut self, hold: Option<&Hold>, now: Timestamp) {
        self.owner = hold.map(|hold| hold.owner.clone());
        self.free_at = hold.map_or(now, |hold| now.plus_ms(hold.lease_ms));
    }
}

fn is_paused(status: Status) -> bool {
    matches!(status, Status::AwaitingToolConfirmation | Status::AwaitingToolResults)
}

impl Storage for Model {
    fn set_clock(&mut self, now: Timestamp) {
        self.now = now;
    }

    fn commit(&mut self, slot: Slot, at: Revision, transition: Transition) -> Result<Vec<Record>, Refused> {
        let found = self.heads.get(&slot).map_or(Revision(0), |head| head.revision);
        if found != at && self.mistake != Some(Mistake::MergesStale) {
            return Err(Refused::Stale);
        }
        if found == at && !self.queue.allows(slot, &transition.tasks, self.now) {
            return Err(Refused::LeaseLost);
        }
        let Transition { records, head, hold, tasks, grants, .. } = transition;
        self.grants.extend(grants.into_iter().map(|opening| Given { slot, opening, is_revoked: false }));
        let revision = Revision(found.0 + records.len() as u64);
        let (status, deadline) = (head.status, head.deadline);
        let mut kept = Head { revision, status, deadline, owner: None, free_at: self.now };
        kept.hold(hold.as_ref(), self.now);
        self.heads.insert(slot, kept);
        self.queue.apply(slot, &head.agent.unwrap_or_else(|| Arc::from("")), tasks, self.now);
        Ok(records)
    }

    fn load(&mut self, _: Slot) -> Option<Vec<Record>> {
        None
    }

    fn claim(&mut self, hold: &Hold) -> Vec<Slot> {
        let now = self.now;
        let free = self.slots(|_, head| head.status == Status::Running && head.free_at <= now);
        for slot in &free {
            if let Some(head) = self.heads.get_mut(slot) {
                head.hold(Some(hold), now);
            }
        }
        free
    }

    fn renew(&mut self, slot: Slot, hold: &Hold) -> Grip {
        let Some(head) = self.heads.get_mut(&slot) else { return Grip::Lost };
        if head.status != Status::Running || head.owner.as_ref() != Some(&hold.owner) {
            return Grip::Lost;
        }
        head.hold(Some(hold), self.now);
        Grip::Held
    }

    fn due(&mut self) -> Vec<Slot> {
        let now = self.now;
        self.slots(|_, head| head.deadline.is_some_and(|deadline| deadline <= now))
    }

    fn grants_for(&mut self, tool: &ToolName) -> Vec<Arc<[u8]>> {
        let now = self.now;
        let holds = |given: &&Given| {
            let lasts = given.opening.until.is_none_or(|until| until > now);
            given.opening.tool == *tool && lasts && !given.is_revoked
        };
        self.grants.iter().rev().filter(holds).map(|given| given.opening.body.clone().into()).collect()
    }

    fn revoke(&mut self, slot: Slot, grant: &GrantId) -> bool {
        let found = self.grants.iter_mut().find(|given| given.slot == slot && *given.opening.id == *grant.as_str());
        found.is_some_and(|given| !std::mem::replace(&mut given.is_revoked, true))
    }

    /// What is in it is what is durable.
    fn crash(&mut self) {}

    /// The bystanders see it, and nothing else.
    fn disagreements(&mut self, _: &Disk) -> Vec<String> {
        Vec::new()
    }
}

impl TaskStorage for Model {
    fn lease(&mut self, wanted: &Wanted) -> Vec<Leased> {
        self.queue.lease(wanted, self.now)
    }

    fn prolong(&mut self, lease: &Lease, lease_ms: u64) -> Grip {
        self.queue.prolong(lease, self.now, lease_ms)
    }

    fn deliver(&mut self, lease: &Lease, result: Vec<u8>) -> Grip {
        self.queue.deliver(lease, result)
    }

    fn release(&mut self, lease: &Lease, how: Release) -> Grip {
        self.queue.release(lease, how, self.now)
    }

    fn delivered(&mut self, slot: Slot) -> Vec<Delivered> {
        self.queue.delivered(slot)
    }

    fn arrivals(&mut self) -> Vec<Slot> {
        self.slots(|slot, head| is_paused(head.status) && !self.queue.delivered(*slot).is_empty())
    }

    fn lapsed(&mut self) -> Vec<Task> {
        self.queue.lapsed(self.now)
    }

    fn task(&mut self, place: Place) -> Option<Task> {
        self.queue.get(place).cloned()
    }

    fn tasks(&mut self) -> Vec<Task> {
        self.queue.all()
    }
}
