//! Who drives which run.

use std::collections::{BTreeSet, HashMap};
use std::mem::size_of;

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId, Timestamp};

use super::MemoryStore;
use super::runs::RunNo;
use crate::{
    Agents, CLAIM_LIMIT_MAX, ClaimRequest, DUE_LIMIT_MAX, Hold, LeaseOf, LeaseState, OverlongLease, OwnerId, RunLeases,
    StoreError,
};

/// The running runs, and no others, by number and by the moment from which they can be claimed.
#[derive(Default)]
pub(super) struct Holds {
    running: HashMap<RunNo, Running>,
    free: BTreeSet<(Timestamp, RunNo)>,
}

struct Running {
    owner: Option<OwnerId>,
    /// When the lease lapses, or since when nobody holds it.
    free_at: Timestamp,
    lease_ms: u64,
}

impl Holds {
    /// The run goes on, in these hands.
    pub(super) fn set(&mut self, run: RunNo, hold: Option<&Hold>, now: Timestamp) {
        let lease_ms = hold.map_or(0, Hold::length_ms);
        let free_at = now.plus_ms(lease_ms);
        let owner = hold.map(|hold| hold.owner.clone());
        if let Some(before) = self.running.insert(run, Running { owner, free_at, lease_ms }) {
            if before.free_at == free_at {
                return;
            }
            self.free.remove(&(before.free_at, run));
        }
        self.free.insert((free_at, run));
    }

    /// The run stopped.
    pub(super) fn clear(&mut self, run: RunNo) {
        if let Some(before) = self.running.remove(&run) {
            self.free.remove(&(before.free_at, run));
        }
    }

    pub(super) fn renew(&mut self, run: RunNo, hold: &Hold, now: Timestamp) -> LeaseState {
        let owner = self.running.get(&run).and_then(|running| running.owner.as_ref());
        if owner != Some(&hold.owner) {
            return LeaseState::Lost;
        }
        self.set(run, Some(hold), now);
        LeaseState::Held
    }

    /// Those that can be claimed, the longest free first.
    pub(super) fn claimable(&self, now: Timestamp) -> impl Iterator<Item = RunNo> {
        self.free.range(..=(now, RunNo(u64::MAX))).map(|(_, run)| *run)
    }

    /// Leases that end later than their own length from now, with their end and length.
    pub(super) fn overlong(&self, now: Timestamp) -> impl Iterator<Item = (RunNo, Timestamp, u64)> {
        let held =
            self.free.range((now, RunNo(u64::MAX))..).filter_map(|(at, run)| Some((at, run, self.running.get(run)?)));
        let overlong = held.filter(move |(at, _, running)| **at > now.plus_ms(running.lease_ms));
        overlong.map(|(at, run, running)| (*run, *at, running.lease_ms))
    }

    /// Ends the lease that ends at `until`. Returns whether there was one.
    pub(super) fn end(&mut self, run: RunNo, until: Timestamp, now: Timestamp) -> bool {
        let Some(running) = self.running.get_mut(&run).filter(|running| running.free_at == until) else { return false };
        running.free_at = now;
        self.free.remove(&(until, run));
        self.free.insert((now, run));
        true
    }

    /// What a run takes here: nothing unless it is to go on.
    pub(super) fn bytes(&self, run: RunNo) -> usize {
        // A tree and a hash table with twice as many places as they need, at worst.
        let places = 2 * (size_of::<(RunNo, Running)>() + size_of::<(Timestamp, RunNo)>());
        self.running.get(&run).map_or(0, |_| places)
    }
}

#[async_trait]
impl RunLeases for MemoryStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let number = table.runs.number_of(run);
        Ok(number.map_or(LeaseState::Lost, |number| table.holds.renew(number, hold, now)))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let owners = table.owners.of_agents(&request.agents);
        let ours = |run: &RunNo| table.runs.get(*run).is_some_and(|entry| owners.contains(entry.owner));
        let claimable = table.holds.claimable(now).filter(ours);
        let claimed: Vec<RunNo> = claimable.take(request.limit.min(CLAIM_LIMIT_MAX)).collect();
        for run in &claimed {
            table.holds.set(*run, Some(&request.hold), now);
        }
        Ok(claimed.iter().filter_map(|run| table.runs.get(*run)).map(|entry| entry.run.clone()).collect())
    }

    async fn overlong(&self, agents: &Agents, limit: usize) -> Result<Vec<OverlongLease>, StoreError> {
        let now = self.clock.lease_moment();
        let table = self.table();
        let owners = table.owners.of_agents(agents);
        let runs = table.holds.overlong(now).filter_map(|(run, until, lease_ms)| {
            let entry = table.runs.get(run).filter(|entry| owners.contains(entry.owner))?;
            Some(OverlongLease { of: LeaseOf::Run(entry.run.clone()), until, lease_ms })
        });
        let tasks = table.queue.overlong(now).filter(|(task, ..)| agents.contains(&task.head.agent));
        let tasks = tasks.map(|(task, until, lease_ms)| OverlongLease {
            of: LeaseOf::Task(task.head.key.clone()),
            until,
            lease_ms,
        });
        Ok(runs.chain(tasks).take(limit.min(DUE_LIMIT_MAX)).collect())
    }

    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        let now = self.clock.lease_moment();
        let mut table = self.table();
        let (LeaseOf::Run(run) | LeaseOf::Task(CallKey { run, .. })) = &lease.of;
        let Some(run) = table.runs.number_of(run) else { return Ok(false) };
        Ok(match lease.of {
            LeaseOf::Run(_) => table.holds.end(run, lease.until, now),
            LeaseOf::Task(CallKey { turn, index, .. }) => table.queue.end_lease((run, turn, index), lease.until, now),
        })
    }
}
