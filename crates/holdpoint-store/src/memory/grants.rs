//! What people said about calls that are yet to come.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::ToolName;

use super::MemoryStore;
use super::indexed::Keyed;
use super::owners::Owner;
use super::table::Table;
use crate::{
    GRANTS_MATCHED_MAX, GrantFilter, GrantOpening, GrantRow, Grants, List, Page, Revoked, Scope, StoreError,
    Transition, page_size,
};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GrantKey {
    Id(Arc<str>),
    /// Of those that a call may need.
    Open(ToolName),
}

impl Keyed for GrantRow {
    type Key = GrantKey;

    fn keys(&self) -> impl Iterator<Item = GrantKey> {
        let open = self.revoked.is_none().then(|| GrantKey::Open(self.tool.clone()));
        std::iter::once(GrantKey::Id(Arc::clone(&self.id))).chain(open)
    }
}

impl Table {
    /// Takes over the grants of a transition. A name that is there already stays as it is.
    pub(super) fn open_grants(&mut self, owner: &Owner, step: &Transition) {
        for GrantOpening { id, tool, until, body } in &step.grants {
            if self.grants.find(&GrantKey::Id(Arc::clone(id))).is_none() {
                self.grants.add(GrantRow {
                    id: Arc::clone(id),
                    tenant: owner.tenant.clone(),
                    tool: tool.clone(),
                    until: *until,
                    created_at: step.at,
                    revoked: None,
                    body: body.as_slice().into(),
                });
            }
        }
    }
}

#[async_trait]
impl Grants for MemoryStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        let (now, table) = (self.clock.now(), self.table());
        let open = table.grants.range(GrantKey::Open(tool.clone()), GrantKey::Open(tool.clone())).rev();
        let holds = |row: &&GrantRow| row.tenant.as_deref() == tenant && row.until.is_none_or(|until| until > now);
        Ok(open.map(|(_, row)| row).filter(holds).take(GRANTS_MATCHED_MAX).cloned().collect())
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        let [from] = List::Grants.position(filter.cursor.as_ref(), [i64::MAX])?;
        let table = self.table();
        let grants = table.grants.rows().range(..=from).rev().filter(|(_, row)| filter.matches(row));
        Page::collect(List::Grants, page_size(filter.limit), grants.map(|(number, row)| Ok(([*number], row.clone()))))
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        let table = self.table();
        let found = table.grants.find(&GrantKey::Id(id.into())).map(|(_, row)| row);
        Ok(found.filter(|row| scope.covers(row.tenant.as_deref())).cloned())
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let (at, mut table) = (self.clock.now(), self.table());
        let found = table.grants.find(&GrantKey::Id(id.into()));
        let found = found.filter(|(_, row)| row.tenant.as_deref() == tenant && row.revoked.is_none());
        let Some((number, _)) = found else { return Ok(false) };
        table.grants.change(number, |row| row.revoked = Some(Revoked { by: by.into(), at }));
        Ok(true)
    }
}
