//! Seals and tombstones. Links are computed when somebody asks for them: nobody can change what is in this memory, so
//! there is no need to keep one for each row.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Timestamp};

use super::entry::Entry;
use super::runs::RunNo;
use super::table::Table;
use crate::{
    AuditRow, AuditScope, AuditedRun, Cursor, Link, List, Page, Scope, Seal, SealedRun, StoreError, Tombstone, Trace,
    Unsealed, first_link, seal_link,
};

type Tenant = Option<Arc<str>>;

/// What was sealed and pruned.
#[derive(Default)]
pub(super) struct Sealed {
    seals: BTreeMap<Tenant, Vec<Seal>>,
    /// The last seal of a run. Nothing here for those that were never sealed.
    runs: HashMap<RunNo, LastSeal>,
    tombstones: BTreeMap<(Tenant, RunId), Vec<Tombstone>>,
}

#[derive(Clone, Copy, Default)]
struct LastSeal {
    revision: Revision,
    number: u64,
}

impl Sealed {
    fn last(&self, run: RunNo) -> LastSeal {
        self.runs.get(&run).copied().unwrap_or_default()
    }
}

impl Table {
    /// The audit rows of a run with their links.
    fn audit_of(&self, entry: &Entry) -> Vec<AuditRow> {
        let first = first_link(&entry.run, self.audit_tenant(entry).as_deref());
        entry.log.audit(entry.created_at, first)
    }

    fn chain_of(&self, entry: &Entry) -> SealedRun {
        let first = || first_link(&entry.run, self.audit_tenant(entry).as_deref());
        let link = self.audit_of(entry).last().map_or_else(first, |row| row.link);
        SealedRun { run: entry.run.clone(), revision: entry.audited, link }
    }

    /// The tenant of the first transition.
    fn audit_tenant(&self, entry: &Entry) -> &Tenant {
        &self.owners.get(entry.first_owner).tenant
    }

    pub(super) fn audit_in(&self, scope: &Scope, run: &RunId) -> Vec<AuditRow> {
        let found = self.runs.find(run).map(|(_, entry)| entry);
        let seen = found.filter(|entry| scope.covers(self.audit_tenant(entry).as_deref()));
        seen.map(|entry| self.audit_of(entry)).unwrap_or_default()
    }

