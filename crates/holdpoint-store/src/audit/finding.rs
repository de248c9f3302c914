//! What can be wrong with an audit log, in words that a person can act on.

use std::sync::Arc;

use holdpoint_core::{Revision, RunId};
use thiserror::Error;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub enum Finding {
    /// The row of this revision is not the one that was written.
    #[error("run `{run}`: the row of revision `{revision}` was changed")]
    RowChanged {
        /// The run.
        run: RunId,
        /// The revision of the row.
        revision: Revision,
    },
    /// The row of this revision is gone, or one or more before it.
    #[error("run `{run}`: the row of revision `{revision}` is missing, or rows before it are")]
    RowMissing {
        /// The run.
        run: RunId,
        /// The revision of the row, or of the next one that is there.
        revision: Revision,
    },
    /// The row of this revision is not in its place.
    #[error("run `{run}`: the row of revision `{revision}` is not in its place")]
    RowOutOfOrder {
        /// The run.
        run: RunId,
        /// The revision that it has by now.
        revision: Revision,
    },
    /// The rows of the run do not end where the run says.
    #[error("run `{run}`: its rows do not end where they should")]
    HeadMismatch {
        /// The run.
        run: RunId,
    },
    /// A run that was sealed is gone, and was not pruned.
    #[error("run `{run}` is in seal `{seal}` {} and is gone", of(.tenant.as_deref()))]
    RunMissing {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// The run.
        run: RunId,
        /// A seal that names it.
        seal: u64,
    },
    /// A seal is not the one that was made.
    #[error("seal `{number}` {} was changed", of(.tenant.as_deref()))]
    SealBroken {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// Its number.
        number: u64,
    },
    /// Seals are gone.
    #[error("{}", missing(.tenant.as_deref(), *.first, *.last))]
    SealMissing {
        /// Their tenant.
        tenant: Option<Arc<str>>,
        /// The first that is missing.
        first: u64,
        /// The last that is missing.
        last: u64,
    },
    /// How far the run says that it was sealed is not what the seals say. What came after may never be sealed.
    #[error("run `{run}`: how far it was sealed is not what the seals say")]
    SealedMismatch {
        /// The run.
        run: RunId,
    },
    /// A seal is another than the one that somebody kept elsewhere.
    #[error("seal `{number}` {} is another than the one that was expected", of(.tenant.as_deref()))]
    SealUnexpected {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// Its number.
        number: u64,
    },
    /// A tombstone is of a run that was never pruned: the run is there, or the seal that is said to name it does not.
    #[error("the tombstone of run `{run}` {} is false: that run was never pruned", of(.tenant.as_deref()))]
    TombstoneFalse {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// The run.
        run: RunId,
    },
    /// A run was pruned, and what is left of it is not what a seal says.
    #[error("run `{run}` was pruned as another than seal `{seal}` {} says", of(.tenant.as_deref()))]
    TombstoneMismatch {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// The run.
        run: RunId,
        /// The seal that names it.
        seal: u64,
    },
}

impl Finding {
    /// Its stable name.
    pub fn name(&self) -> &'static str {
        match self {
            Finding::RowChanged { .. } => "row_changed",
            Finding::RowMissing { .. } => "row_missing",
            Finding::RowOutOfOrder { .. } => "row_out_of_order",
            Finding::HeadMismatch { .. } => "head_mismatch",
            Finding::RunMissing { .. } => "run_missing",
            Finding::SealBroken { .. } => "seal_broken",
            Finding::SealMissing { .. } => "seal_missing",
            Finding::SealedMismatch { .. } => "sealed_mismatch",
            Finding::SealUnexpected { .. } => "seal_unexpected",
            Finding::TombstoneFalse { .. } => "tombstone_false",
            Finding::TombstoneMismatch { .. } => "tombstone_mismatch",
        }
    }
}

fn of(tenant: Option<&str>) -> String {
    tenant.map_or_else(|| "of runs without a tenant".to_owned(), |tenant| format!("of tenant `{tenant}`"))
}

fn missing(tenant: Option<&str>, first: u64, last: u64) -> String {
    if first == last {
        return format!("seal `{first}` {} is missing", of(tenant));
    }
    format!("seals `{first}` to `{last}` {} are missing", of(tenant))
}
