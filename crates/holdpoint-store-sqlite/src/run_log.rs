//! The logs of runs.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::rows::{signed, status_number, tenant_key};
use holdpoint_store::{
    Agents, CommitError, DUE_LIMIT_MAX, Head, List, Page, PruneRequest, Record, RunFilter, RunLog, Scope,
    SessionFilter, SessionRow, Step, StoreError, Topic, Transition, head_columns, is_paused, page_size,
};
use sqlx::{QueryBuilder, Sqlite};
use tokio::sync::watch;

use crate::columns::Row;
use crate::json_rows::{JsonRows, Values};
use crate::request::About;
use crate::{Readers, SqliteStore, prune, sessions};

pub(crate) const HEAD: &str =
    concat!("SELECT ", head_columns!(), " FROM runs r WHERE r.run_id = $1 AND ($2 IS NULL OR r.tenant = $2)");
pub(crate) const REVISION: &str = "SELECT revision FROM runs WHERE run_id = $1";
/// The transitions with something after `$2`; without any, one row of nulls that says that the run is there.
pub(crate) const LOAD: &str = "SELECT l.last_seq, l.at, l.body FROM runs r \
     LEFT JOIN log l ON l.run_no = r.run_no AND l.last_seq > $2 WHERE r.run_id = $1 \
     AND ($3 IS NULL OR r.tenant = $3) ORDER BY l.last_seq";
pub(crate) const DUE: &str = "SELECT r.run_id FROM json_each($1) j CROSS JOIN runs r WHERE r.run_no IN (\
     SELECT d.run_no FROM runs d INDEXED BY runs_due \
     WHERE d.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND d.deadline <= $3 \
     ORDER BY d.deadline, d.run_no LIMIT $4) ORDER BY r.deadline, r.run_no LIMIT $4";

/// Each agent once, so that nothing is found twice.
pub(crate) fn agent_rows(agents: &Agents) -> Values {
    let agents: BTreeSet<&str> = agents.iter().map(|agent| &**agent).collect();
    JsonRows::of_texts(agents).into_values()
}

/// The tenant of a scope as it is stored.
pub(crate) fn scope_key(scope: &Scope) -> Option<String> {
    scope.tenant().map(|tenant| tenant_key(Some(tenant)))
}

pub(crate) fn limit(limit: usize) -> i64 {
    signed(limit.min(DUE_LIMIT_MAX))
}

pub(crate) fn run_ids(rows: &[Row]) -> Result<Vec<RunId>, StoreError> {
    rows.iter().map(Row::run).collect()
}

#[async_trait]
impl RunLog for SqliteStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let step = Step::new(run, at, transition)?;
        self.decide("commit", About::step(&step), |group| group.commit(step)).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let load = sqlx::query(LOAD).bind(run.as_str()).bind(signed(after.0)).bind(scope_key(scope));
        let rows = self.readers.rows("read the records of the run", load).await?;
        if rows.is_empty() {
            return Err(not_found(run));
        }
        let mut records = Vec::new();
        rows.iter().try_for_each(|row| row.records(after, &mut records))?;
        Ok(records)
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        let head = sqlx::query(HEAD).bind(run.as_str()).bind(scope_key(scope));
        self.readers.rows("read the run", head).await?.first().map(Row::head).transpose()
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let rows = self.readers.list("list runs", list_query(filter)?).await?;
        let read = |row: &Row| Ok(([row.int("run_no")?], row.head()?));
        Page::collect(List::Runs, page_size(filter.limit), rows.iter().map(read))
    }

    async fn due(&self, agents: &Agents, at: Timestamp, most: usize) -> Result<Vec<RunId>, StoreError> {
        let due = Readers::search(DUE, agent_rows(agents)).bind(at.0).bind(limit(most));
        run_ids(&self.readers.rows("find runs that are due", due).await?)
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        let mut waiter = self.notifier.wait(run.clone());
        let rows = self.readers.rows("read the run", sqlx::query(REVISION).bind(run.as_str())).await?;
        let revision = Revision(rows.first().ok_or_else(|| not_found(run))?.number("revision")?);
        if revision > after {
            return Ok(revision);
        }
        waiter.until_after(after).await.ok_or_else(|| not_found(run))
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        let rows = self.readers.list("list sessions", sessions::list_query(filter)?).await?;
        let read = |row: &Row| Ok(([row.int("run_no")?], row.session()?));
        Page::collect(List::Sessions, page_size(filter.limit), rows.iter().map(read))
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        let (request, notifier) = (request.clone(), self.notifier.clone());
        let prune = move |group: &mut _, batch: &mut _| prune::prune(group, batch, &request, notifier);
        self.execute(0, prune).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.notifier.watch(topic)
    }

    async fn close(&self) {
        self.poller.abort();
        self.ending.notify_one();
        self.readers.0.close().await;
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A writer that panicked has closed the file as well.
            _ = writer.await;
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

fn not_found(run: &RunId) -> StoreError {
    StoreError::NotFound { run: run.clone() }
}

/// One more than the page has, to know whether there is a next one.
pub(crate) fn list_query(filter: &RunFilter) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let [from] = List::Runs.position(filter.cursor.as_ref(), [i64::MAX])?;
    let mut query = QueryBuilder::new(concat!("SELECT ", head_columns!(), " FROM runs r WHERE r.run_no <= "));
    query.push_bind(from);
    if let Some(status) = filter.status {
        // Written out, so that SQLite sees which partial index covers it.
        query.push(format_args!(" AND r.status = {}", status_number(status)));
        if is_paused(status) {
            query.push(" AND r.status IN (1, 2)");
        }
    }
    if let Some(agent) = &filter.agent {
        query.push(" AND r.agent = ").push_bind(agent.to_string());
    }
    if let Some(tenant) = &filter.tenant {
        query.push(" AND r.tenant > '' AND r.tenant = ").push_bind(tenant_key(Some(tenant)));
    }
    if let Some(session) = &filter.session {
        query.push(" AND r.session = ").push_bind(session.to_string());
    }
    query.push(" ORDER BY r.run_no DESC LIMIT ").push_bind(signed(page_size(filter.limit) + 1));
    Ok(query)
}
