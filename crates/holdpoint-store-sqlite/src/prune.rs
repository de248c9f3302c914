//! Removes runs that are over.

use std::sync::Arc;

use holdpoint_core::RunId;
use holdpoint_store::rows::{run_ids, signed, tenant_key};
use holdpoint_store::{Notifier, PRUNE_LIMIT_MAX, PruneRequest};

use crate::batch::{Batch, Statement};
use crate::group::Group;
use crate::request::Read;

/// `$1` the moment, `$2` how many, `$3` the tenant if only its runs are pruned, `$4` now.
macro_rules! over {
    () => {
        "(SELECT run_no FROM runs INDEXED BY runs_over WHERE status >= 3 AND updated_at < $1 \
         AND ($3 IS NULL OR tenant = $3) ORDER BY updated_at, run_no LIMIT $2)"
    };
}

/// Gives the runs.
pub(crate) const PRUNED: &str =
    concat!("SELECT run_id FROM runs WHERE run_no IN ", over!(), " ORDER BY updated_at, run_no");
/// In this order: the runs go last.
pub(crate) const PRUNE: [&str; 5] = [
    concat!("DELETE FROM log WHERE run_no IN ", over!()),
    concat!("DELETE FROM tasks WHERE run_no IN ", over!()),
    concat!("DELETE FROM approvals WHERE run_no IN ", over!()),
    concat!(
        "INSERT INTO tombstones (tenant, run_id, revision, link, seal, at) \
         SELECT tenant, run_id, audit_revision, audit_link, seal_no, $4 FROM runs WHERE run_no IN ",
        over!(),
        " ON CONFLICT (tenant, run_id, link) DO UPDATE SET seal = max(seal, excluded.seal), at = excluded.at"
    ),
    concat!("DELETE FROM runs WHERE run_no IN ", over!()),
];

pub(crate) fn prune(
    group: &mut Group,
    batch: &mut Batch,
    request: &PruneRequest,
    notifier: Arc<Notifier<RunId>>,
) -> Read<Vec<RunId>> {
    let bind = |statement: Statement<'_>| {
        let tenant = request.tenant.as_deref().map(|tenant| tenant_key(Some(tenant)));
        let limit = signed(request.limit.min(PRUNE_LIMIT_MAX));
        statement.bind(request.before.0).bind(limit).bind(tenant).bind(group.now.0).number()
    };
    let pruned = bind(batch.add(PRUNED));
    for sql in PRUNE {
        bind(batch.add(sql));
    }
    Box::new(move |given| {
        let runs = run_ids(&given.take(pruned))?;
        runs.iter().for_each(|run| notifier.pruned(run));
        Ok(runs)
    })
}
