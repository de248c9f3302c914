//! Who drives which run. Only runs that are to go on are here.

use std::collections::{BTreeSet, HashMap};
use std::mem::size_of;

use holdpoint_core::Timestamp;

use super::runs::RunNo;
use crate::{Hold, LEASE_MS_MAX, LeaseState, OwnerId};

/// The running runs, by number and by the moment from which they can be claimed.
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
        let lease_ms = hold.map_or(0, |hold| hold.lease_ms.min(LEASE_MS_MAX));
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
