//! Mistakes of grants, the audit log and the state of servers.

use super::*;

#[async_trait]
impl GrantsLayer for BrokenStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        if !self.has(Mistake::GrantsToEveryTenant) {
            return self.inner.grants.matching(tenant, tool).await;
        }
        let filter = GrantFilter { tool: Some(tool.clone()), ..GrantFilter::default() };
        Ok(self.inner.grants.list(&filter).await?.items)
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        if self.has(Mistake::RevokesForEveryTenant) {
            let all = self.inner.grants.list(&GrantFilter::default()).await?.items;
            let of = all.iter().find(|grant| *grant.id == *id).and_then(|grant| grant.tenant.clone());
            return self.inner.grants.revoke(of.as_deref(), id, by).await;
        }
        self.inner.grants.revoke(tenant, id, by).await
    }
}

#[async_trait]
impl AuditLogLayer for BrokenStore {
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError> {
        let mut rows = self.inner.audit.rows(scope, run).await?;
        if self.has(Mistake::ForgetsWhoseChainItIs) {
            let mut link = first_link(&RunId::new("any"), None);
            for row in &mut rows {
                link = next_link(link, row.revision, row.at, &row.body);
                row.link = link;
            }
        }
        Ok(rows)
    }

    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError> {
        let mut sealed = self.inner.audit.seal(tenant).await?;
        if let Some(seal) = sealed.as_mut().filter(|_| self.has(Mistake::SealsWithoutTheSealBefore)) {
            seal.link = seal.chained(None);
        }
        Ok(sealed)
    }

    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError> {
        let mut unsealed = self.inner.audit.unsealed().await?;
        unsealed.truncate(if self.has(Mistake::ForgetsWhatMoved) { 1 } else { usize::MAX });
        Ok(unsealed)
    }

    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<AuditedRun>, StoreError> {
        let scope = if self.has(Mistake::PagesOfEveryTenant) { &AuditScope::All } else { scope };
        self.inner.audit.rows_after(scope, after, limit).await
    }

    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError> {
        let mut traces = self.inner.audit.traces(tenant, sealed).await?;
        if self.has(Mistake::LosesTombstones) {
            traces.iter_mut().for_each(|trace| trace.tombstones.clear());
        }
        Ok(traces)
    }

    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        if self.has(Mistake::LosesTombstones) {
            return Ok(Vec::new());
        }
        self.inner.audit.tombstones(tenant, after, limit).await
    }
}

#[async_trait]
impl ServerStateLayer for BrokenStore {
    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        let mut reservation = reservation.clone();
        if self.has(Mistake::TakesAnyRequestForTheSame) {
            reservation.digest = holdpoint_core::Digest([0; 32]);
        }
        let reserved = self.inner.state.reserve(&reservation).await?;
        Ok(if self.has(Mistake::DoesEveryRequest) { Reserved::New } else { reserved })
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        if self.has(Mistake::ForgetsResponses) { Ok(()) } else { self.inner.state.keep(key, response).await }
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        if self.has(Mistake::ForgetsWorkers) { Ok(()) } else { self.inner.state.note_worker(seen).await }
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        if self.has(Mistake::CountsNothing) { Ok(StoreTally::default()) } else { self.inner.state.counts().await }
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        if self.has(Mistake::ForgetsSettings) {
            Ok(value.into())
        } else {
            self.inner.state.first_setting(name, value).await
        }
    }
}
