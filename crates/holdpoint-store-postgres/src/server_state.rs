//! What servers keep for those who ask them: responses, and who does tasks.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{Timestamp, ToolName};
use holdpoint_store::{
    DUE_LIMIT_MAX, RESPONSE_KEPT_MS, Reservation, Reserved, ResponseKey, Scope, StoreError, StoreTally, Swept,
    WORKER_KEPT_MS, WORKER_TOOLS_MAX, WORKERS_MAX, WorkerRow, WorkerSeen, packed,
};
use sqlx::postgres::PgRow;

use crate::clock::StoreClock;
use crate::commit::token;
use crate::pool::{Pool, corrupt};
use crate::row::{column, limit, milliseconds, moment, tenant, tenant_key, unsigned};

/// The moment, read once for a whole statement, so that an index can be searched for it.
macro_rules! now {
    ($given:literal) => {
        concat!("(select coalesce(", $given, "::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint))")
    };
}

/// Takes the place of one that is past its time, of the same one that somebody gave up, and of our own whose answer was
/// lost.
const RESERVE: &str = concat!(
    "insert into holdpoint_responses as k (request, digest, begun_at, last_request) values ($1, $2, ",
    now!("$3"),
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
    now!("$2"),
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
        where t.state = 1 and t.worker = w.name and (w.tenant = '' or '=' || t.tenant = w.tenant)) \
     from holdpoint_workers w where w.seen_at > ",
    now!("$1"),
    " - $2 and ($3::text is null or w.tenant = $3) order by w.seen_at desc, w.name limit $4"
);
pub(crate) const SWEEP: &str = concat!(
    "with old as (delete from holdpoint_responses where request in (select request from holdpoint_responses \
        where begun_at <= ",
    now!("$1"),
    " - $2 order by begun_at limit $4) returning 1), \
     unseen as (delete from holdpoint_workers w using (select tenant, name from holdpoint_workers where seen_at <= ",
    now!("$1"),
    " - $3 order by seen_at limit $4) u where w.tenant = u.tenant and w.name = u.name returning 1) \
     select (select count(*) from old), (select count(*) from unseen)"
);

pub(crate) const TALLY: &str = "with runs as (select status, count(*) as n from holdpoint_runs where status < 3 group by status), \
    tasks as (select state, count(*) as n from holdpoint_tasks where state = 0 group by state \
        union all select state, count(*) from holdpoint_tasks where state = 1 group by state \
        union all select state, count(*) from holdpoint_tasks where state = 2 group by state) \
    select coalesce((select n from runs where status = 0), 0), coalesce((select n from runs where status = 1), 0), \
        coalesce((select n from runs where status = 2), 0), \
        (select count(*) from holdpoint_questions where status = 0), \
        (select min(asked_at) from holdpoint_questions where status = 0), \
        coalesce((select n from tasks where state = 0), 0), coalesce((select n from tasks where state = 1), 0), \
        coalesce((select n from tasks where state = 2), 0)";

const FIRST_SETTING: &str = "insert into holdpoint_settings as s (name, value) values ($1, $2) \
     on conflict (name) do update set value = s.value returning value";
/// Our own change whose answer was lost is no other one.
const CHANGE_SETTING: &str =
    "update holdpoint_settings set value = $3 where name = $1 and value in ($2, $3) returning 1";

pub(crate) async fn setting(pool: &Pool, name: &str) -> Result<Option<Arc<str>>, StoreError> {
    const SETTING: &str = "select value from holdpoint_settings where name = $1";
    let rows = pool.rows("read a setting", || sqlx::query(SETTING).bind(name)).await?;
    rows.first().map(|row| Ok(column::<&str>(row, 0)?.into())).transpose()
}

pub(crate) async fn first_setting(pool: &Pool, name: &str, value: &str) -> Result<Arc<str>, StoreError> {
    let rows = pool.rows("keep a setting", || sqlx::query(FIRST_SETTING).bind(name).bind(value)).await?;
    let row = rows.first().ok_or_else(|| corrupt("a setting is missing"))?;
    Ok(column::<&str>(row, 0)?.into())
}

pub(crate) async fn change_setting(pool: &Pool, name: &str, (from, to): (&str, &str)) -> Result<bool, StoreError> {
    let change = || sqlx::query(CHANGE_SETTING).bind(name).bind(from).bind(to);
    Ok(!pool.rows("change a setting", change).await?.is_empty())
}

pub(crate) async fn reserve(pool: &Pool, clock: &StoreClock, wanted: &Reservation) -> Result<Reserved, StoreError> {
    const DOING: &str = "reserve a response";
    let (request, token) = (wanted.key.to_text(), token());
    let (kept, reserved) = (milliseconds(RESPONSE_KEPT_MS, u64::MAX), milliseconds(wanted.reserved_ms, u64::MAX));
    loop {
        let taken = pool.rows(DOING, || {
            let reserve = sqlx::query(RESERVE).bind(&request).bind(&wanted.digest.0[..]).bind(clock.given_us());
            reserve.bind(token).bind(kept).bind(reserved)
        });
        if let Some(row) = taken.await?.first() {
            return Ok(if column::<i64>(row, 0)? > 1 { Reserved::Again } else { Reserved::New });
        }
        let rows = pool.rows(DOING, || sqlx::query(RESERVED).bind(&request)).await?;
        // Whoever had it may just have given it up: then it is there to be had.
        let Some(row) = rows.first() else { continue };
        return Ok(match column::<Option<&[u8]>>(row, 1)? {
            _ if column::<&[u8]>(row, 0)? != wanted.digest.0 => Reserved::Mismatch,
            Some(response) => {
                let response = packed::unpack(response)?.into_iter().next();
                Reserved::Kept(response.ok_or_else(|| corrupt("a response is empty"))?)
            }
            None => Reserved::InProgress,
        });
    }
}

