//! Several statements as one: each trip to the thread of a connection and back costs more than most statements.

use std::fmt::Write;

use futures_util::TryStreamExt;
use holdpoint_core::Timestamp;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, Either, Encode, Executor, Sqlite, SqliteConnection, Type};

use crate::columns::{Row, row};
use crate::json_rows::{JsonRows, Values};

/// Statements that run one after another, up to the first that fails.
#[derive(Default)]
pub(crate) struct Batch {
    sql: String,
    values: SqliteArguments,
    statements: usize,
    /// A value that could not be bound. Nothing runs then.
    unbound: Option<sqlx::Error>,
}

/// The position of a statement in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatementNo(usize);

/// A statement whose values are being bound.
pub(crate) struct Statement<'a>(&'a mut Batch);

/// The rows of a batch, statement by statement.
pub(crate) struct Given(Vec<Vec<Row>>);

impl Batch {
    /// Adds a statement that counts its own values from `$1`.
    pub(crate) fn add(&mut self, sql: &str) -> Statement<'_> {
        push_renumbered(&mut self.sql, sql, self.values.len());
        self.sql.push_str(";\n");
        self.statements += 1;
        Statement(self)
    }

    /// Adds a statement that reads its rows with `json_each($1)`, unless there are none.
    pub(crate) fn add_rows(&mut self, sql: &str, rows: JsonRows) -> Option<StatementNo> {
        (!rows.is_empty()).then(|| {
            let Values { json, bytes } = rows.into_values();
            self.add(sql).bind(json).bind(bytes).number()
        })
    }

    /// Runs them all.
    pub(crate) async fn run(self, connection: &mut SqliteConnection) -> Result<Given, sqlx::Error> {
        if let Some(error) = self.unbound {
            return Err(error);
        }
        let mut given = Vec::with_capacity(self.statements);
        let mut rows = Vec::new();
        let query = sqlx::query_with(AssertSqlSafe(self.sql), self.values);
        let mut stream = connection.fetch_many(query);
        while let Some(next) = stream.try_next().await? {
            match next {
                Either::Left(_) => given.push(std::mem::take(&mut rows)),
                Either::Right(next) => rows.push(row(next)),
            }
        }
        Ok(Given(given))
    }
}

impl Statement<'_> {
    pub(crate) fn bind<'t, T: Encode<'t, Sqlite> + Type<Sqlite>>(self, value: T) -> Self {
        if let Err(error) = self.0.values.add(value) {
            self.0.unbound.get_or_insert(sqlx::Error::Encode(error));
        }
        self
    }

    /// Binds what a search begins with: rows, the moment, and how many.
    pub(crate) fn bind_search(self, rows: &Values, now: Timestamp, most: i64) -> Self {
        self.bind(rows.json.as_str()).bind(rows.bytes.as_slice()).bind(now.0).bind(most)
    }

    /// Its position, to take its rows later.
    pub(crate) fn number(self) -> StatementNo {
        StatementNo(self.0.statements - 1)
    }
}

impl Given {
    /// The rows of a statement.
    pub(crate) fn take(&mut self, statement: StatementNo) -> Vec<Row> {
        self.0.get_mut(statement.0).map(std::mem::take).unwrap_or_default()
    }
}

/// `$1` becomes `$(1 + before)`. Our statements have no `$` anywhere else.
fn push_renumbered(to: &mut String, sql: &str, before: usize) {
    let mut parts = sql.split('$');
    to.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let number = number.parse::<usize>().unwrap_or_default() + before;
        // Writing to a string cannot fail.
        _ = write!(to, "${number}{rest}");
    }
}

#[cfg(test)]
mod tests;
