//! Several statements as one: each trip to the thread of a connection and back costs more than most statements.

use std::fmt::Write;

use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, Either, Encode, Executor, Sqlite, SqliteConnection, Type};

use crate::rows::Rows;

/// Statements that run one after another, up to the first that fails.
#[derive(Default)]
pub(crate) struct Batch {
    sql: String,
    values: SqliteArguments,
    statements: usize,
    /// A value that could not be bound. Nothing runs then.
    unbound: Option<sqlx::Error>,
}

/// The place of a statement in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatementNo(usize);

/// What a batch gave, statement by statement.
pub(crate) struct Given(Vec<Vec<SqliteRow>>);

impl Batch {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a statement that counts its own values from `$1`.
    pub(crate) fn add(&mut self, sql: &str, values: Values) -> StatementNo {
        push_renumbered(&mut self.sql, sql, self.values.len());
        self.sql.push_str(";\n");
        if let Err(error) = values.add_to(&mut self.values) {
            self.unbound.get_or_insert(error);
        }
        self.statements += 1;
        StatementNo(self.statements - 1)
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
                Either::Right(row) => rows.push(row),
            }
        }
        Ok(Given(given))
    }
}

impl Given {
    /// The rows of a statement.
    pub(crate) fn take(&mut self, statement: StatementNo) -> Vec<SqliteRow> {
        self.0.get_mut(statement.0).map(std::mem::take).unwrap_or_default()
    }
}

/// The values of one statement.
#[derive(Default)]
pub(crate) struct Values(Vec<Value>);

enum Value {
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
    Null,
}

impl Values {
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// `$1` and `$2`.
    pub(crate) fn rows(rows: Rows) -> Self {
        let (json, bytes) = rows.into_parts();
        Self(vec![Value::Text(json), Value::Bytes(bytes)])
    }

    pub(crate) fn int(mut self, value: i64) -> Self {
        self.0.push(Value::Int(value));
        self
    }

    pub(crate) fn text(mut self, value: &str) -> Self {
        self.0.push(Value::Text(value.to_owned()));
        self
    }

    pub(crate) fn text_or_null(mut self, value: Option<&str>) -> Self {
        self.0.push(value.map_or(Value::Null, |value| Value::Text(value.to_owned())));
        self
    }

    pub(crate) fn bytes(mut self, value: &[u8]) -> Self {
        self.0.push(Value::Bytes(value.to_vec()));
        self
    }

    /// As the values of a statement that runs alone.
    pub(crate) fn into_arguments(self) -> Result<SqliteArguments, sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        self.add_to(&mut arguments)?;
        Ok(arguments)
    }

    fn add_to(self, arguments: &mut SqliteArguments) -> Result<(), sqlx::Error> {
        self.0.into_iter().try_for_each(|value| value.add_to(arguments))
    }
}

impl Value {
    fn add_to(self, arguments: &mut SqliteArguments) -> Result<(), sqlx::Error> {
        match self {
            Value::Int(value) => add(arguments, value),
            Value::Text(value) => add(arguments, value),
            Value::Bytes(value) => add(arguments, value),
            Value::Null => add(arguments, None::<String>),
        }
    }
}

fn add<T: Encode<'static, Sqlite> + Type<Sqlite>>(
    arguments: &mut SqliteArguments,
    value: T,
) -> Result<(), sqlx::Error> {
    arguments.add(value).map_err(sqlx::Error::Encode)
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
