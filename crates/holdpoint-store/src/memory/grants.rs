//! What people said about calls that are yet to come.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::ToolName;

use super::MemoryStore;
use super::owners::Owner;
use crate::{
    GRANTS_MATCHED_MAX, GrantFilter, GrantOpening, GrantRow, List, Page, Revoked, Scope, StoreError, Transition,
    page_size,
};

/// All grants by the order in which they were made.
#[derive(Default)]
pub(super) struct Grants {
    made: BTreeMap<i64, GrantRow>,
    /// The names of all, and the numbers of those that a call may need, by tool.
    numbers: BTreeMap<Arc<str>, i64>,
    open: BTreeMap<ToolName, Vec<i64>>,
    last: i64,
}

impl Grants {
    /// Takes over the grants of a transition. A name that is there already stays as it is.
    pub(super) fn open(&mut self, owner: &Owner, step: &Transition) {
        for grant in &step.grants {
            let GrantOpening { id, tool, until, body } = grant;
            if self.numbers.contains_key(id) {
                continue;
            }
            self.last += 1;
            self.numbers.insert(Arc::clone(id), self.last);
            self.open.entry(tool.clone()).or_default().push(self.last);
            let row = GrantRow {
                id: Arc::clone(id),
                tenant: owner.tenant.clone(),
                tool: tool.clone(),
                until: *until,
                created_at: step.at,
                revoked: None,
                body: body.as_slice().into(),
            };
            self.made.insert(self.last, row);
        }
    }
}

#[async_trait]
impl crate::Grants for MemoryStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        let (now, table) = (self.clock.now(), self.table());
        let numbers = table.grants.open.get(tool).into_iter().flatten().rev();
        let rows = numbers.filter_map(|number| table.grants.made.get(number));
        let holds = |row: &&GrantRow| row.tenant.as_deref() == tenant && row.until.is_none_or(|until| until > now);
        Ok(rows.filter(holds).take(GRANTS_MATCHED_MAX).cloned().collect())
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        let [from] = List::Grants.position(filter.cursor.as_ref(), [i64::MAX])?;
        let table = self.table();
        let grants = table.grants.made.range(..=from).rev().filter(|(_, row)| filter.matches(row));
        Page::collect(List::Grants, page_size(filter.limit), grants.map(|(number, row)| Ok(([*number], row.clone()))))
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        let table = self.table();
        let row = table.grants.numbers.get(id).and_then(|number| table.grants.made.get(number));
        Ok(row.filter(|row| scope.covers(row.tenant.as_deref())).cloned())
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let (at, mut table) = (self.clock.now(), self.table());
        let Grants { made, numbers, open, .. } = &mut table.grants;
        let Some(number) = numbers.get(id) else { return Ok(false) };
        let row = made.get_mut(number).filter(|row| row.tenant.as_deref() == tenant && row.revoked.is_none());
        let Some(row) = row else { return Ok(false) };
        row.revoked = Some(Revoked { by: by.into(), at });
        if let Some(open) = open.get_mut(&row.tool) {
            open.retain(|other| other != number);
        }
        Ok(true)
    }
}
