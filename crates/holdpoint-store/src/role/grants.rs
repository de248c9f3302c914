//! Answers that are remembered.

use async_trait::async_trait;
use holdpoint_core::ToolName;

use crate::{GrantFilter, GrantRow, Page, Scope, StoreError};

/// What people said about calls that are yet to come.
#[async_trait]
pub trait Grants: Send + Sync + 'static {
    /// The grants of a tenant for a tool that are neither revoked nor past their time, the newest first: at most
    /// [`crate::GRANTS_MATCHED_MAX`].
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError>;

    /// One page of grants, the newest first.
    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError>;

    /// A grant by its name, or nothing when there is none within what somebody sees.
    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError>;

    /// Takes a grant of a tenant back. Says whether there was one to take back: one that nobody had taken back before.
    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError>;
}
