//! What servers share beside runs: settings, responses, workers, counts.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_store::rows::{corrupt, limit, pack_tools, scope_key, tenant_key};
use holdpoint_store::{
    DUE_LIMIT_MAX, RESPONSE_KEPT_MS, Reservation, Reserved, ResponseKey, Scope, ServerState, StoreError, StoreTally,
    Swept, WORKER_KEPT_MS, WORKERS_MAX, WorkerRow, WorkerSeen, packed,
};

use crate::PostgresStore;
use crate::columns::{Row, micros};
use crate::commit::token;
use crate::sql::now;

/// The moment, read once for a whole statement, so that an index can be searched for it.
macro_rules! moment_once {
    ($given:literal) => {
        concat!("(select ", now!($given), ")")
    };
}

/// Takes the place of one that is past its time, of the same one that a server gave up, and of our own whose answer was
/// lost.
const RESERVE: &str = concat!(
    "insert into holdpoint_responses as k (request, digest, begun_at, last_request) values ($1, $2, ",
    moment_once!("$3"),
    ", $4) on conflict (request) do update set digest = excluded.digest, begun_at = excluded.begun_at, \
        last_request = excluded.last_request, response = null, tries = case \
            when k.begun_at <= excluded.begun_at - $5 then 1 \
            when k.last_request = excluded.last_request then k.tries else k.tries + 1 end \
     where k.begun_at <= excluded.begun_at - $5 or (k.digest = excluded.digest and k.response is null \
        and (k.last_request = excluded.last_request or k.begun_at <= excluded.begun_at - $6)) returning tries"
);
const RESERVED: &str = "select digest, response from holdpoint_responses where request = $1";
pub(crate) const KEPT: &str = concat!(
    "select response from holdpoint_responses where request = $1 and response is not null and begun_at > ",
    moment_once!("$2"),
    " - $3"
);
const KEEP: &str = "update holdpoint_responses set response = $2 where request = $1 and response is null";
const DROP: &str = "delete from holdpoint_responses where request = $1 and response is null";
const SEEN: &str = concat!(
    "insert into holdpoint_workers (tenant, name, tools, since, seen_at) \
     select $1, $2, $3, m.now, m.now from (select ",
    now!("$4"),
    " as now) m on conflict (tenant, name) do update set tools = excluded.tools, seen_at = excluded.seen_at"
);
pub(crate) const WORKERS: &str = concat!(
    "select w.name, w.tenant, w.tools, w.since, w.seen_at, (select count(*) from holdpoint_tasks t \
        where t.state = 1 and t.worker = w.name and (w.tenant = '' or t.tenant = w.tenant)) as leases \
     from holdpoint_workers w where w.seen_at > ",
    moment_once!("$1"),
    " - $2 and ($3::text is null or w.tenant = $3) order by w.seen_at desc, w.name limit $4"
);
pub(crate) const SWEEP: &str = concat!(
    "with old as (delete from holdpoint_responses where request in (select request from holdpoint_responses \
        where begun_at <= ",
    moment_once!("$1"),
    " - $2 order by begun_at limit $4) returning 1), \
     unseen as (delete from holdpoint_workers w using (select tenant, name from holdpoint_workers where seen_at <= ",
    moment_once!("$1"),
    " - $3 order by seen_at limit $4) u where w.tenant = u.tenant and w.name = u.name returning 1) \
     select (select count(*) from old) as responses, (select count(*) from unseen) as workers"
);
const COUNTS: &str = "select (select count(*) from holdpoint_runs where status = 0) as runs_running, \
    (select count(*) from holdpoint_runs where status = 1 and status < 3) as runs_awaiting_confirmation, \
    (select count(*) from holdpoint_runs where status = 2 and status < 3) as runs_awaiting_results, \
    (select count(*) from holdpoint_approvals where status = 0) as questions_pending, \
    (select min(asked_at) from holdpoint_approvals where status = 0) as question_oldest, \
    (select count(*) from holdpoint_tasks where state = 0) as tasks_waiting, \
    (select count(*) from holdpoint_tasks where state = 1) as tasks_leased, \
    (select count(*) from holdpoint_tasks where state = 2) as tasks_delivered";

const SETTING: &str = "select value from holdpoint_settings where name = $1";
const FIRST_SETTING: &str = "insert into holdpoint_settings as s (name, value) values ($1, $2) \
     on conflict (name) do update set value = s.value returning value";
