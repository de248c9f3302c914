//! The audit log.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::RunId;

use crate::{
    AuditRow, AuditScope, AuditedRun, Cursor, Page, Scope, Seal, SealedRun, StoreError, Tombstone, Trace, Unsealed,
};

/// What transitions left in the audit log, and the seals over it.
#[async_trait]
pub trait AuditLog: Send + Sync + 'static {
    /// What the transitions of a run left in the audit log, in order. Empty for a run that is not there within the scope.
    async fn rows(&self, scope: &Scope, run: &RunId) -> Result<Vec<AuditRow>, StoreError>;

    /// The audit logs of runs, run by run and row by row, from after `after`: about `limit` rows and at most
    /// [`crate::DUE_LIMIT_MAX`]. Also runs without rows. A long run continues as the first of the next page. Each page is as it
    /// was at one moment.
    async fn rows_after(
        &self,
        scope: &AuditScope,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<AuditedRun>, StoreError>;

    /// Seals what moved of a tenant's runs since its last seal: at most [`crate::DUE_LIMIT_MAX`] runs, so that it is called until
    /// there is nothing more. Of those who seal at the same time each makes its own seal after the other's. Nothing when
    /// nothing moved.
    async fn seal(&self, tenant: Option<&str>) -> Result<Option<Seal>, StoreError>;

    /// The tenants of which something moved since their last seal, in order; `None` first where there are runs without one.
    async fn unsealed(&self) -> Result<Vec<Unsealed>, StoreError>;

    /// The seals of a tenant from after this number, in order: at most `limit` and at most [`crate::DUE_LIMIT_MAX`].
    async fn seals(&self, tenant: Option<&str>, after: u64, limit: usize) -> Result<Vec<Seal>, StoreError>;

    /// What there is of runs that a seal of a tenant names: one trace for each, in order. All as it was at one moment.
    async fn traces(&self, tenant: Option<&str>, sealed: &[SealedRun]) -> Result<Vec<Trace>, StoreError>;

    /// What is left of a tenant's runs that were pruned, in the order of their names, from after `after`: of at most `limit`
    /// and at most [`crate::DUE_LIMIT_MAX`] names. A name that was used again may have several.
    async fn tombstones(
        &self,
        tenant: Option<&str>,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError>;

    /// The tenants that have runs, seals or tombstones, in order; `None` first where there are some without one.
    async fn tenants(&self) -> Result<Vec<Option<Arc<str>>>, StoreError>;
}
