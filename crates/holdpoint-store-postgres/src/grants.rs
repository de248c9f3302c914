//! What people said about calls that are yet to come.

use holdpoint_core::{Timestamp, ToolName};
use holdpoint_store::{GRANTS_MATCHED_MAX, GrantFilter, GrantRow, List, Page, Revoked, Scope, StoreError, page_size};
use sqlx::postgres::PgRow;

use crate::clock::StoreClock;
use crate::commit::token;
use crate::pool::Pool;
use crate::row::{column, limit, moment, tenant, tenant_key, text};

/// The columns of a grant, in the order in which [`grant`] reads them.
macro_rules! grant_columns {
    () => {
        "grant_id, tenant, tool, until, created_at, revoked_by, revoked_at, body, grant_no"
    };
}

pub(crate) const MATCHING: &str = concat!(
    "select ",
    grant_columns!(),
    " from holdpoint_grants where tenant = $1 and tool = $2 and revoked_at is null and (until is null \
        or until > coalesce($3::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint)) \
    order by grant_no desc limit $4"
);
pub(crate) const LIST: &str = concat!(
    "select ",
    grant_columns!(),
    " from holdpoint_grants where grant_no <= $1 and ($2::text is null or tenant = $2) \
        and ($3::text is null or tool = $3) order by grant_no desc limit $4"
);
const ONE: &str = concat!(
    "select ",
    grant_columns!(),
    " from holdpoint_grants where grant_id = $1 and ($2::text is null or tenant = $2)"
);
/// What this request took back before its answer was lost, it took back.
const REVOKE: &str = "update holdpoint_grants set revoked_by = $3, last_request = $5, revoked_at = coalesce(revoked_at, \
        $4, (extract(epoch from clock_timestamp()) * 1000000)::bigint) \
    where grant_id = $2 and tenant = $1 and (revoked_at is null or last_request = $5) returning 1";

/// Who takes which grant back.
pub(crate) struct Revoking<'a> {
    pub(crate) tenant: Option<&'a str>,
    pub(crate) id: &'a str,
    pub(crate) by: &'a str,
}

pub(crate) async fn matching(
    pool: &Pool,
    clock: &StoreClock,
    tenant: Option<&str>,
    tool: &ToolName,
) -> Result<Vec<GrantRow>, StoreError> {
    let key = tenant_key(tenant);
    let rows = pool.rows("read grants", || {
        let matching = sqlx::query(MATCHING).bind(&key).bind(tool.as_str());
        matching.bind(clock.given_us()).bind(limit(GRANTS_MATCHED_MAX))
    });
    rows.await?.iter().map(grant).collect()
}

pub(crate) async fn find(pool: &Pool, scope: &Scope, id: &str) -> Result<Option<GrantRow>, StoreError> {
    let key = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
    let rows = pool.rows("read a grant", || sqlx::query(ONE).bind(id).bind(key.as_deref())).await?;
    rows.first().map(grant).transpose()
}

pub(crate) async fn list(pool: &Pool, filter: &GrantFilter) -> Result<Page<GrantRow>, StoreError> {
    let [from] = List::Grants.position(filter.cursor.as_ref(), [i64::MAX])?;
    let (size, key) = (page_size(filter.limit), filter.tenant.as_deref().map(|tenant| tenant_key(Some(tenant))));
    let rows = pool.rows("list grants", || {
        let list = sqlx::query(LIST).bind(from).bind(key.as_deref());
        list.bind(filter.tool.as_ref().map(ToolName::as_str)).bind(limit(size + 1))
    });
    let read = |row| Ok(([column(row, GRANT_COLUMNS)?], grant(row)?));
    Page::collect(List::Grants, size, rows.await?.iter().map(read))
}

pub(crate) async fn revoke(pool: &Pool, clock: &StoreClock, revoking: &Revoking<'_>) -> Result<bool, StoreError> {
    let (key, token) = (tenant_key(revoking.tenant), token());
    let rows = pool.rows("take a grant back", || {
        let revoke = sqlx::query(REVOKE).bind(&key).bind(revoking.id).bind(revoking.by);
        revoke.bind(clock.given_us()).bind(token)
    });
    Ok(!rows.await?.is_empty())
}

/// Where the number of a grant is, after its other columns.
const GRANT_COLUMNS: usize = 8;

fn grant(row: &PgRow) -> Result<GrantRow, StoreError> {
    let revoked = text(row, 5)?.zip(moment(row, 6)?).map(|(by, at)| Revoked { by, at });
    Ok(GrantRow {
        id: column::<&str>(row, 0)?.into(),
        tenant: tenant(row, 1)?,
        tool: ToolName::new(column::<&str>(row, 2)?),
        until: moment(row, 3)?,
        created_at: Timestamp(column(row, 4)?),
        revoked,
        body: column::<&[u8]>(row, 7)?.into(),
    })
}
