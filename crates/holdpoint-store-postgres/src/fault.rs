//! What failures of the driver mean, without anything that must not be shown.

use std::io;

use holdpoint_store::{StoreError, StoreFault};

/// How to go on after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// The connection is gone. What was under way may have happened.
    Reconnect,
    /// Somebody else was in the way, and nothing happened.
    Again,
    /// The same would fail again.
    GiveUp,
}

pub(crate) fn recovery(error: &sqlx::Error) -> Recovery {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolTimedOut => {
            Recovery::Reconnect
        }
        sqlx::Error::Database(database) => match database.code().as_deref() {
            // Deadlock, serialization failure.
            Some("40P01" | "40001") => Recovery::Again,
            // The server is read-only: it became a standby, and another one is the primary now. Too many connections; the
            // server stops, starts, or crashed.
            Some("25006" | "53300" | "57P01" | "57P02" | "57P03" | "57P05") => Recovery::Reconnect,
            Some(code) if code.starts_with("08") => Recovery::Reconnect,
            _ => Recovery::GiveUp,
        },
        _ => Recovery::GiveUp,
    }
}

/// Keeps what the database or the driver said, and leaves out details, which may hold values of rows.
pub(crate) fn store_error(doing: &'static str, error: &sqlx::Error) -> StoreError {
    let said = match error {
        sqlx::Error::Database(database) => {
            format!("{} (SQLSTATE {})", database.message(), database.code().as_deref().unwrap_or("unknown"))
        }
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    };
    StoreError::caused(fault(error), doing, said)
}

/// A wait for the database that took too long looks like a broken connection.
pub(crate) fn timed_out() -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database did not answer in time"))
}

fn fault(error: &sqlx::Error) -> Option<StoreFault> {
    match error {
        sqlx::Error::Configuration(_) => Some(StoreFault::InvalidUrl),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Some(StoreFault::Unavailable),
        sqlx::Error::Database(database) => fault_of_code(&database.code()?),
        _ => None,
    }
}

/// The codes of PostgreSQL that people can do something about.
fn fault_of_code(code: &str) -> Option<StoreFault> {
    match code {
        // No such database, no schema to create in, no such table.
        "3D000" | "3F000" | "42P01" => Some(StoreFault::Missing),
        // No right to do this. Wrong user or password are of the class 28.
        "42501" => Some(StoreFault::NotPermitted),
        "25006" => Some(StoreFault::ReadOnly),
        "53100" => Some(StoreFault::Full),
        // No memory, too many connections, the server stops or starts.
        "53200" | "53300" | "57P01" | "57P02" | "57P03" | "57P05" => Some(StoreFault::Unavailable),
        // The lock did not come, the statement took too long, deadlock, serialization failure.
        "55P03" | "57014" | "40P01" | "40001" => Some(StoreFault::Locked),
        "XX001" | "XX002" => Some(StoreFault::Corrupt),
        _ if code.starts_with("28") => Some(StoreFault::NotPermitted),
        _ if code.starts_with("08") => Some(StoreFault::Unavailable),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
