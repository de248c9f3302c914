//! Rows of SQLite, read by the names of their columns.

use holdpoint_store::StoreError;
use holdpoint_store::rows::{self, Columns};
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Sqlite, Type};

use crate::fault::store_error;

/// A row of a query.
pub(crate) type Row = rows::Row<Stored>;

/// A row as the driver returned it.
pub(crate) struct Stored(SqliteRow);

pub(crate) fn row(row: SqliteRow) -> Row {
    rows::Row(Stored(row))
}

impl Stored {
    fn get<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(&'r self, column: &str) -> Result<T, StoreError> {
        sqlx::Row::try_get(&self.0, column).map_err(|error| store_error("read what is stored", error))
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
