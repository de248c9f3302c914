//! Taking tasks.

use std::collections::HashSet;

use holdpoint_store::rows::{corrupt, signed, tenant_key};
use holdpoint_store::{
    LEASE_LIMIT_MAX, LEASE_MS_MAX, LEASE_TOOLS_MAX, LeaseRequest, LeasedTask, StoreError, TaskLease, task_columns,
};

use crate::clock::StoreClock;
use crate::columns::Row;
use crate::commit::token;
use crate::fault::store_error;
use crate::pool::Pool;
use crate::sql::moment;

const DOING: &str = "lease tasks";

macro_rules! lease_sql {
    ($tenant:literal) => {
        concat!(
            moment!("$7"),
            ", found as materialized ( \
                select t.task_no from moment cross join unnest($1::text[], $2::text[]) as w(agent, tool) \
                cross join lateral ( \
                    select task_no from holdpoint_tasks \
                    where state = 0 and agent = w.agent and tool = w.tool and ready_at <= now \
                        and (deadline is null or deadline > now)",
            $tenant,
            " order by ready_at, task_no limit $3 for update skip locked) t \
                limit $3) \
            update holdpoint_tasks t set state = 1, fence = nextval('holdpoint_fences'), attempts = t.attempts + 1, \
                worker = $4, since = moment.now, ready_at = least(moment.now + $5 * 1000, t.deadline), lease_ms = $5, \
                last_request = $6 \
            from moment, found, holdpoint_runs r \
            where t.task_no = found.task_no and r.run_no = t.run_no \
            returning ",
            task_columns!(),
            ", t.body"
        )
    };
}

/// Goes through the tools of the worker, each with its own part of the index, and locks no more than it takes: workers that
/// ask at the same time find the other tasks.
pub(crate) const LEASE: &str = lease_sql!("");
/// Only tasks of one tenant, which have an index of their own.
pub(crate) const LEASE_OF_TENANT: &str = lease_sql!(" and tenant = $8 and tenant > ''");

/// The tasks that a request took whose answer was lost.
const TAKEN: &str = concat!(
    "select ",
    task_columns!(),
    ", t.body from holdpoint_tasks t join holdpoint_runs r on r.run_no = t.run_no \
     where t.state = 1 and t.agent = any($1) and t.last_request = $2"
);

/// A lease may be the beginning of an effect that must not happen twice, so one whose answer was lost is looked for before
/// the request is sent again.
pub(crate) async fn lease(
    pool: &Pool,
    clock: &StoreClock,
    request: &LeaseRequest,
) -> Result<Vec<LeasedTask>, StoreError> {
    let tools = request.tools.iter().take(LEASE_TOOLS_MAX).map(|(agent, tool)| (&**agent, tool.as_str()));
    // A set has another order each time: no tool is always the last.
    let tools: HashSet<(&str, &str)> = tools.collect();
    let (agents, tools): (Vec<&str>, Vec<&str>) = tools.into_iter().unzip();
    let (most, lease_ms) = (signed(request.limit.min(LEASE_LIMIT_MAX)), signed(request.lease_ms.min(LEASE_MS_MAX)));
    if agents.is_empty() || most == 0 {
        return Ok(Vec::new());
    }
    let (token, tenant) = (token(), request.tenant.as_deref().map(|tenant| tenant_key(Some(tenant))));
    let take = || {
        let take = sqlx::query(if tenant.is_some() { LEASE_OF_TENANT } else { LEASE }).bind(&agents).bind(&tools);
        let take = take.bind(most).bind(&*request.worker).bind(lease_ms).bind(token).bind(clock.given_us());
        if let Some(tenant) = &tenant { take.bind(tenant) } else { take }
    };
    let mut retry = pool.retry();
    loop {
        let mut taken = Ok(Vec::new());
        if retry.is_unsure {
            taken = pool.once(sqlx::query(TAKEN).bind(&agents).bind(token)).await;
        }
        if taken.as_ref().is_ok_and(Vec::is_empty) {
            taken = pool.once(take()).await;
        }
        let error = match taken {
            Ok(rows) => return leased(&rows),
            Err(error) => error,
        };
        if !retry.again(&error).await {
            return Err(store_error(DOING, &error));
        }
    }
}

fn leased(rows: &[Row]) -> Result<Vec<LeasedTask>, StoreError> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let task = row.task()?;
        let fence = task.state.fence().ok_or_else(|| corrupt("a leased task has no lease"))?;
        let lease = TaskLease { key: task.key.clone(), fence };
        found.push((row.int("task_no")?, LeasedTask { lease, task, body: row.packed("body")? }));
    }
    found.sort_unstable_by_key(|(task_no, _)| *task_no);
    Ok(found.into_iter().map(|(_, task)| task).collect())
}
