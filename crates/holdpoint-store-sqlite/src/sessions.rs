//! Runs that belong together.

use holdpoint_store::rows::{signed, tenant_key};
use holdpoint_store::{List, SessionFilter, StoreError, page_size};
use sqlx::{QueryBuilder, Sqlite};

/// The last run of each session stands for it. One more than the page has, to know whether there is a next one.
pub(crate) fn list_query(filter: &SessionFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let [from] = List::Sessions.position(filter.cursor.as_ref(), [i64::MAX])?;
    let mut query = QueryBuilder::new(
        "SELECT r.run_no, r.session, r.tenant, r.run_id, r.agent, r.status, r.created_at, r.updated_at, \
         (SELECT count(*) FROM runs c WHERE c.session = r.session AND c.tenant = r.tenant) AS runs \
         FROM runs r WHERE r.session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs n \
         WHERE n.session = r.session AND n.tenant = r.tenant AND n.run_no > r.run_no) AND r.run_no <= ",
    );
    query.push_bind(from);
    if let Some(tenant) = &filter.tenant {
        query.push(" AND r.tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    query.push(" ORDER BY r.run_no DESC LIMIT ").push_bind(signed(page_size(filter.limit) + 1));
    Ok(query)
}
