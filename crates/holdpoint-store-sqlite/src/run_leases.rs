//! Who drives which run.

use holdpoint_core::{CallIndex, CallKey, RunId, Status, Timestamp, Turn};
use holdpoint_store::{
    Agents, CLAIM_LIMIT_MAX, ClaimRequest, Hold, LEASE_MS_MAX, LeaseOf, LeaseState, OverlongLease, StoreError,
};

use sqlx::sqlite::SqliteRow;

use crate::batch::{Batch, StatementNo, Values};
use crate::columns::{Reader, signed, signed_len};
use crate::group::{Group, RunChange};
use crate::run_log::{Readers, agent_rows, exists};

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
     AND c.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) AND c.lease_until <= $3)";
pub(crate) const CLAIM: &str = concat!(
    "UPDATE runs SET owner = $5, lease_until = $6, lease_ms = $7 WHERE run_no IN (SELECT r.run_no ",
    claimable!(),
    ")"
);
/// `$1` and `$2` agents, `$3` the moment, `$4` how many.
pub(crate) const OVERLONG_RUNS: &str = "SELECT c.run_id, c.lease_until, c.lease_ms FROM json_each($1) j CROSS JOIN runs c \
     INDEXED BY runs_to_claim WHERE c.status = 0 \
     AND c.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     AND c.lease_until > $3 AND c.lease_until > $3 + c.lease_ms * 1000 LIMIT $4";
pub(crate) const OVERLONG_TASKS: &str = "SELECT r.run_id, t.turn, t.idx, t.moment, t.lease_ms FROM json_each($1) j \
     CROSS JOIN tasks t INDEXED BY tasks_leased CROSS JOIN runs r ON r.run_no = t.run_no WHERE t.state = 1 \
     AND t.agent = CAST(substr($2, j.value->>0, j.value->>1) AS TEXT) \
     AND t.moment > $3 AND t.moment > $3 + t.lease_ms * 1000 LIMIT $4";
pub(crate) const END_RUN_LEASE: &str =
    "UPDATE runs SET lease_until = $3 WHERE run_id = $1 AND lease_until = $2 AND status = 0 RETURNING 1";
pub(crate) const END_TASK_LEASE: &str = "UPDATE tasks SET moment = $3 WHERE run_no = (SELECT run_no FROM runs WHERE run_id = $1) \
     AND turn = $4 AND idx = $5 AND moment = $2 AND state = 1 RETURNING 1";

/// Whether somebody who claims would get something. Those who look after an idle store ask often and get nothing: they
/// need not wait for the writer.
pub(crate) async fn any_claimable(
    readers: &Readers,
    request: &ClaimRequest,
    now: Timestamp,
) -> Result<bool, StoreError> {
    exists(readers, ANY_CLAIMABLE, Values::rows(agent_rows(&request.agents)).int(now.0)).await
}

/// Adds the statements of a claim. The first gives the runs.
pub(crate) fn claim(batch: &mut Batch, request: &ClaimRequest, group: &Group) -> StatementNo {
    let values = || {
        let limit = signed_len(request.limit.min(CLAIM_LIMIT_MAX));
        Values::rows(agent_rows(&request.agents)).int(group.lease_now.0).int(limit)
    };
    let runs = batch.add(CLAIMABLE, values());
    let until = lease_end(&request.hold, group.lease_now);
    let lease_ms = signed(request.hold.lease_ms.min(LEASE_MS_MAX));
    batch.add(CLAIM, values().text(request.hold.owner.as_str()).int(until.0).int(lease_ms));
    runs
}

/// The ids of runs.
pub(crate) fn read_runs(rows: &[SqliteRow]) -> Result<Vec<RunId>, StoreError> {
    rows.iter().map(|row| Ok(RunId::new(Reader::new(row).text()?))).collect()
}

pub(crate) fn renew(group: &mut Group, run: &RunId, hold: &Hold) -> LeaseState {
    let now = group.lease_now;
    let Some(run) = group.run_mut(run) else { return LeaseState::Lost };
    if run.status != Status::Running || run.owner.as_deref() != Some(hold.owner.as_str()) {
        return LeaseState::Lost;
    }
    run.lease_until = lease_end(hold, now);
    run.lease_ms = hold.lease_ms.min(LEASE_MS_MAX);
    run.change = match run.change {
        RunChange::Nothing | RunChange::Renewed => RunChange::Renewed,
        RunChange::Moved(moved) => RunChange::Moved(moved),
        RunChange::Created { at, moved } => RunChange::Created { at, moved },
    };
    LeaseState::Held
}

/// Leases that end later than their own length from now.
pub(crate) async fn overlong(
    readers: &Readers,
    agents: &Agents,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<OverlongLease>, StoreError> {
    const DOING: &str = "find overlong leases";
    let values = || Values::rows(agent_rows(agents)).int(now.0).int(signed_len(limit));
    let mut found = Vec::new();
    for row in &readers.all(OVERLONG_RUNS, values(), DOING).await? {
        let mut reader = Reader::new(row);
        let of = LeaseOf::Run(RunId::new(reader.text()?));
        found.push(OverlongLease { of, until: reader.moment()?, lease_ms: reader.big()? });
    }
    for row in &readers.all(OVERLONG_TASKS, values(), DOING).await? {
        let mut reader = Reader::new(row);
        let (run, turn, index) = (RunId::new(reader.text()?), Turn(reader.small()?), CallIndex(reader.small()?));
        let of = LeaseOf::Task(CallKey { run, turn, index });
        found.push(OverlongLease { of, until: reader.moment()?, lease_ms: reader.big()? });
    }
    found.truncate(limit);
    Ok(found)
}

/// Adds the statement that ends a lease. It gives a row if the lease was there.
pub(crate) fn end(batch: &mut Batch, lease: &OverlongLease, now: Timestamp) -> StatementNo {
    match &lease.of {
        LeaseOf::Run(run) => batch.add(END_RUN_LEASE, Values::none().text(run.as_str()).int(lease.until.0).int(now.0)),
        LeaseOf::Task(CallKey { run, turn, index }) => {
            let values = Values::none().text(run.as_str()).int(lease.until.0).int(now.0);
            batch.add(END_TASK_LEASE, values.int(turn.0.into()).int(index.0.into()))
        }
    }
}

fn lease_end(hold: &Hold, now: Timestamp) -> Timestamp {
    now.plus_ms(hold.lease_ms.min(LEASE_MS_MAX))
}
