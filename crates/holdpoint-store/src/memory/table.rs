//! What is under the lock: the runs, and three ways to find them.

use std::collections::{BTreeSet, HashMap};
use std::mem::size_of;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::entry::{Entry, OwnerIndex};
use super::waiters::{Waiter, Waiters};
use crate::{CommitError, Cursor, Head, HeadUpdate, Record, RunFilter, RunPage, StoreError, Transition};

/// All runs.
#[derive(Default)]
pub(super) struct Table {
    /// In the order of creation.
    #[expect(clippy::vec_box, reason = "the spare room of a growing list is pointers and not runs")]
    entries: Vec<Box<Entry>>,
    slots: HashMap<RunId, u32>,
    /// Every run with a deadline, the earliest first.
    deadlines: BTreeSet<(Timestamp, u32)>,
    owners: Owners,
    waiters: Waiters,
    bytes_written: u64,
}

/// Whether a run has more records than somebody has seen.
pub(super) enum Moved {
    To(Revision),
    NotYet(Waiter),
}

/// Agents with tenants, each pair kept once.
#[derive(Default)]
struct Owners {
    pairs: Vec<Owner>,
    indexes: HashMap<Owner, u32>,
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Owner {
    agent: Option<Arc<str>>,
    tenant: Option<Arc<str>>,
}

impl Table {
    pub(super) fn commit(&mut self, run: &RunId, at: Revision, step: &Transition) -> Result<Revision, CommitError> {
        let slot = self.slots.get(run).copied();
        let current = slot.map_or(Revision(0), |slot| self.entry(slot).revision);
        if current != at {
            return Err(CommitError::Stale { current });
        }
        // Whatever can fail comes before the first change.
        let (slot, owner) = match slot {
            Some(slot) => (slot, self.owners.index_of(&step.head, Some(self.entry(slot).owner))?),
            None => self.create(run, step)?,
        };
        Ok(self.append(slot, owner, step))
    }

    fn create(&mut self, run: &RunId, step: &Transition) -> Result<(u32, OwnerIndex), StoreError> {
        let slot = u32::try_from(self.entries.len())
            .map_err(|error| StoreError::failed("make room for another run", error))?;
        let owner = self.owners.index_of(&step.head, None)?;
        self.entries.push(Box::new(Entry::new(run.clone(), step.at, owner)));
        self.slots.insert(run.clone(), slot);
        Ok((slot, owner))
    }

    fn append(&mut self, slot: u32, owner: OwnerIndex, step: &Transition) -> Revision {
        let entry = &mut self.entries[slot as usize];
        let (bytes_before, deadline_before) = (entry.log.len(), entry.deadline());
        entry.log.append(&step.records, step.at, entry.updated_at);
        entry.revision = Revision(entry.revision.0 + step.records.len() as u64);
        entry.updated_at = step.at;
        entry.update(&step.head, owner);
        if entry.status != Status::Running {
            entry.log.shrink();
        }
        self.bytes_written += (entry.log.len() - bytes_before) as u64;
        let deadline = entry.deadline();
        if deadline != deadline_before {
            deadline_before.map(|at| self.deadlines.remove(&(at, slot)));
            deadline.map(|at| self.deadlines.insert((at, slot)));
        }
        self.waiters.wake(&entry.run);
        entry.revision
    }

    pub(super) fn load(&self, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let entry = self.find(run)?;
        if after >= entry.revision {
            return Ok(Vec::new());
        }
        Ok(entry.log.records(after, entry.created_at))
    }

    pub(super) fn head(&self, run: &RunId) -> Option<Head> {
        let slot = self.slots.get(run)?;
        Some(self.head_of(self.entry(*slot)))
    }

    pub(super) fn list(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        let end = match &filter.cursor {
            None => self.entries.len(),
            Some(cursor) => self.slot_of(cursor)?,
        };
        let mut page = RunPage::default();
        let page_size = filter.page_size();
        for (slot, entry) in self.entries[..end].iter().enumerate().rev() {
            if filter.status.is_some_and(|status| status != entry.status) {
                continue;
            }
            let head = self.head_of(entry);
            if !filter.matches(&head) {
                continue;
            }
            if page.runs.len() == page_size {
                page.next = Some(Cursor::new((slot + 1).to_string()));
                break;
            }
            page.runs.push(head);
        }
        Ok(page)
    }

    pub(super) fn due(&self, at: Timestamp, limit: usize) -> Vec<RunId> {
        let due = self.deadlines.range(..=(at, u32::MAX)).take(limit);
        due.map(|(_, slot)| self.entry(*slot).run.clone()).collect()
    }

    pub(super) fn moved(&mut self, run: &RunId, after: Revision) -> Result<Moved, StoreError> {
        let revision = self.find(run)?.revision;
        Ok(if revision > after { Moved::To(revision) } else { Moved::NotYet(self.waiters.wait(run)) })
    }

    pub(super) fn bytes_held(&self, run: &RunId) -> Option<usize> {
        let entry = self.entry(*self.slots.get(run)?);
        let runs = self.entries.len();
        // An `Arc<str>` keeps two counters beside its text; a hash table keeps one byte beside each of its places, and at
        // most seven places of eight are in use.
        let name = run.as_str().len() + 2 * size_of::<usize>();
        let places = self.slots.capacity() * 8 / 7;
        let index = (places * (size_of::<(RunId, u32)>() + 1)).div_ceil(runs);
        let list = (self.entries.capacity() * size_of::<Box<Entry>>()).div_ceil(runs);
        let timer = entry.deadline().map_or(0, |_| 2 * size_of::<(Timestamp, u32)>());
        Some(size_of::<Entry>() + entry.log.capacity() + name + index + list + timer)
    }

    pub(super) fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    #[cfg(test)]
    pub(super) fn bells(&self) -> usize {
        self.waiters.bells()
    }

    fn entry(&self, slot: u32) -> &Entry {
        &self.entries[slot as usize]
    }

    fn find(&self, run: &RunId) -> Result<&Entry, StoreError> {
        let slot = self.slots.get(run).ok_or_else(|| StoreError::NotFound { run: run.clone() })?;
        Ok(self.entry(*slot))
    }

    fn head_of(&self, entry: &Entry) -> Head {
        let Owner { agent, tenant } = self.owners.pairs[entry.owner.0 as usize].clone();
        Head { agent, tenant, ..entry.head() }
    }

    /// A cursor is the number of runs that were created before the page.
    fn slot_of(&self, cursor: &Cursor) -> Result<usize, StoreError> {
        let slot = cursor.as_str().parse().map_err(|_| StoreError::InvalidCursor)?;
        if slot > self.entries.len() { Err(StoreError::InvalidCursor) } else { Ok(slot) }
    }
}

impl Owners {
    /// Where the pair is. It is looked for at `hint` first: almost every commit says what the one before said.
    fn index_of(&mut self, head: &HeadUpdate, hint: Option<OwnerIndex>) -> Result<OwnerIndex, StoreError> {
        if let Some(index) = hint {
            let owner = &self.pairs[index.0 as usize];
            if owner.agent == head.agent && owner.tenant == head.tenant {
                return Ok(index);
            }
        }
        let owner = Owner { agent: head.agent.clone(), tenant: head.tenant.clone() };
        if let Some(index) = self.indexes.get(&owner) {
            return Ok(OwnerIndex(*index));
        }
        let index = u32::try_from(self.pairs.len())
            .map_err(|error| StoreError::failed("remember another agent or tenant", error))?;
        self.pairs.push(owner.clone());
        self.indexes.insert(owner, index);
        Ok(OwnerIndex(index))
    }
}
