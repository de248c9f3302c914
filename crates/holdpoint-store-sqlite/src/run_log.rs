//! The logs of runs.

use std::sync::PoisonError;

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};
use holdpoint_store::rows::{self, limit, scope_key, signed};
use holdpoint_store::{
    Agents, CommitError, Head, List, Page, PruneRequest, Record, RunFilter, RunLog, Scope, SessionFilter, SessionRow,
    Step, StoreError, Topic, Transition, head_columns,
};
use tokio::sync::watch;

use crate::columns::Row;
use crate::json_rows::Values;
use crate::request::About;
use crate::{Readers, SqliteStore, prune};

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

pub(crate) const RUNS: &str = concat!("SELECT ", head_columns!(), " FROM runs r WHERE ");
/// The last run of each session stands for it.
pub(crate) const SESSIONS: &str = "SELECT r.run_no, r.session, r.tenant, r.run_id, r.agent, r.status, r.created_at, r.updated_at, \
     (SELECT count(*) FROM runs c WHERE c.session = r.session AND c.tenant = r.tenant) AS runs \
     FROM runs r WHERE r.session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs n \
     WHERE n.session = r.session AND n.tenant = r.tenant AND n.run_no > r.run_no) AND ";

#[async_trait]
impl RunLog for SqliteStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        let step = Step::new(run, at, transition)?;
        self.decide("commit", About::step(&step), |group| group.commit(step)).await
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let load = sqlx::query(LOAD).bind(run.as_str()).bind(signed(after.0)).bind(scope_key(scope));
        let rows = self.readers.rows("read the records of the run", load).await?;
        rows::records(&rows, run, after)
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        let head = sqlx::query(HEAD).bind(run.as_str()).bind(scope_key(scope));
        self.readers.rows("read the run", head).await?.first().map(Row::head).transpose()
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let rows = self.readers.list("list runs", &filter.search(RUNS)?).await?;
        rows::page(List::Runs, filter.limit, &rows, ["run_no"], Row::head)
    }

    async fn due(&self, agents: &Agents, at: Timestamp, most: usize) -> Result<Vec<RunId>, StoreError> {
        let due = Readers::search(DUE, Values::of_agents(agents)).bind(at.0).bind(limit(most));
        rows::run_ids(&self.readers.rows("find runs that are due", due).await?)
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
        let rows = self.readers.list("list sessions", &filter.search(SESSIONS)?).await?;
        rows::page(List::Sessions, filter.limit, &rows, ["run_no"], Row::session)
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