/// Our own change whose answer was lost is no other one.
const CHANGE_SETTING: &str =
    "update holdpoint_settings set value = $3 where name = $1 and value in ($2, $3) returning 1";

#[async_trait]
impl ServerState for PostgresStore {
    async fn setting(&self, name: &str) -> Result<Option<Arc<str>>, StoreError> {
        let rows = self.pool.rows("read a setting", || sqlx::query(SETTING).bind(name)).await?;
        rows.first().map(|row| row.text("value")).transpose()
    }

    async fn first_setting(&self, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
        let rows = self.pool.rows("keep a setting", || sqlx::query(FIRST_SETTING).bind(name).bind(value)).await?;
        rows.first().ok_or_else(|| corrupt("a setting is missing"))?.text("value")
    }

    async fn change_setting(&self, name: &str, from: &str, to: &str) -> Result<bool, StoreError> {
        let change = || sqlx::query(CHANGE_SETTING).bind(name).bind(from).bind(to);
        Ok(!self.pool.rows("change a setting", change).await?.is_empty())
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<Reserved, StoreError> {
        const DOING: &str = "reserve a response";
        let Reservation { key, digest, reserved_ms } = reservation;
        let (request, token) = (key.to_text(), token());
        let reserve = || {
            let reserve = sqlx::query(RESERVE).bind(&request).bind(&digest.0[..]).bind(self.clock.given_us());
            reserve.bind(token).bind(micros(RESPONSE_KEPT_MS)).bind(micros(*reserved_ms))
        };
        loop {
            if let Some(row) = self.pool.rows(DOING, reserve).await?.first() {
                return Ok(if row.int("tries")? > 1 { Reserved::Again } else { Reserved::New });
            }
            let rows = self.pool.rows(DOING, || sqlx::query(RESERVED).bind(&request)).await?;
            // The server that had it may just have given it up: then it is there to be had.
            if let Some(row) = rows.first() {
                return row.reserved(digest);
            }
        }
    }

    async fn keep(&self, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
        let (request, response) = (key.to_text(), packed::pack_one(response));
        self.pool.rows("keep a response", || sqlx::query(KEEP).bind(&request).bind(&response)).await.map(drop)
    }

    async fn kept(&self, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
        let request = key.to_text();
        let look = || sqlx::query(KEPT).bind(&request).bind(self.clock.given_us()).bind(micros(RESPONSE_KEPT_MS));
        let rows = self.pool.rows("look for a response", look).await?;
        rows.first().map(|row| row.packed("response")).transpose()
    }

    async fn forget(&self, key: &ResponseKey) -> Result<(), StoreError> {
        let request = key.to_text();
        self.pool.rows("give up a request", || sqlx::query(DROP).bind(&request)).await.map(drop)
    }

    async fn note_worker(&self, seen: &WorkerSeen) -> Result<(), StoreError> {
        let (key, tools) = (tenant_key(seen.tenant.as_deref()), pack_tools(&seen.tools));
        let note = || sqlx::query(SEEN).bind(&key).bind(&*seen.name).bind(&tools).bind(self.clock.given_us());
        self.pool.rows("note a worker", note).await.map(drop)
    }

    async fn workers(&self, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
        let key = scope_key(scope);
        let list = || {
            let list = sqlx::query(WORKERS).bind(self.clock.given_us()).bind(micros(WORKER_KEPT_MS));
            list.bind(key.as_deref()).bind(limit(WORKERS_MAX))
        };
        self.pool.rows("list workers", list).await?.iter().map(Row::worker).collect()
    }

    async fn counts(&self) -> Result<StoreTally, StoreError> {
        let rows = self.pool.rows("count what is there", || sqlx::query(COUNTS)).await?;
        rows.first().map_or_else(|| Ok(StoreTally::default()), Row::counts)
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        let sweep = || {
            let sweep = sqlx::query(SWEEP).bind(self.clock.given_us()).bind(micros(RESPONSE_KEPT_MS));
            sweep.bind(micros(WORKER_KEPT_MS)).bind(limit(DUE_LIMIT_MAX))
        };
        let rows = self.pool.rows("throw away what is old", sweep).await?;
        let Some(row) = rows.first() else { return Ok(Swept::default()) };
        Ok(Swept { responses: row.number("responses")?, workers: row.number("workers")? })
    }
}
