//! Taking tasks.

use std::collections::HashSet;

use holdpoint_store::{
    Fence, LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseRequest, LeasedTask, StoreError, TaskLease, TaskState,
};
use sqlx::postgres::PgRow;

use crate::clock::StoreClock;
use crate::commit::token;
use crate::fault::{Recovery, recovery, store_error};
use crate::pool::{CONFLICT_TRIES_MAX, Pool, Statement, corrupt};
use crate::row::{AFTER_TASK, column, limit, milliseconds, task};

const DOING: &str = "lease tasks";

macro_rules! lease_sql {
    ($tenant:literal) => {
        concat!(
            "with moment as materialized ( \
                select coalesce($7::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now \
            ), found as materialized ( \
                select t.task_no from moment cross join unnest($1::text[], $2::text[]) as w(agent, tool) \
                cross join lateral ( \
                    select task_no from holdpoint_tasks \
                    where state = 0 and agent = w.agent and tool = w.tool and ready_at <= now \
                        and (deadline is null or deadline > now)",
            $tenant,
            " order by ready_at, task_no limit $3 for update skip locked) t \
                limit $3) \
            update holdpoint_tasks t set state = 1, fence = nextval('holdpoint_fences'), attempts = t.attempts + 1, \
                worker = $4, since = moment.now, ready_at = least(moment.now + $5, t.deadline), lease_us = $5, last_request = $6 \
            from moment, found, holdpoint_runs r \
            where t.task_no = found.task_no and r.run_no = t.run_no and ($8::text is null or true) \
            returning r.run_id, t.turn, t.place, t.agent, t.tenant, t.tool, t.attempts, t.attempts_max, t.repeat, \
                t.deadline, t.created_at, t.state, t.ready_at, t.fence, t.worker, t.since, t.lease_us, t.body, t.task_no"
        )
    };
}

/// Goes through the tools of the worker, each with its own part of the index, and locks no more than it takes: those who
/// ask at the same time find the others.
pub(crate) const LEASE: &str = lease_sql!("");
/// Only tasks of one tenant, which have an index of their own.
pub(crate) const LEASE_OF_TENANT: &str = lease_sql!(" and tenant = $8 and tenant is not null");

/// What a request took whose answer was lost.
const TAKEN: &str = "select r.run_id, t.turn, t.place, t.agent, t.tenant, t.tool, t.attempts, t.attempts_max, t.repeat, \
        t.deadline, t.created_at, t.state, t.ready_at, t.fence, t.worker, t.since, t.lease_us, t.body, t.task_no \
    from holdpoint_tasks t join holdpoint_runs r on r.run_no = t.run_no \
    where t.state = 1 and t.agent = any($1) and t.last_request = $2";

/// A lease may be the beginning of something that must not happen twice, so one whose answer was lost is looked for
/// before the request is sent again.
pub(crate) async fn lease(
    pool: &Pool,
    clock: &StoreClock,
    request: &LeaseRequest,
) -> Result<Vec<LeasedTask>, StoreError> {
    let ask = Ask::new(request);
    if ask.agents.is_empty() || ask.most == 0 {
        return Ok(Vec::new());
    }
    let (mut patience, mut conflicts, mut unsure) = (pool.patience(), 0, false);
    loop {
        let answer = ask.attempt(pool, clock, unsure).await;
        let error = match answer {
            Ok(rows) => return leased(&rows),
            Err(error) => error,
        };
        let go_on = match recovery(&error) {
            Recovery::Reconnect => {
                unsure = true;
                patience.pause().await
            }
            Recovery::Again => {
                conflicts += 1;
                conflicts < CONFLICT_TRIES_MAX
            }
            Recovery::GiveUp => false,
        };
        if !go_on {
            return Err(store_error(DOING, &error));
        }
    }
}

/// A request as the database reads it.
struct Ask<'r> {
    agents: Vec<&'r str>,
    tools: Vec<&'r str>,
    most: i64,
    token: i64,
    request: &'r LeaseRequest,
}

impl<'r> Ask<'r> {
    fn new(request: &'r LeaseRequest) -> Self {
        let lanes = request.tools.iter().take(LEASE_TOOLS_MAX).map(|(agent, tool)| (&**agent, tool.as_str()));
        // A set has another order each time: no tool is always the last.
        let lanes: HashSet<(&str, &str)> = lanes.collect();
        let (agents, tools) = lanes.into_iter().unzip();
        Self { agents, tools, most: limit(request.limit.min(LEASE_LIMIT_MAX)), token: token(), request }
    }

    async fn attempt(&self, pool: &Pool, clock: &StoreClock, unsure: bool) -> Result<Vec<PgRow>, sqlx::Error> {
        if unsure {
            let taken = pool.once(sqlx::query(TAKEN).bind(&self.agents).bind(self.token)).await?;
            if !taken.is_empty() {
                return Ok(taken);
            }
        }
        pool.once(self.statement(clock)).await
    }

    fn statement(&self, clock: &StoreClock) -> Statement<'_> {
        let tenant = self.request.tenant.as_deref();
        sqlx::query(if tenant.is_some() { LEASE_OF_TENANT } else { LEASE })
            .bind(&self.agents)
            .bind(&self.tools)
            .bind(self.most)
            .bind(&*self.request.worker)
            .bind(milliseconds(self.request.lease_ms, LEASE_MS_MAX))
            .bind(self.token)
            .bind(clock.given_us())
            .bind(tenant)
    }
}

fn leased(rows: &[PgRow]) -> Result<Vec<LeasedTask>, StoreError> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let task = task(row)?;
        let fence = fence(&task.state)?;
        let lease = TaskLease { key: task.key.clone(), fence };
        let body = column::<&[u8]>(row, AFTER_TASK)?.into();
        found.push((column::<i64>(row, AFTER_TASK + 1)?, LeasedTask { lease, task, body }));
    }
    found.sort_unstable_by_key(|(task_no, _)| *task_no);
    Ok(found.into_iter().map(|(_, task)| task).collect())
}

fn fence(state: &TaskState) -> Result<Fence, StoreError> {
    match state {
        TaskState::Leased { fence, .. } => Ok(*fence),
        TaskState::Waiting { .. } | TaskState::Delivered { .. } => Err(corrupt("a leased task is not leased")),
    }
}
