//! Who drives which run.

use async_trait::async_trait;
use holdpoint_core::{CallKey, RunId};
use holdpoint_store::rows::{limit, run_ids, signed};
use holdpoint_store::{
    Agents, CLAIM_LIMIT_MAX, ClaimRequest, Hold, LeaseOf, LeaseState, OverlongLease, RunLeases, StoreError,
};

use crate::columns::Row;
use crate::json_rows::Values;
use crate::request::About;
use crate::{Readers, SqliteStore};

/// The runs that can be claimed: `$1` and `$2` agents, `$3` the moment, `$4` how many.
macro_rules! claimable {
    () => {
        "FROM json_each($1) j CROSS JOIN runs r WHERE r.run_no IN (\
         SELECT c.run_no FROM runs c INDEXED BY runs_to_claim WHERE c.status = 0 \
         AND c.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND c.lease_until <= $3 \
         ORDER BY c.lease_until, c.run_no LIMIT $4) ORDER BY r.lease_until, r.run_no LIMIT $4"
    };
}

pub(crate) const CLAIMABLE: &str = concat!("SELECT r.run_id ", claimable!());
pub(crate) const ANY_CLAIMABLE: &str = "SELECT EXISTS (SELECT 1 FROM json_each($1) j CROSS JOIN runs c \
     INDEXED BY runs_to_claim WHERE c.status = 0 \
     AND c.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND c.lease_until <= $3) AS found";
pub(crate) const CLAIM: &str = concat!(
    "UPDATE runs SET owner = $5, lease_until = $6, lease_ms = $7 WHERE run_no IN (SELECT r.run_no ",
    claimable!(),
    ")"
);
/// `$1` and `$2` agents, `$3` the moment, `$4` how many.
pub(crate) const OVERLONG: &str = "SELECT c.run_id, NULL AS turn, NULL AS call_index, c.lease_until AS until, c.lease_ms \
     FROM json_each($1) j CROSS JOIN runs c INDEXED BY runs_to_claim WHERE c.status = 0 \
     AND c.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     AND c.lease_until > $3 AND c.lease_until > $3 + c.lease_ms * 1000 \
     UNION ALL SELECT r.run_id, t.turn, t.call_index, t.ready_at, t.lease_ms FROM json_each($1) j \
     CROSS JOIN tasks t INDEXED BY tasks_leased CROSS JOIN runs r ON r.run_no = t.run_no WHERE t.state = 1 \
     AND t.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     AND t.ready_at > $3 AND t.ready_at > $3 + t.lease_ms * 1000 LIMIT $4";
pub(crate) const END_RUN_LEASE: &str =
    "UPDATE runs SET lease_until = $3 WHERE run_id = $1 AND lease_until = $2 AND status = 0 RETURNING 1";
pub(crate) const END_TASK_LEASE: &str = "UPDATE tasks SET ready_at = $3 WHERE run_no = (SELECT run_no FROM runs WHERE run_id = $1) \
     AND turn = $4 AND call_index = $5 AND ready_at = $2 AND state = 1 RETURNING 1";

#[async_trait]
impl RunLeases for SqliteStore {
    async fn renew(&self, run: &RunId, hold: &Hold) -> Result<LeaseState, StoreError> {
        let (run, hold) = (run.clone(), hold.clone());
        let about = About { runs: vec![run.clone()], ..About::default() };
        self.decide("write", about, move |group| Ok(group.renew(&run, &hold))).await
    }

    /// Idle processes ask often and get nothing: they need not wait for the writer.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        let agents = Values::of_agents(&request.agents);
        let any = Readers::search(ANY_CLAIMABLE, agents.clone()).bind(self.clock.lease_moment().0);
        if !self.readers.exists(any).await? {
            return Ok(Vec::new());
        }
        let (hold, most) = (request.hold.clone(), signed(request.limit.min(CLAIM_LIMIT_MAX)));
        self.execute(0, move |group, batch| {
            let now = group.lease_now;
            let runs = batch.add(CLAIMABLE).bind_search(&agents, now, most).number();
            let (lease_ms, until) = (hold.length_ms(), now.plus_ms(hold.length_ms()));
            let claim = batch.add(CLAIM).bind_search(&agents, now, most);
            claim.bind(hold.owner.as_str()).bind(until.0).bind(signed(lease_ms));
            Box::new(move |given| run_ids(&given.take(runs)))
        })
        .await
    }

    async fn overlong(&self, agents: &Agents, most: usize) -> Result<Vec<OverlongLease>, StoreError> {
        let find =
            Readers::search(OVERLONG, Values::of_agents(agents)).bind(self.clock.lease_moment().0).bind(limit(most));
        self.readers.rows("find overlong leases", find).await?.iter().map(Row::overlong_lease).collect()
    }

    async fn end(&self, lease: &OverlongLease) -> Result<bool, StoreError> {
        let lease = lease.clone();
        self.execute(0, move |group, batch| {
            let (LeaseOf::Run(run) | LeaseOf::Task(CallKey { run, .. })) = &lease.of;
            let sql = match lease.of {
                LeaseOf::Run(_) => END_RUN_LEASE,
                LeaseOf::Task(_) => END_TASK_LEASE,
            };
            let mut end = batch.add(sql).bind(run.as_str()).bind(lease.until.0).bind(group.lease_now.0);
            if let LeaseOf::Task(CallKey { turn, index, .. }) = &lease.of {
                end = end.bind(turn.0).bind(index.0);
            }
            let ended = end.number();
            Box::new(move |given| Ok(!given.take(ended).is_empty()))
        })
        .await
    }
}
