//! The logs of runs.

use async_trait::async_trait;
use holdpoint_core::{Revision, RunId, Timestamp};
use tokio::sync::watch;

use super::MemoryStore;
use super::runs::RunNo;
use crate::{
    Agents, CommitError, DUE_LIMIT_MAX, Head, List, Page, PruneRequest, Record, RunFilter, RunLog, Scope,
    SessionFilter, SessionRow, StoreError, Topic, Transition, page_size,
};

#[async_trait]
impl RunLog for MemoryStore {
    async fn commit(&self, run: &RunId, at: Revision, transition: Transition) -> Result<Revision, CommitError> {
        transition.check(run).map_err(CommitError::Invalid)?;
        let now = self.clock.lease_moment();
        let revision = self.table().commit(run, at, &transition, now)?;
        self.notifier.moved(run, revision);
        self.notifier.notify(transition.topics());
        Ok(revision)
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let table = self.table();
        let (_, entry) = table.visible(scope, run).ok_or_else(|| not_found(run))?;
        if after >= entry.revision {
            return Ok(Vec::new());
        }
        Ok(entry.log.records(after, entry.created_at))
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        let table = self.table();
        Ok(table.visible(scope, run).map(|(number, entry)| table.head_of(number, entry)))
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let [from] = List::Runs.position(filter.cursor.as_ref(), [i64::MAX])?;
        let table = self.table();
        let runs = table.runs.down_from(RunNo(from));
        let runs = runs.filter(|(_, entry)| filter.status.is_none_or(|status| status == entry.status));
        let heads = runs.map(|(number, entry)| (number, table.head_of(number, entry)));
        let heads = heads.filter(|(_, head)| filter.matches(head));
        Page::collect(List::Runs, page_size(filter.limit), heads.map(|(number, head)| Ok(([number.0], head))))
    }

    async fn due(&self, agents: &Agents, at: Timestamp, limit: usize) -> Result<Vec<RunId>, StoreError> {
        let table = self.table();
        let due = table.deadlines.range(..=(at, RunNo(i64::MAX))).filter_map(|(_, run)| table.runs.get(*run));
        let ours = due.filter(|entry| table.owners.is_of(entry.owner, agents));
        Ok(ours.take(limit.min(DUE_LIMIT_MAX)).map(|entry| entry.run.clone()).collect())
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        let mut waiter = self.notifier.wait(run.clone());
        let revision = self.table().runs.find(run).map(|(_, entry)| entry.revision).ok_or_else(|| not_found(run))?;
        if revision > after {
            return Ok(revision);
        }
        waiter.until_after(after).await.ok_or_else(|| not_found(run))
    }

    async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionRow>, StoreError> {
        self.table().list_sessions(filter)
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        let now = self.now();
        let pruned = self.table().prune(request, now);
        pruned.iter().for_each(|run| self.notifier.pruned(run));
        Ok(pruned)
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        self.notifier.watch(topic)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

fn not_found(run: &RunId) -> StoreError {
    StoreError::NotFound { run: run.clone() }
}
