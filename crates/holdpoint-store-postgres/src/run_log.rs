//! The logs of runs.

use std::collections::BTreeSet;

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::rows::{signed, status_number, tenant_key};
use holdpoint_store::{
    Agents, CommitError, Head, List, Page, PruneRequest, Record, RunFilter, RunLog, Scope, SessionFilter, SessionRow,
    StoreError, Topic, Transition, head_columns, is_over, page_size,
};
use sqlx::{Postgres, QueryBuilder};
use tokio::sync::watch;

use crate::columns::{Row, limit, run_ids, scope_key};
use crate::{PostgresStore, prune, sessions};

const HEAD: &str = concat!(
    "select ",
    head_columns!(),
    " from holdpoint_runs r where r.run_id = $1 and ($2::text is null or r.tenant = $2)"
);
/// The transitions with something after `$2`; without any, one row of nulls that says that the run is there.
const LOAD: &str = "select l.last_seq, l.at, l.body from holdpoint_runs r \
    left join holdpoint_log l on l.run_no = r.run_no and l.last_seq > $2 \
    where r.run_id = $1 and ($3::text is null or r.tenant = $3) order by l.last_seq";
/// The earliest of each agent, so that the index gives them in order, and then the earliest of all.
pub(crate) const DUE: &str = "select r.run_id from unnest($1::text[]) as a(agent) cross join lateral ( \
        select run_id, deadline, run_no from holdpoint_runs \
        where agent = a.agent and deadline is not null and deadline <= $2 order by deadline, run_no limit $3) r \
    order by r.deadline, r.run_no limit $3";

/// Each agent once.
pub(crate) fn distinct(agents: &Agents) -> Vec<&str> {
    agents.iter().map(|agent| &**agent).collect::<BTreeSet<_>>().into_iter().collect()
}

#[async_trait]
impl RunLog for PostgresStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.commits.commit(run, at, transition).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let key = scope_key(scope);
        let load = || sqlx::query(LOAD).bind(run.as_str()).bind(signed(after.0)).bind(key.as_deref());
        let rows = self.pool.rows("read the records of the run", load).await?;
        if rows.is_empty() {
            return Err(StoreError::NotFound { run: run.clone() });
        }
        let mut records = Vec::new();
        rows.iter().try_for_each(|row| row.records(after, &mut records))?;
        Ok(records)
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        let key = scope_key(scope);
        let head = || sqlx::query(HEAD).bind(run.as_str()).bind(key.as_deref());
        self.pool.rows("read the run", head).await?.first().map(Row::head).transpose()
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let [from] = List::Runs.position(filter.cursor.as_ref(), [i64::MAX])?;
        let rows = self.pool.list("list runs", || list_query(filter, from)).await?;
        let read = |row: &Row| Ok(([row.int("run_no")?], row.head()?));
        Page::collect(List::Runs, page_size(filter.limit), rows.iter().map(read))
    }

    async fn due(&self, agents: &Agents, at: Timestamp, most: usize) -> Result<Vec<RunId>, StoreError> {
        let agents = distinct(agents);
        let due = || sqlx::query(DUE).bind(&agents).bind(at.0).bind(limit(most));
        run_ids(&self.pool.rows("find runs that are due", due).await?)
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        self.wakes.changed(&self.pool, run, after).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        let [from] = List::Sessions.position(filter.cursor.as_ref(), [i64::MAX])?;
        let rows = self.pool.list("list sessions", || sessions::list_query(filter, from)).await?;
        let read = |row: &Row| Ok(([row.int("run_no")?], row.session()?));
        Page::collect(List::Sessions, page_size(filter.limit), rows.iter().map(read))
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        prune::prune(self, request).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.wakes.watch(topic)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// One more than the page has, to know whether there is a next one. Only the conditions that are asked for are in it, so that
/// the index that fits is used.
pub(crate) fn list_query(filter: &RunFilter, from: i64) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(concat!("select ", head_columns!(), " from holdpoint_runs r where r.run_no <= "));
    query.push_bind(from);
    if let Some(status) = filter.status {
        query.push(" and r.status = ").push_bind(status_number(status));
        // Runs that are not over are few among those that are; they have an index of their own.
        if !is_over(status) {
            query.push(" and r.status < 3");
        }
    }
    if let Some(agent) = &filter.agent {
        query.push(" and r.agent = ").push_bind(agent.to_string());
    }
    if let Some(tenant) = &filter.tenant {
        query.push(" and r.tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    if let Some(session) = &filter.session {
        query.push(" and r.session = ").push_bind(session.to_string());
    }
    query.push(" order by r.run_no desc limit ").push_bind(signed(page_size(filter.limit) + 1));
    query
}
