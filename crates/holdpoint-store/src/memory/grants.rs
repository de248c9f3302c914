//! What people said about calls that are yet to come.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::{Timestamp, ToolName};

use crate::{
    GRANTS_MATCHED_MAX, GrantFilter, GrantOpening, GrantRow, List, Page, Revoked, StoreError, Transition, page_size,
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
    pub(super) fn open(&mut self, step: &Transition) {
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
                tenant: step.head.tenant.clone(),
                tool: tool.clone(),
                until: *until,
                created_at: step.at,
                revoked: None,
                body: body.as_slice().into(),
            };
            self.made.insert(self.last, row);
        }
    }

    pub(super) fn matching(&self, tenant: Option<&str>, tool: &ToolName, now: Timestamp) -> Vec<GrantRow> {
        let numbers = self.open.get(tool).into_iter().flatten().rev();
        let rows = numbers.filter_map(|number| self.made.get(number));
        let holds = |row: &&GrantRow| row.tenant.as_deref() == tenant && row.until.is_none_or(|until| until > now);
        rows.filter(holds).take(GRANTS_MATCHED_MAX).cloned().collect()
    }

    pub(super) fn find(&self, id: &str) -> Option<&GrantRow> {
        self.made.get(self.numbers.get(id)?)
    }

    pub(super) fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        let [from] = List::Grants.position(filter.cursor.as_ref(), [i64::MAX])?;
        let grants = self.made.range(..=from).rev().filter(|(_, row)| filter.matches(row));
        Page::collect(List::Grants, page_size(filter.limit), grants.map(|(number, row)| Ok(([*number], row.clone()))))
    }

    pub(super) fn revoke(&mut self, (tenant, id): (Option<&str>, &str), revoked: Revoked) -> bool {
        let Some(number) = self.numbers.get(id) else { return false };
        let Some(row) = self.made.get_mut(number) else { return false };
        if row.tenant.as_deref() != tenant || row.revoked.is_some() {
            return false;
        }
        row.revoked = Some(revoked);
        if let Some(open) = self.open.get_mut(&row.tool) {
            open.retain(|other| other != number);
        }
        true
    }
}
