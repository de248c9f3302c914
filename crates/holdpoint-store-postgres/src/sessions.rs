//! Runs that belong together.

use holdpoint_core::{RunId, Status, Timestamp};
use holdpoint_store::{List, Page, SessionFilter, SessionRow, StoreError, page_size};
use sqlx::postgres::PgRow;

use crate::pool::{Pool, corrupt};
use crate::row::{column, limit, status_number, tenant, tenant_key, unsigned};

/// The last run of each session stands for it.
macro_rules! sessions {
    ($tenant:literal) => {
        concat!(
            "select r.session, r.audit_tenant, (select count(*) from holdpoint_runs c \
                where c.session = r.session and c.audit_tenant = r.audit_tenant), \
                r.run_id, r.agent, r.status, r.created_at, r.updated_at, r.run_no \
             from holdpoint_runs r where r.session is not null and r.run_no <= $1 ",
            $tenant,
            " and not exists (select 1 from holdpoint_runs n where n.session = r.session \
                and n.audit_tenant = r.audit_tenant and n.run_no > r.run_no) \
             order by r.run_no desc limit $3"
        )
    };
}

pub(crate) const SESSIONS: &str = sessions!("and ($2::text is null or true)");
pub(crate) const SESSIONS_OF_TENANT: &str = sessions!("and r.audit_tenant = $2");

/// The text that a run which is alone in its session holds. The length keeps tenant and session apart.
pub(crate) fn slot(tenant: Option<&str>, session: &str) -> String {
    let tenant = tenant_key(tenant);
    format!("{}:{tenant}{session}", tenant.len())
}

pub(crate) async fn list(pool: &Pool, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
    let [from] = List::Sessions.position(filter.cursor.as_ref(), [i64::MAX])?;
    let size = page_size(filter.limit);
    let key = filter.tenant.as_deref().map(|tenant| tenant_key(Some(tenant)));
    let sql = if key.is_some() { SESSIONS_OF_TENANT } else { SESSIONS };
    let rows = pool.rows("list sessions", || sqlx::query(sql).bind(from).bind(key.as_deref()).bind(limit(size + 1)));
    let read = |row| Ok(([column(row, 8)?], session(row)?));
    Page::collect(List::Sessions, size, rows.await?.iter().map(read))
}

fn session(row: &PgRow) -> Result<SessionRow, StoreError> {
    let status = column::<i16>(row, 5)?;
    let status = Status::ALL.into_iter().find(|known| status_number(*known) == status);
    let agent = column::<&str>(row, 4)?;
    Ok(SessionRow {
        id: column::<&str>(row, 0)?.into(),
        tenant: tenant(row, 1)?,
        runs: unsigned(column(row, 2)?)?,
        last_run: RunId::new(column::<&str>(row, 3)?),
        agent: (!agent.is_empty()).then(|| agent.into()),
        status: status.ok_or_else(|| corrupt("a status is unknown"))?,
        created_at: Timestamp(column(row, 6)?),
        updated_at: Timestamp(column(row, 7)?),
    })
}
