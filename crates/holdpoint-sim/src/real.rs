//! A world on a store: what the world asks is asked of the store, under names that no other world has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdpoint_core::{
    CallIndex, CallKey, ContinuationId, Event, GrantId, Revision, Run, RunId, Timestamp, ToolName, Turn,
};
use holdpoint_store::{
    ClaimRequest, CommitError, GrantFilter, Hold, LIST_LIMIT_MAX, LeaseRequest, LeaseState, OwnerId, PruneRequest,
    QuestionFilter, Release, Scope, Store, StoreError, TaskCompletion, TaskFilter, TaskHead, TaskLease, TaskState,
    Transition,
};

use crate::backing::{Opener, WorldClock};
use crate::disk::{Disk, Slot};
use crate::history::Standing;
use crate::storage::{
    AGENTS, Delivered, Grip, Lease, Leased, Place, Refused, State, Storage, Task, TaskStorage, Wanted,
};
use crate::stored::{self, Record};
use crate::transition::{asked, deferred};

/// More than a world has of anything.
const LIMIT: usize = LIST_LIMIT_MAX;

/// The part of a store that belongs to one world.
pub(crate) struct Real {
    opener: Opener,
    clock: Arc<WorldClock>,
    store: Store,
    /// Stands before every name, and is the tenant: many worlds share one store.
    space: Arc<str>,
    /// What was written into the audit log.
    audits: BTreeMap<Slot, Vec<Vec<u8>>>,
    /// The grants that were taken back.
    revoked: BTreeSet<Arc<str>>,
}

impl Real {
    /// # Panics
    /// When the store cannot be opened: a world cannot go on without.
    pub(crate) fn new(opener: Opener) -> Self {
        let clock = Arc::new(WorldClock::default());
        let store = answered(opener.open(&clock));
        let space = OwnerId::unique().as_str().into();
        Self { opener, clock, store, space, audits: BTreeMap::new(), revoked: BTreeSet::new() }
    }

    fn run_id(&self, slot: Slot) -> RunId {
        RunId::new(format!("{}.{}", self.space, slot.0))
    }

    fn slot(&self, run: &RunId) -> Slot {
        let number = run.as_str().strip_prefix(&*self.space).and_then(|rest| rest.strip_prefix('.'));
        let number = number.and_then(|number| number.parse().ok());
        Slot(number.expect("a store names only runs of the agents that it was asked about"))
    }

    /// A grant under a name that no other world has. A run that was imported has two logs, which name theirs alike.
    fn grant_id(&self, slot: Slot, grant: &str) -> Arc<str> {
        format!("{}.{}.{grant}", self.space, slot.0).into()
    }

    fn slots(&self, runs: &[RunId]) -> Vec<Slot> {
        let mut slots: Vec<Slot> = runs.iter().map(|run| self.slot(run)).collect();
        slots.sort_unstable();
        slots
    }

    fn key(&self, place: Place) -> CallKey {
        CallKey { run: self.run_id(place.slot), turn: place.turn, index: place.call }
    }

    fn place(&self, key: &CallKey) -> Place {
        Place { slot: self.slot(&key.run), turn: key.turn, call: key.index }
    }

    fn lease_of(&self, lease: &Lease) -> TaskLease {
        TaskLease { key: self.key(lease.place), fence: lease.fence }
    }

    fn agent(&self, name: &str) -> Arc<str> {
        format!("{}.{name}", self.space).into()
    }

    fn agents(&self) -> Vec<Arc<str>> {
        AGENTS.iter().map(|name| self.agent(name)).collect()
    }

    fn continuation(&self, slot: Slot, run: &Run) -> Option<ContinuationId> {
        run.continuation().map(|id| ContinuationId { run: self.run_id(slot), ..id })
    }

