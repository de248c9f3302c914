//! What an error of the driver means.

use std::sync::Arc;

use holdpoint_store::{StoreError, StoreFault};
use thiserror::Error;

// The primary result codes of SQLite that say what to do. An extended code has its primary one in the low byte.
const PERM: u32 = 3;
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const READ_ONLY: u32 = 8;
const IO_ERROR: u32 = 10;
const CORRUPT: u32 = 11;
const FULL: u32 = 13;
const CANNOT_OPEN: u32 = 14;
const PROTOCOL: u32 = 15;
const AUTH: u32 = 23;
const NOT_A_DATABASE: u32 = 26;
/// The shared memory beside the file could not grow: the disk is full.
const IO_ERROR_SHM_SIZE: u32 = IO_ERROR | (19 << 8);

/// Says why the store failed, if people can do something about it.
pub(crate) fn store_error(doing: &'static str, error: sqlx::Error) -> StoreError {
    StoreError::caused(classify(&error), doing, error)
}

fn classify(error: &sqlx::Error) -> Option<StoreFault> {
    match error {
        sqlx::Error::Database(database) => {
            let code = database.code()?.parse().ok()?;
            fault_of_code(code)
        }
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
            Some(StoreFault::Unavailable)
        }
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Some(StoreFault::Corrupt),
        // The driver may learn new errors; what it does not name is a failure without a known reason.
        _ => None,
    }
}

fn fault_of_code(code: u32) -> Option<StoreFault> {
    if code == IO_ERROR_SHM_SIZE {
        return Some(StoreFault::Full);
    }
    match code & 0xff {
        BUSY | LOCKED | PROTOCOL => Some(StoreFault::Locked),
        READ_ONLY => Some(StoreFault::ReadOnly),
        FULL => Some(StoreFault::Full),
        CORRUPT | NOT_A_DATABASE => Some(StoreFault::Corrupt),
        PERM | AUTH | CANNOT_OPEN => Some(StoreFault::NotPermitted),
        IO_ERROR => Some(StoreFault::Unavailable),
        // Any other code is a mistake of ours, or of nobody: there is nothing to advise.
        _ => None,
    }
}

/// Whether a statement found the database locked.
pub(crate) fn is_locked(error: &sqlx::Error) -> bool {
    classify(error) == Some(StoreFault::Locked)
}

/// The failure of a group, for each of its callers.
#[derive(Clone, Debug, Error)]
#[error(transparent)]
pub(crate) struct GroupFailure(Arc<sqlx::Error>);

impl GroupFailure {
    pub(crate) fn new(error: sqlx::Error) -> Self {
        Self(Arc::new(error))
    }

    pub(crate) fn store_error(&self, doing: &'static str) -> StoreError {
        StoreError::caused(classify(&self.0), doing, self.clone())
    }
}

#[cfg(test)]
mod tests;
