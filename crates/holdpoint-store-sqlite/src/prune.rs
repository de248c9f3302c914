//! Removes runs that are over.

use holdpoint_core::Timestamp;
use holdpoint_store::{PRUNE_LIMIT_MAX, PruneRequest};

use crate::batch::{Batch, StatementNo, Values};
use crate::columns::signed_len;

/// `$1` the moment, `$2` how many, `$4` the tenant.
macro_rules! over {
    ($tenant:literal) => {
        concat!(
            "(SELECT run_no FROM runs INDEXED BY runs_over WHERE status >= 3 AND updated_at < $1",
            $tenant,
            " ORDER BY updated_at, run_no LIMIT $2)"
        )
    };
}

/// The statements of a prune, in order. The second gives the runs.
pub(crate) type PruneSql = [&'static str; 6];

macro_rules! prune_sql {
    ($over:expr) => {
        [
            concat!("DELETE FROM log WHERE run_no IN ", $over),
            concat!("SELECT run_id FROM runs WHERE run_no IN ", $over, " ORDER BY updated_at, run_no"),
            concat!("DELETE FROM tasks WHERE run_no IN ", $over),
            concat!("DELETE FROM questions WHERE run_no IN ", $over),
            concat!(
                "INSERT INTO tombstones (tenant, run_id, revision, link, seal, at) \
                 SELECT audit_tenant, run_id, audit_revision, audit_link, seal_no, $3 FROM runs WHERE run_no IN ",
                $over,
                " ON CONFLICT (tenant, run_id, link) DO UPDATE SET seal = max(seal, excluded.seal), at = excluded.at"
            ),
            concat!("DELETE FROM runs WHERE run_no IN ", $over),
        ]
    };
}

pub(crate) const OF_ANY_TENANT: PruneSql = prune_sql!(over!(""));
pub(crate) const OF_ONE_TENANT: PruneSql = prune_sql!(over!(" AND tenant = $4"));

/// Adds the statements of a prune.
pub(crate) fn prune(batch: &mut Batch, request: &PruneRequest, now: Timestamp) -> StatementNo {
    let values = || {
        let limit = signed_len(request.limit.min(PRUNE_LIMIT_MAX));
        let values = Values::none().int(request.before.0).int(limit).int(now.0);
        match &request.tenant {
            Some(tenant) => values.text(tenant),
            None => values,
        }
    };
    let [log, names, tasks, questions, stones, runs] =
        if request.tenant.is_some() { OF_ONE_TENANT } else { OF_ANY_TENANT };
    batch.add(log, values());
    let names = batch.add(names, values());
    batch.add(tasks, values());
    batch.add(questions, values());
    batch.add(stones, values());
    batch.add(runs, values());
    names
}
