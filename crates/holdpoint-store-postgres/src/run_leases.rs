//! Who drives a run.

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId};
use holdpoint_store::rows::{distinct, limit, signed};
use holdpoint_store::{
    Agents, CLAIM_LIMIT_MAX, ClaimRequest, Hold, LeaseOf, LeaseState, OverlongLease, RunLeases, StoreError,
};

use crate::PostgresStore;
use crate::columns::Row;
use crate::sql::{moment, now, of_call};

pub(crate) const RENEW: &str = concat!(
    "update holdpoint_runs set lease_until = ",
    now!("$4"),
    " + $3 * 1000, lease_ms = $3 where run_id = $1 and status + 0 = 0 and owner = $2 returning 1"
);

/// Those that wait longest of each agent, locked one by one as the index gives them, and then the longest of all.
pub(crate) const CLAIM: &str = concat!(
    moment!("$5"),
    ", found as materialized ( \
        select r.run_no, r.lease_until from moment cross join unnest($1::text[]) as a(agent) cross join lateral ( \
            select run_no, lease_until from holdpoint_runs \
            where status = 0 and agent = a.agent and lease_until <= now \
            order by lease_until, run_no limit $2 for update skip locked) r \
        order by r.lease_until, r.run_no limit $2) \
    update holdpoint_runs r set owner = $3, lease_until = moment.now + $4 * 1000, lease_ms = $4 \
    from moment, found where r.run_no = found.run_no returning r.run_id, found.lease_until, found.run_no"
);

/// `$1` agents, `$2` how many, `$3` the moment if it is given.
pub(crate) const OVERLONG: &str = concat!(
    moment!("$3"),
    ", runs as ( \
        select r.run_id, null::bigint as turn, null::bigint as call_index, r.lease_until as until, r.lease_ms \
        from moment cross join unnest($1::text[]) as a(agent) join holdpoint_runs r \
            on r.status = 0 and r.agent = a.agent and r.lease_until > now and r.lease_until > now + r.lease_ms * 1000 \
        limit $2 \
    ), tasks as ( \
        select r.run_id, t.turn, t.call_index, t.ready_at, t.lease_ms \
        from moment cross join unnest($1::text[]) as a(agent) join holdpoint_tasks t \
            on t.state = 1 and t.agent = a.agent and t.ready_at > now and t.ready_at > now + t.lease_ms * 1000 \
        join holdpoint_runs r on r.run_no = t.run_no limit $2) \
    select * from runs union all select * from tasks limit $2"
);
pub(crate) const END_RUN_LEASE: &str = concat!(
    "update holdpoint_runs set lease_until = ",
    now!("$3"),
    " where run_id = $1 and lease_until = $2 and status + 0 = 0 returning 1"
);
pub(crate) const END_TASK_LEASE: &str = concat!(
    "update holdpoint_tasks t set ready_at = ",
    now!("$3"),
    " where ",
    of_call!("$1", "$4", "$5"),
    " and t.ready_at = $2 and t.state + 0 = 1 returning 1"
);

#[async_trait]
impl RunLeases for PostgresStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        let renew = || {
            let renew = sqlx::query(RENEW).bind(run.as_str()).bind(hold.owner.as_str());
            renew.bind(signed(hold.length_ms())).bind(self.clock.given_us())
        };
        let rows = self.pool.rows("renew the lease of the run", renew).await?;
        Ok(if rows.is_empty() { LeaseState::Lost } else { LeaseState::Held })
    }

    /// When the answer is lost, the runs that it named stay held until their lease lapses: nothing has begun.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        let (agents, most) = (distinct(&request.agents), signed(request.limit.min(CLAIM_LIMIT_MAX)));
        if agents.is_empty() || most == 0 {
            return Ok(Vec::new());
        }
        let claim = || {
            let claim = sqlx::query(CLAIM).bind(&agents).bind(most).bind(request.hold.owner.as_str());
            claim.bind(signed(request.hold.length_ms())).bind(self.clock.given_us())
        };
        let rows = self.pool.rows("claim runs", claim).await?;
        let claimed = rows.iter().map(|row| Ok(((row.int("lease_until")?, row.int("run_no")?), row.run()?)));
        let mut claimed = claimed.collect::<Result<Vec<_>, StoreError>>()?;
        claimed.sort_unstable_by_key(|(order, _)| *order);
        Ok(claimed.into_iter().map(|(_, run)| run).collect())
    }

    async fn overlong(&self, agents: &Agents, most: usize) -> Result<Vec<OverlongLease>, StoreError> {
        let agents = distinct(agents);
        let find = || sqlx::query(OVERLONG).bind(&agents).bind(limit(most)).bind(self.clock.given_us());
        self.pool.rows("find overlong leases", find).await?.iter().map(Row::overlong_lease).collect()
    }

    /// Sent again after its answer was lost, it finds another end and says that there was nothing to end.
    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        let end = |sql, run: &RunId| {
            sqlx::query(sql).bind(run.as_str().to_owned()).bind(lease.until.0).bind(self.clock.given_us())
        };
        let end = || match &lease.of {
            LeaseOf::Run(run) => end(END_RUN_LEASE, run),
            LeaseOf::Task(CallKey { run, turn, index }) => {
                end(END_TASK_LEASE, run).bind(i64::from(turn.0)).bind(i64::from(index.0))
            }
        };
        Ok(!self.pool.rows("end a lease", end).await?.is_empty())
    }
}
