//! A database of the bench's own, and what can be asked of it beside the store.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row};
use tempfile::TempDir;
use uuid::Uuid;

/// Where databases can be made.
#[derive(Clone)]
pub(crate) enum Place {
    /// On a server, by the address of one of its databases.
    Postgres(Box<Server>),
    /// In this folder.
    Sqlite(PathBuf),
}

/// A server, by the address of one of its databases. The address may hold a password.
#[derive(Clone)]
pub(crate) struct Server {
    url: String,
    options: PgConnectOptions,
}

/// A database that is there for one measurement.
pub(crate) enum Scratch {
    Postgres {
        server: Box<Server>,
        name: String,
    },
    /// Removed when it is dropped.
    Sqlite(TempDir),
}

/// How large a database is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    /// What the rows of all tables hold.
    pub(crate) row_bytes: i64,
    /// All pages of tables and indexes.
    pub(crate) page_bytes: i64,
    /// What the database wrote to its log so far, where it can say.
    pub(crate) wal_bytes: Option<i64>,
}

impl Place {
    /// From the address of a store.
    pub(crate) fn at(url: &str) -> anyhow::Result<Self> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = Path::new(path.trim_start_matches("//"));
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            return Ok(Place::Sqlite(folder.unwrap_or(Path::new(".")).to_path_buf()));
        }
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        anyhow::ensure!(is_postgres, "`--store` must be `sqlite:PATH` or `postgres://…`");
        // What sqlx says about an address may show it, and it may hold a password.
        let options =
            PgConnectOptions::from_str(url).map_err(|_| anyhow::anyhow!("this is no address of a database"))?;
        let server = Server { url: url.to_owned(), options: options.disable_statement_logging() };
        Ok(Place::Postgres(Box::new(server)))
    }

    /// Makes a database.
    pub(crate) async fn scratch(&self) -> anyhow::Result<Scratch> {
        match self {
            Place::Postgres(server) => {
                let name = format!("holdpoint_bench_{}", Uuid::now_v7().simple());
                let mut connection = server.connect().await.context("the server cannot be reached")?;
                connection.execute(AssertSqlSafe(format!("create database {name}"))).await?;
                connection.close().await?;
                Ok(Scratch::Postgres { server: server.clone(), name })
            }
            Place::Sqlite(folder) => {
                let folder = tempfile::Builder::new().prefix("holdpoint-bench-").tempdir_in(folder)?;
                Ok(Scratch::Sqlite(folder))
            }
        }
    }
}

impl Server {
    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        PgConnection::connect_with(&self.options).await
    }

    /// The address of another database of this server.
    fn url_of(&self, database: &str) -> String {
        let (base, query) =
            self.url.split_once('?').map_or((self.url.as_str(), None), |(base, query)| (base, Some(query)));
        let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
        let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{authority}/{database}{query}")
    }
}

impl Scratch {
    /// The name of its kind, as other benchmarks have it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Scratch::Postgres { .. } => "postgres",
            Scratch::Sqlite(_) => "sqlite",
        }
    }

    /// The address for a store.
    pub(crate) fn url(&self) -> String {
        match self {
            Scratch::Postgres { server, name } => server.url_of(name),
            Scratch::Sqlite(_) => format!("sqlite:{}", self.path("runs.db").display()),
        }
    }

    /// How to connect to it, if it is on a server.
    pub(crate) fn postgres(&self) -> Option<PgConnectOptions> {
        match self {
            Scratch::Postgres { server, name } => Some(server.options.clone().database(name)),
            Scratch::Sqlite(_) => None,
        }
    }

    /// A connection to a file of this folder, as durable as the store's.
    pub(crate) async fn sqlite(&self, file: &str) -> anyhow::Result<SqliteConnection> {
        let options = SqliteConnectOptions::new().filename(self.path(file)).create_if_missing(true);
        let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        Ok(SqliteConnection::connect_with(&options.disable_statement_logging()).await?)
    }

    fn path(&self, file: &str) -> PathBuf {
        match self {
            Scratch::Postgres { .. } => PathBuf::from(file),
            Scratch::Sqlite(folder) => folder.path().join(file),
        }
    }

    /// Does what the database does by itself after a while.
    pub(crate) async fn settle(&self) -> anyhow::Result<()> {
        match self.postgres() {
            Some(options) => {
                let mut connection = PgConnection::connect_with(&options).await?;
                connection.execute("vacuum analyze").await?;
            }
            None => {
                let mut connection = self.sqlite("runs.db").await?;
                connection.execute("pragma wal_checkpoint(truncate)").await?;
            }
        }
        Ok(())
    }

    /// How large it is now.
    pub(crate) async fn size(&self) -> anyhow::Result<Size> {
        match self.postgres() {
            Some(options) => postgres_size(&mut PgConnection::connect_with(&options).await?).await,
            None => sqlite_size(&mut self.sqlite("runs.db").await?).await,
        }
    }

    /// Removes it.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self {
            Scratch::Postgres { server, name } => {
                let mut connection = server.connect().await?;
                connection.execute(AssertSqlSafe(format!("drop database {name} with (force)"))).await?;
            }
            Scratch::Sqlite(folder) => folder.close()?,
        }
        Ok(())
    }
}

async fn postgres_size(connection: &mut PgConnection) -> anyhow::Result<Size> {
    let tables = "select quote_ident(schemaname) || '.' || quote_ident(relname), pg_total_relation_size(relid), \
                  pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint from pg_stat_user_tables";
    let mut size = Size::default();
    for table in connection.fetch_all(tables).await? {
        let name: String = table.try_get(0)?;
        size.page_bytes += table.try_get::<i64, _>(1)?;
        size.wal_bytes = Some(table.try_get(2)?);
        let rows = AssertSqlSafe(format!("select coalesce(sum(pg_column_size(t.*)), 0)::bigint from {name} t"));
        size.row_bytes += connection.fetch_one(rows).await?.try_get::<i64, _>(0)?;
    }
    Ok(size)
}

async fn sqlite_size(connection: &mut SqliteConnection) -> anyhow::Result<Size> {
    connection.execute("pragma wal_checkpoint(truncate)").await?;
    let sizes = "select coalesce(sum(payload) filter (where name in (select name from sqlite_master where type = 'table')), 0), \
                 coalesce(sum(pgsize), 0) from dbstat";
    let row = connection.fetch_one(sizes).await?;
    Ok(Size { row_bytes: row.try_get(0)?, page_bytes: row.try_get(1)?, wal_bytes: None })
}

#[cfg(test)]
mod tests;