pub(crate) async fn keep(pool: &Pool, key: &ResponseKey, response: Vec<u8>) -> Result<(), StoreError> {
    let (request, packed) = (key.to_text(), packed::pack(&[response]));
    pool.rows("keep a response", || sqlx::query(KEEP).bind(&request).bind(&packed)).await.map(drop)
}

pub(crate) async fn kept(pool: &Pool, clock: &StoreClock, key: &ResponseKey) -> Result<Option<Arc<[u8]>>, StoreError> {
    let (request, kept) = (key.to_text(), milliseconds(RESPONSE_KEPT_MS, u64::MAX));
    let look = || sqlx::query(KEPT).bind(&request).bind(clock.given_us()).bind(kept);
    let rows = pool.rows("look for a response", look).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let response = packed::unpack(column(row, 0)?)?.into_iter().next();
    response.map(Some).ok_or_else(|| corrupt("a response is empty"))
}

pub(crate) async fn drop_response(pool: &Pool, key: &ResponseKey) -> Result<(), StoreError> {
    let request = key.to_text();
    pool.rows("give up a request", || sqlx::query(DROP).bind(&request)).await.map(drop)
}

pub(crate) async fn seen(pool: &Pool, clock: &StoreClock, seen: &WorkerSeen) -> Result<(), StoreError> {
    let key = tenant_key(seen.tenant.as_deref());
    let names: BTreeSet<&str> = seen.tools.iter().map(ToolName::as_str).collect();
    let names: Vec<Vec<u8>> = names.into_iter().take(WORKER_TOOLS_MAX).map(Into::into).collect();
    let tools = packed::pack(&names);
    let rows = pool
        .rows("note a worker", || sqlx::query(SEEN).bind(&key).bind(&*seen.name).bind(&tools).bind(clock.given_us()));
    rows.await.map(drop)
}

pub(crate) async fn workers(pool: &Pool, clock: &StoreClock, scope: &Scope) -> Result<Vec<WorkerRow>, StoreError> {
    let key = scope.tenant().map(|tenant| tenant_key(Some(tenant)));
    let kept = milliseconds(WORKER_KEPT_MS, u64::MAX);
    let rows = pool.rows("list workers", || {
        sqlx::query(WORKERS).bind(clock.given_us()).bind(kept).bind(key.as_deref()).bind(limit(WORKERS_MAX))
    });
    rows.await?.iter().map(worker).collect()
}

fn worker(row: &PgRow) -> Result<WorkerRow, StoreError> {
    let tools = packed::unpack(column(row, 2)?)?.into_iter().map(|name| {
        let name = std::str::from_utf8(&name).map_err(|_| corrupt("a name is no text"))?;
        Ok(ToolName::new(name))
    });
    Ok(WorkerRow {
        name: column::<&str>(row, 0)?.into(),
        tenant: tenant(row, 1)?,
        tools: tools.collect::<Result<_, StoreError>>()?,
        since: Timestamp(column(row, 3)?),
        seen_at: Timestamp(column(row, 4)?),
        leases: unsigned(column(row, 5)?)?,
    })
}

pub(crate) async fn tally(pool: &Pool) -> Result<StoreTally, StoreError> {
    let rows = pool.rows("count what is there", || sqlx::query(TALLY)).await?;
    let Some(row) = rows.first() else { return Ok(StoreTally::default()) };
    let count = |index| unsigned(column(row, index)?);
    Ok(StoreTally {
        runs_running: count(0)?,
        runs_awaiting_confirmation: count(1)?,
        runs_awaiting_results: count(2)?,
        questions_pending: count(3)?,
        question_oldest: moment(row, 4)?,
        tasks_waiting: count(5)?,
        tasks_leased: count(6)?,
        tasks_delivered: count(7)?,
    })
}

pub(crate) async fn sweep(pool: &Pool, clock: &StoreClock) -> Result<Swept, StoreError> {
    let (kept, seen) = (milliseconds(RESPONSE_KEPT_MS, u64::MAX), milliseconds(WORKER_KEPT_MS, u64::MAX));
    let rows = pool.rows("throw away what is old", || {
        sqlx::query(SWEEP).bind(clock.given_us()).bind(kept).bind(seen).bind(limit(DUE_LIMIT_MAX))
    });
    let rows = rows.await?;
    let Some(row) = rows.first() else { return Ok(Swept::default()) };
    Ok(Swept { responses: unsigned(column(row, 0)?)?, workers: unsigned(column(row, 1)?)? })
}
