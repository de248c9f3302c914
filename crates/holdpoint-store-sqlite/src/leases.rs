//! Who drives which run.

use holdpoint_core::{RunId, Status, Timestamp};
use holdpoint_store::{CLAIM_LIMIT_MAX, ClaimRequest, Hold, LEASE_MS_MAX, LeaseState, StoreError};

use sqlx::sqlite::SqliteRow;

use crate::batch::{Batch, StatementNo, Values};
use crate::board::{Board, RunChange};
use crate::columns::{Reader, signed_len};
use crate::read::{Readers, agent_rows, exists};

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
pub(crate) const CLAIM: &str =
    concat!("UPDATE runs SET owner = $5, lease_until = $6 WHERE run_no IN (SELECT r.run_no ", claimable!(), ")");

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
pub(crate) fn claim(batch: &mut Batch, request: &ClaimRequest, now: Timestamp) -> StatementNo {
    let values = || {
        let limit = signed_len(request.limit.min(CLAIM_LIMIT_MAX));
        Values::rows(agent_rows(&request.agents)).int(now.0).int(limit)
    };
    let runs = batch.add(CLAIMABLE, values());
    let until = lease_end(&request.hold, now);
    batch.add(CLAIM, values().text(request.hold.owner.as_str()).int(until.0));
    runs
}

/// The ids of runs.
pub(crate) fn read_runs(rows: &[SqliteRow]) -> Result<Vec<RunId>, StoreError> {
    rows.iter().map(|row| Ok(RunId::new(Reader::new(row).text()?))).collect()
}

pub(crate) fn renew(board: &mut Board, run: &RunId, hold: &Hold) -> LeaseState {
    let now = board.now;
    let Some(run) = board.run_mut(run) else { return LeaseState::Lost };
    if run.status != Status::Running || run.owner.as_deref() != Some(hold.owner.as_str()) {
        return LeaseState::Lost;
    }
    run.lease_until = lease_end(hold, now);
    run.change = match run.change {
        RunChange::Nothing | RunChange::Renewed => RunChange::Renewed,
        RunChange::Moved(moved) => RunChange::Moved(moved),
        RunChange::Created { at, moved } => RunChange::Created { at, moved },
    };
    LeaseState::Held
}

fn lease_end(hold: &Hold, now: Timestamp) -> Timestamp {
    now.plus_ms(hold.lease_ms.min(LEASE_MS_MAX))
}
