//! Checks what runs and tombstones say of seals. None may be of a run that was never pruned, or name a seal that does not
//! name it.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::RunId;

use super::verify::{Checking, Claims};
use super::{AuditScope, Finding, Seal, SealedRun, Tombstone};
use crate::{DUE_LIMIT_MAX, StoreError};

impl Checking<'_> {
    /// Counts the tombstones of a tenant, and finds those of runs that are there.
    pub(super) async fn tombstones(&mut self, tenant: &Option<Arc<str>>) -> Result<Claims, StoreError> {
        let (mut after, mut stones) = (None, Claims::default());
        loop {
            let page = self.store.audit.tombstones(tenant.as_deref(), after.as_ref(), DUE_LIMIT_MAX).await?;
            let Some(last) = page.last() else { return Ok(stones) };
            after = Some(last.run.run.clone());
            page.iter().for_each(|stone| stones.add(stone.seal));
            self.living(tenant, &page).await?;
            self.seen.tombstones += page.len() as u64;
            self.tell();
        }
    }

    /// A run whose chain is there as far as its tombstone says. One that only has the same name has another chain.
    async fn living(&mut self, tenant: &Option<Arc<str>>, stones: &[Tombstone]) -> Result<(), StoreError> {
        let runs: Vec<SealedRun> = stones.iter().map(|stone| stone.run.clone()).collect();
        for runs in runs.chunks(DUE_LIMIT_MAX) {
            let traces = self.store.audit.traces(tenant.as_deref(), runs).await?;
            let living = runs.iter().zip(&traces).filter(|(run, trace)| trace.link == Some(run.link));
            let findings: Vec<_> = living.map(|(run, _)| false_stone(tenant, &run.run)).collect();
            self.name(findings);
        }
        Ok(())
    }

    /// Finds the tombstones that name a seal which does not name their run. Slow, since seals are read for them, so that it
    /// is only done when their number is not right.
    pub(super) async fn unfounded_stones(&mut self, tenant: &Option<Arc<str>>) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.store.audit.tombstones(tenant.as_deref(), after.as_ref(), DUE_LIMIT_MAX).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.run.run.clone());
            let claims = page.iter().map(|stone| (stone.seal, &stone.run.run));
            let unknown = self.unfounded(tenant, claims).await?;
            self.name(unknown.into_iter().map(|run| false_stone(tenant, run)));
        }
    }

    /// Finds the runs that name a seal which does not name them, as slowly. Runs that were pruned meanwhile are a reason to
    /// look, and nothing to find.
    pub(super) async fn unfounded_runs(&mut self, tenant: &Option<Arc<str>>) -> Result<(), StoreError> {
        let (scope, mut cursor) = (AuditScope::Tenant(tenant.clone()), None);
        loop {
            let page = self.store.audit.rows_after(&scope, cursor.as_ref(), DUE_LIMIT_MAX).await?;
            let claims = page.items.iter().map(|run| (run.seal, &run.head.run));
            let unknown = self.unfounded(tenant, claims).await?;
            self.name(unknown.into_iter().map(|run| Finding::SealedMismatch { run: run.clone() }));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Those whose seal is there and does not name them. A seal that is gone or was changed is found already, and says
    /// nothing of runs.
    async fn unfounded<'a>(
        &self,
        tenant: &Option<Arc<str>>,
        claims: impl Iterator<Item = (u64, &'a RunId)>,
    ) -> Result<Vec<&'a RunId>, StoreError> {
        let mut by_seal: BTreeMap<u64, Vec<&RunId>> = BTreeMap::new();
        for (seal, run) in claims.filter(|(seal, _)| *seal > 0) {
            by_seal.entry(seal).or_default().push(run);
        }
        let mut unknown = Vec::new();
        for (number, runs) in by_seal {
            let seals = self.store.audit.seals(tenant.as_deref(), number - 1, 1).await?;
            let is_believed = !self.was_found(&Finding::SealBroken { tenant: tenant.clone(), number });
            if let Some(seal) = seals.first().filter(|seal| is_believed && seal.number == number) {
                unknown.extend(runs.into_iter().filter(|run| !names(seal, run)));
            }
        }
        Ok(unknown)
    }
}

fn names(seal: &Seal, run: &RunId) -> bool {
    seal.runs.binary_search_by(|sealed| sealed.run.as_str().cmp(run.as_str())).is_ok()
}

fn false_stone(tenant: &Option<Arc<str>>, run: &RunId) -> Finding {
    Finding::TombstoneFalse { tenant: tenant.clone(), run: run.clone() }
}
