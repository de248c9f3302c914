//! Rows of PostgreSQL, read by the names of their columns.

use holdpoint_core::Timestamp;
use holdpoint_store::StoreError;
use holdpoint_store::rows::{self, Columns, corrupt};
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

/// Milliseconds as the database counts them.
pub(crate) fn micros(ms: u64) -> i64 {
    Timestamp(0).plus_ms(ms).0
}
