//! Answers that are remembered.

use async_trait::async_trait;
use holdpoint_core::ToolName;
use holdpoint_store::rows::{page, scope_key, signed, tenant_key};
use holdpoint_store::{
    GRANTS_MATCHED_MAX, GrantFilter, GrantRow, Grants, List, Page, Scope, StoreError, grant_columns,
};

use crate::PostgresStore;
use crate::columns::Row;
use crate::commit::token;
use crate::sql::now;

pub(crate) const MATCHING: &str = concat!(
    "select ",
    grant_columns!(),
    " from holdpoint_grants where tenant = $1 and tool = $2 and revoked_at is null and (until is null or until > ",
    now!("$3"),
    ") order by grant_no desc limit $4"
);
const GRANT: &str = concat!(
    "select ",
    grant_columns!(),
    " from holdpoint_grants where grant_id = $1 and ($2::text is null or tenant = $2)"
);
pub(crate) const GRANTS: &str = concat!("select ", grant_columns!(), " from holdpoint_grants where ");
/// A request that is sent again because its answer was lost has revoked the grant.
const REVOKE: &str = concat!(
    "update holdpoint_grants set revoked_by = $3, last_request = $5, revoked_at = coalesce(revoked_at, ",
    now!("$4"),
    ") where grant_id = $2 and tenant = $1 and (revoked_at is null or last_request = $5) returning 1"
);

#[async_trait]
impl Grants for PostgresStore {
    async fn matching(&self, tenant: Option<&str>, tool: &ToolName) -> Result<Vec<GrantRow>, StoreError> {
        let key = tenant_key(tenant);
        let find = || {
            let find = sqlx::query(MATCHING).bind(&key).bind(tool.as_str());
            find.bind(self.clock.given_us()).bind(signed(GRANTS_MATCHED_MAX))
        };
        self.pool.rows("read grants", find).await?.iter().map(Row::grant).collect()
    }

    async fn list(&self, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
        let rows = self.pool.list("list grants", &filter.search(GRANTS)?).await?;
        page(List::Grants, filter.limit, &rows, ["grant_no"], Row::grant)
    }

    async fn find(&self, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
        let key = scope_key(scope);
        let rows = self.pool.rows("read a grant", || sqlx::query(GRANT).bind(id).bind(key.as_deref())).await?;
        rows.first().map(Row::grant).transpose()
    }

    async fn revoke(&self, tenant: Option<&str>, id: &str, by: &str) -> Result<bool, StoreError> {
        let (key, token) = (tenant_key(tenant), token());
        let revoke = || sqlx::query(REVOKE).bind(&key).bind(id).bind(by).bind(self.clock.given_us()).bind(token);
        Ok(!self.pool.rows("revoke a grant", revoke).await?.is_empty())
    }
}