    fn task_of(&self, head: &TaskHead) -> Task {
        let place = self.place(&head.key);
        let lease = |worker: &Arc<str>, fence, since| Lease {
            place,
            fence,
            attempt: head.attempts,
            worker: Arc::clone(worker),
            since,
        };
        let state = match &head.state {
            TaskState::Waiting { available_at } => State::Waiting { available_at: *available_at },
            TaskState::Leased { worker, fence, since, until, .. } => {
                State::Leased { lease: lease(worker, *fence, *since), until: *until }
            }
            TaskState::Delivered { worker, fence, since } => State::Delivered(lease(worker, *fence, *since)),
        };
        let agent = head.agent.strip_prefix(&*self.space).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
        Task {
            place,
            lane: (agent.into(), head.tool.clone()),
            repeat: head.repeat,
            attempts: head.attempts,
            attempts_max: head.attempts_max,
            deadline: head.deadline,
            state,
        }
    }

    fn ask<T, E: std::error::Error>(&self, answer: impl Future<Output = Result<T, E>>) -> T {
        answered(self.opener.runtime.block_on(answer))
    }

    fn records(&self, slot: Slot, after: Revision) -> Vec<Record> {
        match self.opener.runtime.block_on(self.store.runs.load(&Scope::All, &self.run_id(slot), after)) {
            Err(StoreError::NotFound { .. }) => Vec::new(),
            read => answered(read).iter().map(|record| record.body.to_vec()).collect(),
        }
    }
}

/// What a store answered.
///
/// # Panics
/// When it failed.
fn answered<T, E: std::error::Error>(answer: Result<T, E>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            panic!("{error}{cause}")
        }
    }
}

fn grip(state: LeaseState) -> Grip {
    match state {
        LeaseState::Held => Grip::Held,
        LeaseState::Lost => Grip::Lost,
    }
}

impl Storage for Real {
    fn set_clock(&mut self, now: Timestamp) {
        self.clock.set(now);
    }

    fn commit(&mut self, slot: Slot, at: Revision, mut transition: Transition) -> Result<Vec<Record>, Refused> {
        let run = self.run_id(slot);
        let head = &mut transition.head;
        head.agent = Some(self.agent(head.agent.as_deref().unwrap_or_default()));
        head.tenant = Some(Arc::clone(&self.space));
        head.continuation = head.continuation.take().map(|id| ContinuationId { run: run.clone(), ..id });
        for grant in &mut transition.grants {
            grant.id = self.grant_id(slot, &grant.id);
        }
        let count = transition.records.len() as u64;
        let audit = transition.audit.clone();
        let revision = match self.opener.runtime.block_on(self.store.runs.commit(&run, at, transition)) {
            Err(CommitError::Stale { .. }) => return Err(Refused::Stale),
            Err(CommitError::LeaseLost) => return Err(Refused::LeaseLost),
            committed @ (Ok(_) | Err(CommitError::SessionBusy | CommitError::Invalid(_) | CommitError::Store(_))) => {
                answered(committed)
            }
        };
        self.audits.entry(slot).or_default().extend(audit);
        Ok(self.records(slot, Revision(revision.0.saturating_sub(count))))
    }

    fn load(&mut self, slot: Slot) -> Option<Vec<Record>> {
        Some(self.records(slot, Revision(0)))
    }

    fn claim(&mut self, hold: &Hold) -> Vec<Slot> {
        let request = ClaimRequest { hold: hold.clone(), agents: self.agents(), limit: LIMIT };
        self.slots(&self.ask(self.store.leases.claim(&request)))
    }

    fn renew(&mut self, slot: Slot, hold: &Hold) -> Grip {
        grip(self.ask(self.store.leases.renew(&self.run_id(slot), hold)))
    }

    fn due(&mut self) -> Vec<Slot> {
        self.slots(&self.ask(self.store.runs.due(&self.agents(), self.store.runs.now(), LIMIT)))
    }

    fn grants_for(&mut self, tool: &ToolName) -> Vec<Arc<[u8]>> {
        let rows = self.ask(self.store.grants.matching(Some(&self.space), tool));
        rows.into_iter().map(|row| row.body).collect()
    }

    fn revoke(&mut self, slot: Slot, grant: &GrantId) -> bool {
        let id = self.grant_id(slot, grant.as_str());
        let done = self.ask(self.store.grants.revoke(Some(&self.space), &id, "somebody"));
        self.revoked.insert(id);
        done
    }

