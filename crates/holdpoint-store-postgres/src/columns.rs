//! Rows of PostgreSQL, read by the names of their columns.

use holdpoint_core::{RunId, Timestamp};
use holdpoint_store::rows::{self, Columns, corrupt};
use holdpoint_store::{DUE_LIMIT_MAX, Scope, StoreError};
use sqlx::postgres::{PgRow, Postgres};
use sqlx::{Decode, Type};

/// A row of a query.
pub(crate) type Row = rows::Row<Stored>;

/// A row as the driver returned it.
pub(crate) struct Stored(PgRow);

pub(crate) fn row(row: PgRow) -> Row {
    rows::Row(Stored(row))
}

impl Stored {
    /// Unchecked, so that an integer of any width is read as a number; what does not fit is found when it is decoded.
    fn get<'r, T: Decode<'r, Postgres> + Type<Postgres>>(&'r self, column: &str) -> Result<Option<T>, StoreError> {
        let value = sqlx::Row::try_get_unchecked(&self.0, column);
        value.map_err(|_| corrupt(format!("`{column}` is not what it must be")))
    }
}

impl Columns for Stored {
    fn int(&self, column: &str) -> Result<Option<i64>, StoreError> {
        self.get(column)
    }

    fn text(&self, column: &str) -> Result<Option<&str>, StoreError> {
        self.get(column)
    }

    fn bytes(&self, column: &str) -> Result<Option<&[u8]>, StoreError> {
        self.get(column)
    }
}

pub(crate) fn run_ids(rows: &[Row]) -> Result<Vec<RunId>, StoreError> {
    rows.iter().map(Row::run).collect()
}

/// A bound on what a search returns.
pub(crate) fn limit(limit: usize) -> i64 {
    rows::signed(limit.min(DUE_LIMIT_MAX))
}

/// The tenant of a scope as it is stored.
pub(crate) fn scope_key(scope: &Scope) -> Option<String> {
    scope.tenant().map(|tenant| rows::tenant_key(Some(tenant)))
}

/// Milliseconds as the database counts them.
pub(crate) fn micros(ms: u64) -> i64 {
    Timestamp(0).plus_ms(ms).0
}
