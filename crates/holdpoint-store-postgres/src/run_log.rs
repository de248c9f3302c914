//! The logs of runs.

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::rows::{self, distinct, limit, scope_key, signed};
use holdpoint_store::{
    Agents, CommitError, Head, List, Page, PruneRequest, Record, RunFilter, RunLog, Scope, SessionFilter, SessionRow,
    StoreError, Topic, Transition, head_columns,
};
use tokio::sync::watch;

use crate::columns::Row;
use crate::{PostgresStore, prune};

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

pub(crate) const RUNS: &str = concat!("select ", head_columns!(), " from holdpoint_runs r where ");
/// The last run of each session stands for it.
pub(crate) const SESSIONS: &str = "select r.run_no, r.session, r.tenant, r.run_id, r.agent, r.status, r.created_at, \
        r.updated_at, (select count(*) from holdpoint_runs c where c.session = r.session and c.tenant = r.tenant) as runs \
    from holdpoint_runs r where r.session is not null and not exists (select 1 from holdpoint_runs n \
        where n.session = r.session and n.tenant = r.tenant and n.run_no > r.run_no) and ";

#[async_trait]
impl RunLog for PostgresStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        self.commits.commit(run, at, transition).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let key = scope_key(scope);
        let load = || sqlx::query(LOAD).bind(run.as_str()).bind(signed(after.0)).bind(key.as_deref());
        let rows = self.pool.rows("read the records of the run", load).await?;
        rows::records(&rows, run, after)
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        let key = scope_key(scope);
        let head = || sqlx::query(HEAD).bind(run.as_str()).bind(key.as_deref());
        self.pool.rows("read the run", head).await?.first().map(Row::head).transpose()
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let rows = self.pool.list("list runs", &filter.search(RUNS)?).await?;
        rows::page(List::Runs, filter.limit, &rows, ["run_no"], Row::head)
    }

    async fn due(&self, agents: &Agents, at: Timestamp, most: usize) -> Result<Vec<RunId>, StoreError> {
        let agents = distinct(agents);
        let due = || sqlx::query(DUE).bind(&agents).bind(at.0).bind(limit(most));
        rows::run_ids(&self.pool.rows("find runs that are due", due).await?)
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        self.wakes.changed(&self.pool, run, after).await
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        let rows = self.pool.list("list sessions", &filter.search(SESSIONS)?).await?;
        rows::page(List::Sessions, filter.limit, &rows, ["run_no"], Row::session)
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