    /// The handle goes, with everything that it knew, and another one is opened.
    fn crash(&mut self) {
        if !self.opener.ends_with_handle() {
            self.store = answered(self.opener.open(&self.clock));
        }
    }

    fn disagreements(&mut self, disk: &Disk) -> Vec<String> {
        let mut found = Vec::new();
        for slot in disk.slots().filter(|slot| disk.log(*slot).revision() > Revision(0)) {
            let wrong = self.wrong_about(slot, disk).into_iter().chain(self.wrong_tasks(slot, disk));
            let wrong = wrong.chain(self.wrong_questions(slot, disk)).collect::<Vec<_>>().into_iter();
            found.extend(wrong.map(|what| format!("log {}: {what}", slot.0)));
        }
        found.extend(self.wrong_grants(disk));
        found.extend(self.cleared(disk));
        found
    }
}

impl TaskStorage for Real {
    fn lease(&mut self, wanted: &Wanted) -> Vec<Leased> {
        let request = LeaseRequest {
            worker: Arc::clone(&wanted.worker),
            tools: wanted.lanes.iter().map(|(agent, tool)| (self.agent(agent), tool.clone())).collect(),
            tenant: Some(Arc::clone(&self.space)),
            limit: wanted.limit,
            lease_ms: wanted.lease_ms,
        };
        let leased = self.ask(self.store.tasks.lease(&request));
        let leased = leased.into_iter().filter_map(|leased| {
            let lease = self.task_of(&leased.task).leased()?.clone();
            (lease.fence == leased.lease.fence).then_some(Leased { lease, body: leased.body })
        });
        leased.collect()
    }

    fn prolong(&mut self, lease: &Lease, lease_ms: u64) -> Grip {
        let states = self.ask(self.store.tasks.heartbeat(&[self.lease_of(lease)], lease_ms));
        states.first().map_or(Grip::Lost, |state| grip(*state))
    }

    fn deliver(&mut self, lease: &Lease, result: Vec<u8>) -> Grip {
        match self.ask(self.store.tasks.complete(&self.lease_of(lease), result)) {
            TaskCompletion::Stored | TaskCompletion::Present => Grip::Held,
            TaskCompletion::LeaseLost => Grip::Lost,
        }
    }

    fn release(&mut self, lease: &Lease, how: Release) -> Grip {
        grip(self.ask(self.store.tasks.release(&self.lease_of(lease), how)))
    }

    fn delivered(&mut self, slot: Slot) -> Vec<Delivered> {
        let delivered = self.ask(self.store.tasks.completed(&self.run_id(slot)));
        let delivered = delivered.into_iter().filter_map(|delivered| {
            let task = self.task_of(&delivered.task);
            let lease = task.lease()?.clone();
            Some(Delivered { task, lease, result: delivered.result })
        });
        delivered.collect()
    }

    fn arrivals(&mut self) -> Vec<Slot> {
        self.slots(&self.ask(self.store.tasks.collectable(&self.agents(), LIMIT)))
    }

    fn lapsed(&mut self) -> Vec<Task> {
        let lapsed = self.ask(self.store.tasks.lapsed(&self.agents(), LIMIT));
        lapsed.iter().map(|head| self.task_of(head)).collect()
    }

    fn task(&mut self, place: Place) -> Option<Task> {
        self.ask(self.store.tasks.find(&Scope::All, &self.key(place))).map(|head| self.task_of(&head))
    }

    fn tasks(&mut self) -> Vec<Task> {
        let tenant = Some(Arc::clone(&self.space));
        let page = self.ask(self.store.tasks.list(&TaskFilter { tenant, limit: Some(LIMIT), ..TaskFilter::default() }));
        page.items.iter().map(|head| self.task_of(head)).collect()
    }
}

