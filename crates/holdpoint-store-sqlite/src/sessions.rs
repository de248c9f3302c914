//! Runs that belong together.

use holdpoint_core::RunId;
use holdpoint_store::{List, Page, SessionFilter, SessionRow, StoreError, page_size};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use crate::columns::{Reader, signed_len, tenant_key};
use crate::run_log::Readers;

/// The text that a run which is alone in its session holds. The length keeps tenant and session apart.
pub(crate) fn slot(tenant: Option<&str>, session: &str) -> String {
    let tenant = tenant_key(tenant);
    format!("{}:{tenant}{session}", tenant.len())
}

/// The slots of a group that others have.
pub(crate) const LOOK_SLOTS: &str = "SELECT r.session_slot FROM json_each($1) j CROSS JOIN runs r \
     ON r.session_slot = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT)";

/// The last run of each session that a group goes on with.
pub(crate) const LOOK_LASTS: &str = "SELECT j.key, (SELECT r.run_id FROM runs r \
     WHERE r.session = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     AND r.audit_tenant = CAST(substr($2, j.value->>2, j.value->>3) AS TEXT) ORDER BY r.run_no DESC LIMIT 1) \
     FROM json_each($1) j";

impl Readers {
    pub(crate) async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        let rows = self.list_rows(sessions_query(filter)?, "list sessions").await?;
        Page::collect(List::Sessions, page_size(filter.limit), rows.iter().map(read_session))
    }
}

/// The last run of each session stands for it. One more than the page has, to know whether there is a next one.
pub(crate) fn sessions_query(filter: &SessionFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let [from] = List::Sessions.position(filter.cursor.as_ref(), [i64::MAX])?;
    let mut query = QueryBuilder::new(
        "SELECT r.run_no, r.session, r.audit_tenant, (SELECT count(*) FROM runs c \
         WHERE c.session = r.session AND c.audit_tenant = r.audit_tenant), \
         r.run_id, r.agent, r.status, r.created_at, r.updated_at \
         FROM runs r WHERE r.session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs n \
         WHERE n.session = r.session AND n.audit_tenant = r.audit_tenant AND n.run_no > r.run_no) AND r.run_no <= ",
    );
    query.push_bind(from);
    if let Some(tenant) = &filter.tenant {
        query.push(" AND r.audit_tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    query.push(" ORDER BY r.run_no DESC LIMIT ").push_bind(signed_len(page_size(filter.limit) + 1));
    Ok(query)
}

fn read_session(row: &SqliteRow) -> Result<([i64; 1], SessionRow), StoreError> {
    let mut reader = Reader::new(row);
    let number = reader.int()?;
    let (id, tenant, runs) = (reader.text()?, reader.tenant()?, reader.big()?);
    let (last_run, agent) = (RunId::new(reader.text()?), reader.text()?);
    let row = SessionRow {
        id,
        tenant,
        runs,
        last_run,
        agent: (!agent.is_empty()).then_some(agent),
        status: reader.status()?,
        created_at: reader.moment()?,
        updated_at: reader.moment()?,
    };
    Ok(([number], row))
}
