//! What can be wrong with an audit log, in words that a person can act on.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId};

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// The row of this revision is not the one that was written.
    RowChanged {
        /// The run.
        run: RunId,
        /// The revision of the row.
        revision: Revision,
    },
    /// The row of this revision is gone, or one or more before it.
    RowMissing {
        /// The run.
        run: RunId,
        /// The revision of the row, or of the next one that is there.
        revision: Revision,
    },
    /// The row of this revision is not in its place.
    RowOutOfOrder {
        /// The run.
        run: RunId,
        /// The revision that it has by now.
        revision: Revision,
    },
    /// The rows of the run do not end where the run says.
    HeadMismatch {
        /// The run.
        run: RunId,
    },
    /// A run that was sealed is gone, and was not pruned.
    RunMissing {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// The run.
        run: RunId,
        /// A seal that names it.
        seal: u64,
    },
    /// A seal is not the one that was made.
    SealBroken {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// Its number.
        number: u64,
    },
    /// Seals are gone.
    SealMissing {
        /// Their tenant.
        tenant: Option<Arc<str>>,
        /// The first that is missing.
        first: u64,
        /// The last that is missing.
        last: u64,
    },
    /// How far the run says that it was sealed is not what the seals say. What came after may never be sealed.
    SealedMismatch {
        /// The run.
        run: RunId,
    },
    /// A seal is another than the one that somebody kept elsewhere.
    SealUnexpected {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// Its number.
        number: u64,
    },
    /// A tombstone is of a run that was never pruned: the run is there, or the seal that is said to name it does not.
    TombstoneFalse {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// The run.
        run: RunId,
    },
    /// A run was pruned, and what is left of it is not what a seal says.
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

/// As in ``of tenant `acme` ``.
struct Of<'a>(&'a Option<Arc<str>>);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(tenant) => write!(f, "of tenant `{tenant}`"),
            None => f.write_str("of runs without a tenant"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::RowChanged { run, revision } => {
                write!(f, "run `{run}`: the row of revision `{revision}` was changed")
            }
            Finding::RowMissing { run, revision } => {
                write!(f, "run `{run}`: the row of revision `{revision}` is missing, or rows before it are")
            }
            Finding::RowOutOfOrder { run, revision } => {
                write!(f, "run `{run}`: the row of revision `{revision}` is not in its place")
            }
            Finding::HeadMismatch { run } => write!(f, "run `{run}`: its rows do not end where they should"),
            Finding::RunMissing { tenant, run, seal } => {
                write!(f, "run `{run}` is in seal `{seal}` {} and is gone", Of(tenant))
            }
            Finding::SealBroken { tenant, number } => write!(f, "seal `{number}` {} was changed", Of(tenant)),
            Finding::SealMissing { tenant, first, last } if first == last => {
                write!(f, "seal `{first}` {} is missing", Of(tenant))
            }
            Finding::SealMissing { tenant, first, last } => {
                write!(f, "seals `{first}` to `{last}` {} are missing", Of(tenant))
            }
            Finding::SealedMismatch { run } => {
                write!(f, "run `{run}`: how far it was sealed is not what the seals say")
            }
            Finding::SealUnexpected { tenant, number } => {
                write!(f, "seal `{number}` {} is another than the one that was expected", Of(tenant))
            }
            Finding::TombstoneFalse { tenant, run } => {
                write!(f, "the tombstone of run `{run}` {} is false: that run was never pruned", Of(tenant))
            }
            Finding::TombstoneMismatch { tenant, run, seal } => {
                write!(f, "run `{run}` was pruned as another than seal `{seal}` {} says", Of(tenant))
            }
        }
    }
}
