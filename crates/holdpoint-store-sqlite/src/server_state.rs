//! What servers share beside runs: settings, responses, workers, counts.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_store::rows::{before, corrupt, limit, pack_tools, scope_key, tenant_key};
use holdpoint_store::{
    DUE_LIMIT_MAX, RESPONSE_KEPT_MS, Reservation, Reserved, ResponseKey, Scope, ServerState, StoreError, StoreTally,
    Swept, WORKER_KEPT_MS, WORKERS_MAX, WorkerRow, WorkerSeen, packed,
};

use crate::SqliteStore;
use crate::columns::Row;

/// Takes the place of one that is past its time, and of the same one that somebody gave up.
pub(crate) const RESERVE: &str = "INSERT INTO responses (request, digest, begun_at) VALUES ($1, $2, $3) \
     ON CONFLICT (request) DO UPDATE SET digest = excluded.digest, begun_at = excluded.begun_at, response = NULL, \
     tries = CASE WHEN begun_at <= $4 THEN 1 ELSE tries + 1 END \
     WHERE begun_at <= $4 OR (digest = excluded.digest AND response IS NULL AND begun_at <= $5) RETURNING tries";
pub(crate) const RESERVED: &str = "SELECT digest, response FROM responses WHERE request = $1";
pub(crate) const KEPT: &str =
    "SELECT response FROM responses WHERE request = $1 AND begun_at > $2 AND response IS NOT NULL";
pub(crate) const KEEP: &str = "UPDATE responses SET response = $2 WHERE request = $1 AND response IS NULL";
pub(crate) const DROP: &str = "DELETE FROM responses WHERE request = $1 AND response IS NULL";
pub(crate) const SEEN: &str = "INSERT INTO workers (tenant, name, tools, since, seen_at) VALUES ($1, $2, $3, $4, $4) \
     ON CONFLICT (tenant, name) DO UPDATE SET tools = excluded.tools, seen_at = excluded.seen_at";
pub(crate) const SWEEP_RESPONSES: &str = "DELETE FROM responses WHERE rowid IN (SELECT rowid FROM responses \
     WHERE begun_at <= $1 ORDER BY begun_at LIMIT $2) RETURNING 1";
pub(crate) const SWEEP_WORKERS: &str = "DELETE FROM workers WHERE rowid IN (SELECT rowid FROM workers \
     WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2) RETURNING 1";
pub(crate) const WORKERS: &str = "SELECT w.name, w.tenant, w.tools, w.since, w.seen_at, (SELECT count(*) FROM tasks t \
     WHERE t.state = 1 AND t.worker = w.name AND (w.tenant = '' OR t.tenant = w.tenant)) AS leases \
     FROM workers w WHERE w.seen_at > $1 AND ($2 IS NULL OR w.tenant = $2) ORDER BY w.seen_at DESC, w.name LIMIT $3";

pub(crate) const COUNTS: &str = "SELECT (SELECT count(*) FROM runs WHERE status = 0) AS runs_running, \
     (SELECT count(*) FROM runs WHERE status = 1 AND status IN (1, 2)) AS runs_awaiting_confirmation, \
     (SELECT count(*) FROM runs WHERE status = 2 AND status IN (1, 2)) AS runs_awaiting_results, \
     (SELECT count(*) FROM approvals WHERE status = 0) AS questions_pending, \
     (SELECT min(asked_at) FROM approvals WHERE status = 0) AS question_oldest, \
     (SELECT count(*) FROM tasks WHERE state = 0) AS tasks_waiting, \
     (SELECT count(*) FROM tasks WHERE state = 1) AS tasks_leased, \
     (SELECT count(*) FROM tasks WHERE state = 2) AS tasks_delivered";
const SETTING: &str = "SELECT value FROM settings WHERE name = $1";
pub(crate) const FIRST_SETTING: &str =
    "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = value RETURNING value";