impl Real {
    /// What the store says of a log, against what was seen of it.
    fn wrong_about(&self, slot: Slot, disk: &Disk) -> Option<String> {
        let (log, id) = (disk.log(slot), self.run_id(slot));
        let Some(head) = self.ask(self.store.runs.head(&Scope::All, &id)) else {
            return Some("it is not there".to_owned());
        };
        let seen = (log.revision(), log.run().status(), log.run().next_deadline());
        let stored = (head.revision, head.status, head.deadline);
        if seen != stored {
            return Some(format!("its head is {stored:?} and should be {seen:?}"));
        }
        if head.continuation != self.continuation(slot, log.run()) {
            return Some("its head names another pause".to_owned());
        }
        if self.records(slot, Revision(0)) != log.records() {
            return Some("its records are not those that were acknowledged".to_owned());
        }
        let audit = self.ask(self.store.audit.rows(&Scope::All, &id));
        let written = self.audits.get(&slot).map_or(&[][..], Vec::as_slice);
        let same = audit.iter().map(|row| &*row.body).eq(written.iter().map(Vec::as_slice));
        (!same).then(|| "its audit rows are not those that were written".to_owned())
    }

    /// A task is there exactly as long as its call is out.
    fn wrong_tasks(&mut self, slot: Slot, disk: &Disk) -> Option<String> {
        let out: BTreeSet<(Turn, CallIndex)> = deferred(disk.log(slot).run()).into_keys().collect();
        let tasks = self.tasks().into_iter().filter(|task| task.place.slot == slot);
        let tasks: BTreeSet<_> = tasks.map(|task| (task.place.turn, task.place.call)).collect();
        (out != tasks).then(|| format!("the calls that are out are {out:?}, the tasks are {tasks:?}"))
    }

    /// A question is pending exactly as long as its call waits for people, and shows what the call is.
    fn wrong_questions(&self, slot: Slot, disk: &Disk) -> Option<String> {
        let open = asked(disk.log(slot).run());
        let filter = QuestionFilter { run: Some(self.run_id(slot)), limit: Some(LIMIT), ..QuestionFilter::default() };
        let rows = self.ask(self.store.approvals.list(&filter)).items;
        let rows: BTreeMap<_, _> = rows.iter().map(|row| ((row.key.turn, row.key.index), row.body.to_vec())).collect();
        (open != rows)
            .then(|| format!("{} calls wait for people, and {} questions are pending", open.len(), rows.len()))
    }

    /// What people said is there exactly if a log says so, and exactly what was taken back is marked.
    fn wrong_grants(&self, disk: &Disk) -> Option<String> {
        let mut given = BTreeSet::new();
        for slot in disk.slots() {
            for record in disk.log(slot).records() {
                if let Event::GrantGiven { grant, .. } = stored::read(record).event {
                    given.insert(self.grant_id(slot, grant.id.as_str()));
                }
            }
        }
        let tenant = Some(Arc::clone(&self.space));
        let listed =
            self.ask(self.store.grants.list(&GrantFilter { tenant, limit: Some(LIMIT), ..GrantFilter::default() }));
        let ids: BTreeSet<Arc<str>> = listed.items.iter().map(|row| Arc::clone(&row.id)).collect();
        let revoked = listed.items.iter().filter(|row| row.revoked.is_some());
        let revoked: BTreeSet<Arc<str>> = revoked.map(|row| Arc::clone(&row.id)).collect();
        if ids != given {
            return Some(format!("{} grants were given, {} are there", given.len(), ids.len()));
        }
        (revoked != self.revoked).then(|| "others are marked as taken back than were".to_owned())
    }

    /// Removes what is over, which is all of it in a sound world.
    fn cleared(&self, disk: &Disk) -> Option<String> {
        let tenant = Some(Arc::clone(&self.space));
        let removed =
            self.ask(self.store.runs.prune(&PruneRequest { before: Timestamp(i64::MAX), tenant, limit: LIMIT }));
        let over = disk.slots().filter(|slot| disk.log(*slot).history.standing == Standing::Ended);
        let over: Vec<Slot> = over.collect();
        let left = over.iter().filter(|slot| !self.records(**slot, Revision(0)).is_empty()).count();
        let same = left == 0 && self.slots(&removed).iter().filter(|slot| over.contains(slot)).count() == over.len();
        (!same).then(|| format!("of {} runs that are over {} were removed", over.len(), removed.len()))
    }
}