    /// Whole runs, until there are enough rows.
    pub(super) fn audit_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        let [start] = List::AuditRows.position(after, [0])?;
        let mut page = Page::default();
        let mut count = 0;
        for (number, entry) in self.runs.from(RunNo::from(start)).filter(|(_, entry)| self.is_within(entry, scope)) {
            if count >= limit.max(1) {
                page.next = Some(List::AuditRows.cursor([number.into()]));
                break;
            }
            let rows: Vec<_> = (1..).zip(self.audit_of(entry)).collect();
            // A run without rows takes its room too.
            count += rows.len().max(1);
            page.items.push(AuditedRun {
                head: self.chain_of(entry),
                tenant: self.audit_tenant(entry).clone(),
                count: rows.len() as u64,
                sealed: self.sealed.last(number).revision,
                seal: self.sealed.last(number).number,
                rows,
            });
        }
        Ok(page)
    }

    fn is_within(&self, entry: &Entry, scope: &AuditScope) -> bool {
        match scope {
            AuditScope::All => true,
            AuditScope::Tenant(tenant) => self.audit_tenant(entry) == tenant,
            AuditScope::Run(run) => entry.run == *run,
        }
    }

    pub(super) fn audit_heads(&self, tenant: Option<&str>, after: Option<&RunId>, limit: usize) -> Vec<SealedRun> {
        let is_after = |entry: &Entry| after.is_none_or(|after| entry.run.as_str() > after.as_str());
        let entries = self.runs.iter().map(|(_, entry)| entry);
        let fits = entries.filter(|entry| {
            entry.audited > Revision(0) && self.audit_tenant(entry).as_deref() == tenant && is_after(entry)
        });
        let mut entries: Vec<&Entry> = fits.collect();
        entries.sort_unstable_by(|one, other| one.run.as_str().cmp(other.run.as_str()));
        entries.into_iter().take(limit).map(|entry| self.chain_of(entry)).collect()
    }

    pub(super) fn seal(&mut self, tenant: Option<&str>, now: Timestamp, limit: usize) -> Option<Seal> {
        let moved = self.to_seal().filter(|(_, entry)| self.audit_tenant(entry).as_deref() == tenant);
        let moved: Vec<(RunNo, SealedRun)> =
            moved.take(limit).map(|(number, entry)| (number, self.chain_of(entry))).collect();
        if moved.is_empty() {
            return None;
        }
        let tenant: Tenant = tenant.map(Into::into);
        let seals = self.sealed.seals.entry(tenant.clone()).or_default();
        let number = seals.len() as u64 + 1;
        for (run, SealedRun { revision, .. }) in &moved {
            self.sealed.runs.insert(*run, LastSeal { revision: *revision, number });
        }
        let mut runs: Vec<SealedRun> = moved.into_iter().map(|(_, run)| run).collect();
        runs.sort_unstable_by(|one, other| one.run.as_str().cmp(other.run.as_str()));
        let link = seal_link(seals.last().map(|seal| seal.link), (tenant.as_deref(), number, now), &runs);
        let seal = Seal { tenant, number, at: now, runs, link };
        seals.push(seal.clone());
        Some(seal)
    }

    /// The runs with audit rows that are in no seal.
    fn to_seal(&self) -> impl Iterator<Item = (RunNo, &Entry)> {
        self.runs.iter().filter(|(number, entry)| entry.audited > self.sealed.last(*number).revision)
    }

    pub(super) fn unsealed(&self) -> Vec<Unsealed> {
        let tenants: BTreeSet<&Tenant> = self.to_seal().map(|(_, entry)| self.audit_tenant(entry)).collect();
        let unsealed = |tenant: &Tenant| {
            let last = self.sealed.seals.get(tenant).and_then(|seals| seals.last());
            Unsealed { tenant: tenant.clone(), sealed_at: last.map(|seal| seal.at) }
        };
        tenants.into_iter().map(unsealed).collect()
    }

    pub(super) fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Vec<Seal> {
        let seals = self.sealed.seals.get(&tenant.map(Into::into)).map(Vec::as_slice).unwrap_or_default();
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        seals.iter().skip(skip).take(limit).cloned().collect()
    }

    pub(super) fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Vec<Trace> {
        let link = |entry: &Entry, revision| -> Option<Link> {
            self.audit_of(entry).iter().find(|row| row.revision == revision).map(|row| row.link)
        };
        let trace = |sealed: &SealedRun| {
            let found = self.runs.find(&sealed.run);
            let found = found.filter(|(_, entry)| self.audit_tenant(entry).as_deref() == tenant);
            let last = found.map(|(number, _)| self.sealed.last(number)).unwrap_or_default();
            let entry = found.map(|(_, entry)| entry);
            let key = (tenant.map(Into::into), sealed.run.clone());
            Trace {
                is_there: entry.is_some(),
                link: entry.and_then(|entry| link(entry, sealed.revision)),
                sealed: last.revision,
                seal: last.number,
                tombstones: self.sealed.tombstones.get(&key).cloned().unwrap_or_default(),
            }
        };
        sealed.iter().map(trace).collect()
    }

    pub(super) fn tombstones(&self, tenant: Option<&str>, after: Option<&RunId>, limit: usize) -> Vec<Tombstone> {
        let is_after = |run: &RunId| after.is_none_or(|after| run.as_str() > after.as_str());
        let ours = self.sealed.tombstones.iter().filter(|((of, run), _)| of.as_deref() == tenant && is_after(run));
        ours.take(limit).flat_map(|(_, tombstones)| tombstones.clone()).collect()
    }

    pub(super) fn tenants(&self) -> Vec<Tenant> {
        let runs = self.runs.iter().map(|(_, entry)| self.audit_tenant(entry));
        let sealed = self.sealed.seals.keys().chain(self.sealed.tombstones.keys().map(|(tenant, _)| tenant));
        let mut tenants: Vec<Tenant> = runs.chain(sealed).cloned().collect();
        tenants.sort_unstable();
        tenants.dedup();
        tenants
    }

    /// Leaves a stone for a run that is about to go.
    pub(super) fn bury(&mut self, number: RunNo, now: Timestamp) {
        let Some(entry) = self.runs.get(number) else { return };
        let tenant = self.audit_tenant(entry).clone();
        let run = self.chain_of(entry);
        let seal = self.sealed.runs.remove(&number).unwrap_or_default().number;
        let stones = self.sealed.tombstones.entry((tenant.clone(), run.run.clone())).or_default();
        // The same chain again, from beginning to end, is one stone.
        let same = stones.iter_mut().find(|stone| stone.run == run);
        match same {
            Some(stone) => {
                stone.seal = stone.seal.max(seal);
                stone.at = now;
            }
            None => stones.push(Tombstone { tenant, run, seal, at: now }),
        }
    }
}
