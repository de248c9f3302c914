//! Who drives which run.

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId, Timestamp};

use super::MemoryStore;
use super::entry::Entry;
use super::indexed::Keyed;
use super::runs::RunNo;
use super::table::Table;
use super::task_queue::TaskKey;
use crate::{
    Agents, CLAIM_LIMIT_MAX, ClaimRequest, DUE_LIMIT_MAX, Hold, LeaseOf, LeaseState, OverlongLease, OwnerId, RunLeases,
    StoreError, TaskState,
};

/// A run that is to go on, kept under the number of the run.
pub(super) struct Running {
    owner: Option<OwnerId>,
    /// When the lease lapses, or since when nobody holds it.
    free_at: Timestamp,
    lease_ms: u64,
}

impl Running {
    pub(super) fn new(hold: Option<&Hold>, now: Timestamp) -> Self {
        let lease_ms = hold.map_or(0, Hold::length_ms);
        Self { owner: hold.map(|hold| hold.owner.clone()), free_at: now.plus_ms(lease_ms), lease_ms }
    }
}

impl Keyed for Running {
    type Key = Timestamp;

    fn keys(&self) -> impl Iterator<Item = Timestamp> {
        std::iter::once(self.free_at)
    }
}

impl Table {
    /// The runs that can be claimed from `first` to `last`, if they are of these agents.
    fn free_between(
        &self,
        first: Timestamp,
        last: Timestamp,
        agents: &Agents,
    ) -> impl Iterator<Item = (RunNo, &Entry, &Running)> {
        let running = self.running.range(first, last);
        let running = running.filter_map(|(run, running)| Some((RunNo(run), self.runs.get(RunNo(run))?, running)));
        running.filter(|(_, entry, _)| self.owners.is_of(entry.owner, agents))
    }
}

#[async_trait]
impl RunLeases for MemoryStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let number = table.runs.number_of(run);
        let held = number.filter(|RunNo(number)| {
            table.running.rows().get(number).is_some_and(|running| running.owner.as_ref() == Some(&hold.owner))
        });
        let Some(RunNo(number)) = held else { return Ok(LeaseState::Lost) };
        table.running.put(number, Running::new(Some(hold), now));
        Ok(LeaseState::Held)
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let claimable = table.free_between(Timestamp(i64::MIN), now, &request.agents);
        let claimable = claimable.take(request.limit.min(CLAIM_LIMIT_MAX));
        let (numbers, runs): (Vec<_>, Vec<_>) = claimable.map(|(number, entry, _)| (number, entry.run.clone())).unzip();
        for RunNo(number) in numbers {
            table.running.put(number, Running::new(Some(&request.hold), now));
        }
        Ok(runs)
    }

    async fn overlong(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError> {
        let now = self.clock.lease_moment();
        let table = self.table();
        let runs = table.free_between(now, Timestamp(i64::MAX), agents).map(|(_, entry, running)| OverlongLease {
            of: LeaseOf::Run(entry.run.clone()),
            until: running.free_at,
            lease_ms: running.lease_ms,
        });
        let leased = table.tasks.range(TaskKey::Leased(now), TaskKey::Leased(Timestamp(i64::MAX)));
        let leased = leased.map(|(_, task)| &task.head).filter(|task| agents.contains(&task.agent));
        let tasks = leased.filter_map(|task| match task.state {
            TaskState::Leased { until, lease_ms, .. } => {
                Some(OverlongLease { of: LeaseOf::Task(task.key.clone()), until, lease_ms })
            }
            TaskState::Waiting { .. } | TaskState::Delivered { .. } => None,
        });
        let overlong = runs.chain(tasks).filter(|lease| lease.until > now.plus_ms(lease.lease_ms));
        Ok(overlong.take(limit.min(DUE_LIMIT_MAX)).collect())
    }

    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let (LeaseOf::Run(run) | LeaseOf::Task(CallKey { run, .. })) = &lease.of;
        let Some(run) = table.runs.number_of(run) else { return Ok(false) };
        let end = |until: &mut Timestamp| {
            let is_it = *until == lease.until;
            *until = if is_it { now } else { *until };
            is_it
        };
        let ended = match lease.of {
            LeaseOf::Run(_) => table.running.change(run.0, |running| end(&mut running.free_at)),
            LeaseOf::Task(CallKey { turn, index, .. }) => {
                let task = table.tasks.find(&TaskKey::Call((run, turn, index))).map(|(number, _)| number);
                task.and_then(|task| {
                    table.tasks.change(task, |task| match &mut task.head.state {
                        TaskState::Leased { until, .. } => end(until),
                        TaskState::Waiting { .. } | TaskState::Delivered { .. } => false,
                    })
                })
            }
        };
        Ok(ended.unwrap_or(false))
    }
}
