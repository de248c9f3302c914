//! What servers keep for those who ask them: responses, and who does tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::{Digest, Status, Timestamp};

use super::table::Table;
use crate::{
    DUE_LIMIT_MAX, RESPONSE_KEPT_MS, Reservation, Reserved, ResponseKey, Scope, StoreTally, Swept, TaskStage,
    TaskState, WORKER_KEPT_MS, WORKER_TOOLS_MAX, WORKERS_MAX, WorkerRow, WorkerSeen,
};

/// Responses by request, workers by tenant and name, settings by name.
#[derive(Default)]
pub(super) struct FrontDesk {
    responses: BTreeMap<ResponseKey, Response>,
    workers: BTreeMap<(Option<Arc<str>>, Arc<str>), WorkerRow>,
    settings: BTreeMap<Box<str>, Arc<str>>,
}

struct Response {
    digest: Digest,
    begun_at: Timestamp,
    response: Option<Arc<[u8]>>,
}

impl FrontDesk {
    pub(super) fn reserve(&mut self, reservation: &Reservation, now: Timestamp) -> Reserved {
        let Reservation { key, digest, reserved_ms } = reservation;
        match self.responses.get(key) {
            Some(known) if known.begun_at.plus_ms(RESPONSE_KEPT_MS) <= now => {}
            Some(known) if known.digest != *digest => return Reserved::Mismatch,
            Some(Response { response: Some(response), .. }) => return Reserved::Kept(Arc::clone(response)),
            Some(known) if known.begun_at.plus_ms(*reserved_ms) > now => return Reserved::InProgress,
            Some(_) => {
                self.responses.insert(key.clone(), Response { digest: *digest, begun_at: now, response: None });
                return Reserved::Again;
            }
            None => {}
        }
        self.responses.insert(key.clone(), Response { digest: *digest, begun_at: now, response: None });
        Reserved::New
    }

    pub(super) fn keep(&mut self, key: &ResponseKey, response: Vec<u8>) {
        if let Some(known) = self.responses.get_mut(key) {
            known.response.get_or_insert_with(|| response.into());
        }
    }

    pub(super) fn kept(&self, key: &ResponseKey, now: Timestamp) -> Option<Arc<[u8]>> {
        let known = self.responses.get(key).filter(|known| known.begun_at.plus_ms(RESPONSE_KEPT_MS) > now);
        known.and_then(|known| known.response.clone())
    }

    pub(super) fn drop_response(&mut self, key: &ResponseKey) {
        if self.responses.get(key).is_some_and(|known| known.response.is_none()) {
            self.responses.remove(key);
        }
    }

    pub(super) fn setting(&self, name: &str) -> Option<Arc<str>> {
        self.settings.get(name).cloned()
    }

    pub(super) fn first_setting(&mut self, name: &str, value: &str) -> Arc<str> {
        Arc::clone(self.settings.entry(name.into()).or_insert_with(|| value.into()))
    }

    pub(super) fn change_setting(&mut self, name: &str, (from, to): (&str, &str)) -> bool {
        match self.settings.get_mut(name).filter(|there| [from, to].contains(&&***there)) {
            Some(there) => {
                *there = to.into();
                true
            }
            None => false,
        }
    }

    pub(super) fn seen(&mut self, seen: &WorkerSeen, now: Timestamp) {
        let mut tools = seen.tools.clone();
        tools.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        tools.dedup();
        tools.truncate(WORKER_TOOLS_MAX);
        let key = (seen.tenant.clone(), Arc::clone(&seen.name));
        let since = self.workers.get(&key).map_or(now, |known| known.since);
        let (name, tenant) = (Arc::clone(&seen.name), seen.tenant.clone());
        self.workers.insert(key, WorkerRow { name, tenant, tools, since, seen_at: now, leases: 0 });
    }

    pub(super) fn sweep(&mut self, now: Timestamp) -> Swept {
        let old = self.responses.iter().filter(|(_, known)| known.begun_at.plus_ms(RESPONSE_KEPT_MS) <= now);
        let old: Vec<_> = old.take(DUE_LIMIT_MAX).map(|(key, _)| key.clone()).collect();
        old.iter().for_each(|key| _ = self.responses.remove(key));
        let unseen = self.workers.iter().filter(|(_, known)| is_forgotten(known, now));
        let unseen: Vec<_> = unseen.take(DUE_LIMIT_MAX).map(|(key, _)| key.clone()).collect();
        unseen.iter().for_each(|key| _ = self.workers.remove(key));
        Swept { responses: old.len() as u64, workers: unseen.len() as u64 }
    }
}

fn is_forgotten(worker: &WorkerRow, now: Timestamp) -> bool {
    worker.seen_at.plus_ms(WORKER_KEPT_MS) <= now
}

impl Table {
    pub(super) fn tally(&self) -> StoreTally {
        let mut tally = StoreTally::default();
        for (_, entry) in self.runs.iter() {
            match entry.status {
                Status::Running => tally.runs_running += 1,
                Status::AwaitingToolConfirmation => tally.runs_awaiting_confirmation += 1,
                Status::AwaitingToolResults => tally.runs_awaiting_results += 1,
                Status::Finished | Status::Failed | Status::Cancelled => {}
            }
        }
        for (_, task) in self.queue.from(super::queue::TaskNo(0)) {
            match task.head.state.stage() {
                TaskStage::Waiting => tally.tasks_waiting += 1,
                TaskStage::Leased => tally.tasks_leased += 1,
                TaskStage::Delivered => tally.tasks_delivered += 1,
            }
        }
        (tally.questions_pending, tally.question_oldest) = self.questions.waiting();
        tally
    }

    pub(super) fn workers(&self, scope: &Scope, now: Timestamp) -> Vec<WorkerRow> {
        let seen = self.front_desk.workers.values();
        let seen = seen.filter(|row| scope.covers(row.tenant.as_deref()) && !is_forgotten(row, now));
        let mut rows: Vec<WorkerRow> = seen.cloned().collect();
        rows.sort_by(|one, other| other.seen_at.cmp(&one.seen_at).then_with(|| one.name.cmp(&other.name)));
        rows.truncate(WORKERS_MAX);
        for row in &mut rows {
            let leased = self.queue.from(super::queue::TaskNo(0)).filter(|(_, task)| {
                let mine = matches!(&task.head.state, TaskState::Leased { worker, .. } if *worker == row.name);
                mine && (row.tenant.is_none() || row.tenant == task.head.tenant)
            });
            row.leases = leased.count() as u64;
        }
        rows
    }
}
