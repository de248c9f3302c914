//! The audit log, its seals and tombstones. Links are computed when a caller asks for them: nothing changes this memory behind
//! the store's back, so that no row keeps one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};

use super::MemoryStore;
use super::entry::Entry;
use super::runs::RunNo;
use super::table::Table;
use crate::{
    AuditLog, AuditRow, AuditScope, AuditedRun, Cursor, DUE_LIMIT_MAX, List, Page, Scope, Seal, SealedRun, StoreError,
    Tombstone, Trace, Unsealed, first_link,
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
        let first = first_link(&entry.run, self.tenant_of(entry).as_deref());
        entry.log.audit(entry.created_at, first)
    }

    fn chain_of(&self, entry: &Entry) -> SealedRun {
        let first = || first_link(&entry.run, self.tenant_of(entry).as_deref());
        let link = self.audit_of(entry).last().map_or_else(first, |row| row.link);
        SealedRun { run: entry.run.clone(), revision: entry.audited, link }
    }

    fn tenant_of(&self, entry: &Entry) -> &Tenant {
        &self.owners.get(entry.owner).tenant
    }

    fn is_within(&self, entry: &Entry, scope: &AuditScope) -> bool {
        match scope {
            AuditScope::All => true,
            AuditScope::Tenant(tenant) => self.tenant_of(entry) == tenant,
            AuditScope::Run(run) => entry.run == *run,
        }
    }

    fn audited_run(&self, number: RunNo, entry: &Entry) -> AuditedRun {
        let rows: Vec<_> = (1..).zip(self.audit_of(entry)).collect();
        let LastSeal { revision: sealed, number: seal } = self.sealed.last(number);
        let (head, tenant) = (self.chain_of(entry), self.tenant_of(entry).clone());
        AuditedRun { head, tenant, count: rows.len() as u64, sealed, seal, rows }
    }

    /// The runs with audit rows that are in no seal.
    fn to_seal(&self) -> impl Iterator<Item = (RunNo, &Entry)> {
        self.runs.iter().filter(|(number, entry)| entry.audited > self.sealed.last(*number).revision)
    }

    fn trace(&self, tenant: Option<&str>, sealed: &SealedRun) -> Trace {
        let found = self.runs.find(&sealed.run);
        let found = found.filter(|(_, entry)| self.tenant_of(entry).as_deref() == tenant);
        let last = found.map(|(number, _)| self.sealed.last(number)).unwrap_or_default();
        let rows = found.map(|(_, entry)| self.audit_of(entry)).unwrap_or_default();
        let key = (tenant.map(Into::into), sealed.run.clone());
        Trace {
            is_there: found.is_some(),
            link: rows.iter().find(|row| row.revision == sealed.revision).map(|row| row.link),
            sealed: last.revision,
            seal: last.number,
            tombstones: self.sealed.tombstones.get(&key).cloned().unwrap_or_default(),
        }
    }

    /// Leaves a tombstone for a run that is about to go.
    pub(super) fn leave_tombstone(&mut self, number: RunNo, now: Timestamp) {
        let Some(entry) = self.runs.get(number) else { return };
        let tenant = self.tenant_of(entry).clone();
        let run = self.chain_of(entry);
        let seal = self.sealed.runs.remove(&number).unwrap_or_default().number;
        let stones = self.sealed.tombstones.entry((tenant.clone(), run.run.clone())).or_default();
        // A run that was pruned, imported again and pruned again has the same chain: that is one tombstone.
        match stones.iter_mut().find(|stone| stone.run == run) {
            Some(stone) => {
                stone.seal = stone.seal.max(seal);
                stone.at = now;
            }
            None => stones.push(Tombstone { tenant, run, seal, at: now }),
        }
    }
}

#[async_trait]
impl AuditLog for MemoryStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        let table = self.table();
        Ok(table.visible(scope, run).map(|(_, entry)| table.audit_of(entry)).unwrap_or_default())
    }

    /// Whole runs, until there are enough rows.
    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        let [from] = List::AuditRows.position(after, [0])?;
        let (table, mut page, mut count) = (self.table(), Page::default(), 0);
        for (number, entry) in table.runs.from(RunNo(from)).filter(|(_, entry)| table.is_within(entry, scope)) {
            if count >= limit.clamp(1, DUE_LIMIT_MAX) {
                page.next = Some(List::AuditRows.cursor([number.0]));
                break;
            }
            let run = table.audited_run(number, entry);
            // A run without rows takes its room too.
            count += run.rows.len().max(1);
            page.items.push(run);
        }
        Ok(page)
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        let (now, mut table) = (self.clock.now(), self.table());
        let moved = table.to_seal().filter(|(_, entry)| table.tenant_of(entry).as_deref() == tenant);
        let moved = moved.take(DUE_LIMIT_MAX).map(|(number, entry)| (number, table.chain_of(entry)));
        let (numbers, runs): (Vec<RunNo>, Vec<SealedRun>) = moved.unzip();
        if runs.is_empty() {
            return Ok(None);
        }
        let sealed: Vec<_> = numbers.into_iter().zip(runs.iter().map(|run| run.revision)).collect();
        let Sealed { seals, runs: last, .. } = &mut table.sealed;
        let seals = seals.entry(tenant.map(Into::into)).or_default();
        let seal = Seal::after(seals.last().map(|seal| (seal.number, seal.link)), tenant, now, runs);
        last.extend(sealed.into_iter().map(|(run, revision)| (run, LastSeal { revision, number: seal.number })));
        seals.push(seal.clone());
        Ok(Some(seal))
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        let table = self.table();
        let tenants: BTreeSet<&Tenant> = table.to_seal().map(|(_, entry)| table.tenant_of(entry)).collect();
        let unsealed = |tenant: &Tenant| {
            let last = table.sealed.seals.get(tenant).and_then(|seals| seals.last());
            Unsealed { tenant: tenant.clone(), sealed_at: last.map(|seal| seal.at) }
        };
        Ok(tenants.into_iter().map(unsealed).collect())
    }

    async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        let table = self.table();
        let seals = table.sealed.seals.get(&tenant.map(Into::into)).map(Vec::as_slice).unwrap_or_default();
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(seals.iter().skip(skip).take(limit.min(DUE_LIMIT_MAX)).cloned().collect())
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        let table = self.table();
        Ok(sealed.iter().map(|sealed| table.trace(tenant, sealed)).collect())
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let table = self.table();
        let is_after = |run: &RunId| after.is_none_or(|after| run.as_str() > after.as_str());
        let ours = table.sealed.tombstones.iter().filter(|((of, run), _)| of.as_deref() == tenant && is_after(run));
        Ok(ours.take(limit.min(DUE_LIMIT_MAX)).flat_map(|(_, tombstones)| tombstones.clone()).collect())
    }

    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        let table = self.table();
        let runs = table.runs.iter().map(|(_, entry)| table.tenant_of(entry));
        let Sealed { seals, tombstones, .. } = &table.sealed;
        let sealed = seals.keys().chain(tombstones.keys().map(|(tenant, _)| tenant));
        let tenants: BTreeSet<&Tenant> = runs.chain(sealed).collect();
        Ok(tenants.into_iter().cloned().collect())
    }
}
