//! Databases that tests make and throw away.

use std::env;
use std::fmt;

use holdpoint_store::{OwnerId, StoreError};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::fault::store_error;
use crate::options::Address;

/// Names a server where tests may create databases.
pub const SERVER_VARIABLE: &str = "HOLDPOINT_TEST_POSTGRES";

/// An empty database of its own. It goes with [`Scratch::close`], or else when it is dropped.
pub struct Scratch {
    server: Address,
    name: Option<String>,
    url: String,
}

impl Scratch {
    /// Makes a database on the server that [`SERVER_VARIABLE`] names.
    ///
    /// # Errors
    /// When the server does not let us.
    ///
    /// # Panics
    /// When the variable is not set: tests that need a server fail without one.
    pub async fn new() -> Result<Self, StoreError> {
        Self::on(&server_url()).await
    }

    /// Makes a database on this server.
    ///
    /// # Errors
    /// When the server does not let us.
    pub async fn on(server_url: &str) -> Result<Self, StoreError> {
        let server = Address::parse(server_url)?;
        let name = format!("holdpoint_{}", OwnerId::unique().as_str().replace('-', ""));
        // The other template may be in use at this moment, and then refuses.
        run(&server, format!("create database {name} template template0")).await?;
        let url = with_database(server_url, &name);
        Ok(Self { server, name: Some(name), url })
    }

    /// The address of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Removes the database, whoever is still connected to it.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn close(mut self) -> Result<(), StoreError> {
        match self.name.take() {
            Some(name) => run(&self.server, drop_sql(&name)).await,
            None => Ok(()),
        }
    }
}

/// The server for tests.
///
/// # Panics
/// When [`SERVER_VARIABLE`] is not set.
pub fn server_url() -> String {
    match env::var(SERVER_VARIABLE) {
        Ok(url) => url,
        Err(_) => panic!(
            "{SERVER_VARIABLE} is not set: it names a PostgreSQL server where tests may create databases, such as \
             the one that `scripts/postgres start` makes"
        ),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(name) = self.name.take() else { return };
        let server = self.server.clone();
        // Nobody can be waited for here, so another thread does it.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(run(&server, drop_sql(&name))))
        });
        // A database that stays behind harms no other test.
        let _ = dropped.join();
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scratch({}, {:?})", self.server, self.name)
    }
}

fn drop_sql(name: &str) -> String {
    format!("drop database if exists {name} with (force)")
}

/// The same address with another database.
fn with_database(url: &str, name: &str) -> String {
    let (rest, query) = url.split_once('?').map_or((url, String::new()), |(rest, query)| (rest, format!("?{query}")));
    let start = rest.find("://").map_or(0, |at| at + 3);
    let end = rest[start..].find('/').map_or(rest.len(), |at| start + at);
    format!("{}/{name}{query}", &rest[..end])
}

async fn run(server: &Address, sql: String) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| store_error("prepare a database for a test", &error);
    let mut connection: PgConnection = server.options().connect().await.map_err(failed)?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.map_err(failed)?;
    // The goodbye need not be heard.
    let _ = connection.close().await;
    Ok(())
}
