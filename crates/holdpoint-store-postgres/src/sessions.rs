//! Runs that belong together.

use holdpoint_store::rows::{signed, tenant_key};
use holdpoint_store::{SessionFilter, page_size};
use sqlx::{Postgres, QueryBuilder};

/// The last run of each session stands for it. One more than the page has, to know whether there is a next one.
pub(crate) fn list_query(filter: &SessionFilter, from: i64) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(
        "select r.run_no, r.session, r.tenant, r.run_id, r.agent, r.status, r.created_at, r.updated_at, \
            (select count(*) from holdpoint_runs c where c.session = r.session and c.tenant = r.tenant) as runs \
         from holdpoint_runs r where r.session is not null and r.run_no <= ",
    );
    query.push_bind(from);
    if let Some(tenant) = &filter.tenant {
        query.push(" and r.tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    query.push(
        " and not exists (select 1 from holdpoint_runs n where n.session = r.session and n.tenant = r.tenant \
            and n.run_no > r.run_no) order by r.run_no desc limit ",
    );
    query.push_bind(signed(page_size(filter.limit) + 1));
    query
}
