//! What servers share beside runs: settings, responses, workers, counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::{Digest, Status, Timestamp};

use super::MemoryStore;
use crate::{
    DUE_LIMIT_MAX, RESPONSE_KEPT_MS, Reservation, Reserved, ResponseKey, Scope, ServerState, StoreError, StoreTally,
    Swept, TaskStage, TaskState, WORKER_KEPT_MS, WORKER_TOOLS_MAX, WORKERS_MAX, WorkerRow, WorkerSeen,
};

/// Responses by request, workers by tenant and name, settings by name.
#[derive(Default)]
pub(super) struct Shared {
    responses: BTreeMap<ResponseKey, Response>,
    workers: BTreeMap<(Option<Arc<str>>, Arc<str>), WorkerRow>,
    settings: BTreeMap<Box<str>, Arc<str>>,
}

struct Response {
    digest: Digest,
    begun_at: Timestamp,
    response: Option<Arc<[u8]>>,
}

impl Response {
    fn is_expired(&self, now: Timestamp) -> bool {
        self.begun_at.plus_ms(RESPONSE_KEPT_MS) <= now
    }
}

fn is_forgotten(worker: &WorkerRow, now: Timestamp) -> bool {
    worker.seen_at.plus_ms(WORKER_KEPT_MS) <= now
}

#[async_trait]
impl ServerState for MemoryStore {
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.table().shared.settings.get(name).cloned())
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        let mut table = self.table();
        Ok(Arc::clone(table.shared.settings.entry(name.into()).or_insert_with(|| value.into())))
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        let mut table = self.table();
        let current = table.shared.settings.get_mut(name).filter(|current| [from, to].contains(&&***current));
        let is_there = current.is_some();
        if let Some(current) = current {
            *current = to.into();
        }
        Ok(is_there)
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        let Reservation { key, digest, reserved_ms } = reservation;
        let now = self.clock.now();
        let responses = &mut self.table().shared.responses;
        let reserved = match responses.get(key) {
            None => Reserved::New,
            Some(known) if known.is_expired(now) => Reserved::New,
            Some(known) if known.digest != *digest => return Ok(Reserved::Mismatch),
            Some(Response { response: Some(response), .. }) => return Ok(Reserved::Kept(Arc::clone(response))),
            Some(known) if known.begun_at.plus_ms(*reserved_ms) > now => return Ok(Reserved::InProgress),
            Some(_) => Reserved::Again,
        };
        responses.insert(key.clone(), Response { digest: *digest, begun_at: now, response: None });
        Ok(reserved)
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        if let Some(known) = self.table().shared.responses.get_mut(key) {
            known.response.get_or_insert_with(|| response.into());
        }
        Ok(())
    }

    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        let (now, table) = (self.clock.now(), self.table());
        let known = table.shared.responses.get(key).filter(|known| !known.is_expired(now));
        Ok(known.and_then(|known| known.response.clone()))
    }

    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError> {
        let responses = &mut self.table().shared.responses;
        if responses.get(key).is_some_and(|known| known.response.is_none()) {
            responses.remove(key);
        }
        Ok(())
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut tools = seen.tools.clone();
        tools.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        tools.dedup();
        tools.truncate(WORKER_TOOLS_MAX);
        let (name, tenant) = (Arc::clone(&seen.name), seen.tenant.clone());
        let key = (tenant.clone(), Arc::clone(&name));
        let workers = &mut self.table().shared.workers;
        let since = workers.get(&key).map_or(now, |known| known.since);
        workers.insert(key, WorkerRow { name, tenant, tools, since, seen_at: now, leases: 0 });
        Ok(())
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        let (now, table) = (self.clock.now(), self.table());
        let seen = table.shared.workers.values();
        let seen = seen.filter(|row| scope.covers(row.tenant.as_deref()) && !is_forgotten(row, now));
        let mut rows: Vec<WorkerRow> = seen.cloned().collect();
        rows.sort_by(|one, other| other.seen_at.cmp(&one.seen_at).then_with(|| one.name.cmp(&other.name)));
        rows.truncate(WORKERS_MAX);
        for row in &mut rows {
            let leased = table.tasks.rows().values().filter(|task| {
                let is_ours = matches!(&task.head.state, TaskState::Leased { worker, .. } if *worker == row.name);
                is_ours && (row.tenant.is_none() || row.tenant == task.head.tenant)
            });
            row.leases = leased.count() as u64;
        }
        Ok(rows)
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        let (table, mut tally) = (self.table(), StoreTally::default());
        for (_, entry) in table.runs.iter() {
            match entry.status {
                Status::Running => tally.runs_running += 1,
                Status::AwaitingToolConfirmation => tally.runs_awaiting_confirmation += 1,
                Status::AwaitingToolResults => tally.runs_awaiting_results += 1,
                Status::Finished | Status::Failed | Status::Cancelled => {}
            }
        }
        for task in table.tasks.rows().values() {
            match task.head.state.stage() {
                TaskStage::Waiting => tally.tasks_waiting += 1,
                TaskStage::Leased => tally.tasks_leased += 1,
                TaskStage::Delivered => tally.tasks_delivered += 1,
            }
        }
        tally.questions_pending = table.pending_questions().count() as u64;
        tally.question_oldest = table.pending_questions().map(|row| row.asked_at).min();
        Ok(tally)
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        let now = self.clock.now();
        let Shared { responses, workers, .. } = &mut self.table().shared;
        let is_old = |_: &ResponseKey, known: &mut Response| known.is_expired(now);
        let old = responses.extract_if(.., is_old).take(DUE_LIMIT_MAX).count();
        let forgotten = workers.extract_if(.., |_, known| is_forgotten(known, now)).take(DUE_LIMIT_MAX).count();
        Ok(Swept { responses: old as u64, workers: forgotten as u64 })
    }
}
