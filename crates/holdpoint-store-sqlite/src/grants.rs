//! Answers that are remembered.

use async_trait::async_trait;
use holdpoint_core::ToolName;
use holdpoint_store::rows::{page, scope_key, signed, tenant_key};
use holdpoint_store::{
    GRANTS_MATCHED_MAX, GrantFilter, GrantOpening, GrantRow, Grants, List, Page, Scope, Step, StoreError, grant_columns,
};

use crate::SqliteStore;
use crate::columns::Row;
use crate::json_rows::JsonRows;

/// A name that is there already stays as it is.
pub(crate) const OPEN_GRANTS: &str = "INSERT INTO grants (grant_id, tenant, tool, until, created_at, body) \
     SELECT CAST(substr($2, value->>0, value->>1) AS TEXT), CAST(substr($2, value->>2, value->>3) AS TEXT), \
     CAST(substr($2, value->>4, value->>5) AS TEXT), value->>6, value->>7, substr($2, value->>8, value->>9) \
     FROM json_each($1) WHERE true ON CONFLICT (grant_id) DO NOTHING";
pub(crate) const REVOKE: &str = "UPDATE grants SET revoked_by = $3, revoked_at = $4 \
     WHERE grant_id = $2 AND tenant = $1 AND revoked_at IS NULL RETURNING 1";
pub(crate) const MATCHING: &str = concat!(
    "SELECT ",
    grant_columns!(),
    " FROM grants INDEXED BY grants_open WHERE tenant = $1 AND tool = $2 AND revoked_at IS NULL \
     AND (until IS NULL OR until > $3) ORDER BY grant_no DESC LIMIT $4"
);
pub(crate) const GRANT: &str =
    concat!("SELECT ", grant_columns!(), " FROM grants WHERE grant_id = $1 AND ($2 IS NULL OR tenant = $2)");

pub(crate) const GRANTS: &str = concat!("SELECT ", grant_columns!(), " FROM grants WHERE ");

/// Adds the grants of a transition to those that are written.
pub(crate) fn open_grants(rows: &mut JsonRows, tenant: &str, step: &Step) {
    for GrantOpening { id, tool, until, body } in &step.grants {
        let row = rows.row().text(id).text(tenant).text(tool.as_str());
        row.int_or_null(until.map(|until| until.0)).int(step.moment.0).bytes(body).end();
    }
}

#[async_trait]
impl Grants for SqliteStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        let find = sqlx::query(MATCHING).bind(tenant_key(tenant)).bind(tool.as_str());
        let find = find.bind(self.clock.now().0).bind(signed(GRANTS_MATCHED_MAX));
        self.readers.rows("read grants", find).await?.iter().map(Row::grant).collect()
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        let rows = self.readers.list("list grants", &filter.search(GRANTS)?).await?;
        page(List::Grants, filter.limit, &rows, ["grant_no"], Row::grant)
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        let rows = self.readers.rows("read a grant", sqlx::query(GRANT).bind(id).bind(scope_key(scope))).await?;
        rows.first().map(Row::grant).transpose()
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let (tenant, id, by) = (tenant_key(tenant), id.to_owned(), by.to_owned());
        self.execute(0, move |group, batch| {
            let revoked = batch.add(REVOKE).bind(tenant).bind(id).bind(by).bind(group.now.0).number();
            Box::new(move |given| Ok(!given.take(revoked).is_empty()))
        })
        .await
    }
}