pub(crate) const CHANGE_SETTING: &str =
    "UPDATE settings SET value = $3 WHERE name = $1 AND value IN ($2, $3) RETURNING 1";

#[async_trait]
impl ServerState for SqliteStore {
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        let rows = self.readers.rows("read a setting", sqlx::query(SETTING).bind(name)).await?;
        rows.first().map(|row| row.text("value")).transpose()
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.execute(0, move |_, batch| {
            let kept = batch.add(FIRST_SETTING).bind(name).bind(value).number();
            Box::new(move |given| {
                given.take(kept).first().ok_or_else(|| corrupt("a setting is missing"))?.text("value")
            })
        })
        .await
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        let (name, from, to) = (name.to_owned(), from.to_owned(), to.to_owned());
        self.execute(0, move |_, batch| {
            let changed = batch.add(CHANGE_SETTING).bind(name).bind(from).bind(to).number();
            Box::new(move |given| Ok(!given.take(changed).is_empty()))
        })
        .await
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        let Reservation { key, digest, reserved_ms } = reservation.clone();
        self.execute(0, move |group, batch| {
            let (request, now) = (key.to_text(), group.now);
            let take = batch.add(RESERVE).bind(request.as_str()).bind(digest.0.as_slice()).bind(now.0);
            let taken = take.bind(before(now, RESPONSE_KEPT_MS)).bind(before(now, reserved_ms)).number();
            let there = batch.add(RESERVED).bind(request).number();
            Box::new(move |given| {
                if let Some(row) = given.take(taken).first() {
                    return Ok(if row.int("tries")? > 1 { Reserved::Again } else { Reserved::New });
                }
                let rows = given.take(there);
                rows.first().ok_or_else(|| corrupt("a reservation is missing"))?.reserved(&digest)
            })
        })
        .await
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        let (request, response) = (key.to_text(), packed::pack_one(response));
        self.execute(response.len(), move |_, batch| {
            batch.add(KEEP).bind(request).bind(response);
            Box::new(|_| Ok(()))
        })
        .await
    }

    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        let look = sqlx::query(KEPT).bind(key.to_text()).bind(before(self.clock.now(), RESPONSE_KEPT_MS));
        let rows = self.readers.rows("look for a response", look).await?;
        rows.first().map(|row| row.packed("response")).transpose()
    }

    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError> {
        let request = key.to_text();
        self.execute(0, move |_, batch| {
            batch.add(DROP).bind(request);
            Box::new(|_| Ok(()))
        })
        .await
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        let WorkerSeen { name, tenant, tools } = seen.clone();
        self.execute(0, move |group, batch| {
            let note = batch.add(SEEN).bind(tenant_key(tenant.as_deref())).bind(&*name);
            note.bind(pack_tools(&tools)).bind(group.now.0);
            Box::new(|_| Ok(()))
        })
        .await
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        let list = sqlx::query(WORKERS).bind(before(self.clock.now(), WORKER_KEPT_MS));
        let rows = self.readers.rows("list workers", list.bind(scope_key(scope)).bind(limit(WORKERS_MAX))).await?;
        rows.iter().map(Row::worker).collect()
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        let rows = self.readers.rows("count what is there", sqlx::query(COUNTS)).await?;
        rows.first().map_or_else(|| Ok(StoreTally::default()), Row::counts)
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        self.execute(0, |group, batch| {
            let now = group.now;
            let mut sweep =
                |sql, kept_ms| batch.add(sql).bind(before(now, kept_ms)).bind(limit(DUE_LIMIT_MAX)).number();
            let responses = sweep(SWEEP_RESPONSES, RESPONSE_KEPT_MS);
            let workers = sweep(SWEEP_WORKERS, WORKER_KEPT_MS);
            Box::new(move |given| {
                let mut count = |statement| given.take(statement).len() as u64;
                Ok(Swept { responses: count(responses), workers: count(workers) })
            })
        })
        .await
    }
}
