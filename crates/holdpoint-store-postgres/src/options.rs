//! Where the database is and how to use it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use holdpoint_store::{Clock, Migrate, StoreError, StoreFault};
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

/// How many connections a store opens at most, if nothing else was asked for.
pub const CONNECTIONS_DEFAULT: u32 = 16;
/// How long a store goes on trying while the database cannot be reached, if nothing else was asked for.
pub const OUTAGE_MS_DEFAULT: u64 = 10_000;

/// How a store uses its database.
#[derive(Clone)]
pub struct Options {
    /// How many connections at most. Two more are there for notifications.
    pub connections: u32,
    /// The clock of everything durable. Absent: the clock of the database.
    pub clock: Option<Arc<dyn Clock>>,
    /// What to do about a database without our tables, or with older ones.
    pub migrate: Migrate,
    /// How long to go on trying while the database cannot be reached. After that, callers get the error.
    pub outage_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_DEFAULT,
            clock: None,
            migrate: Migrate::default(),
            outage_ms: OUTAGE_MS_DEFAULT,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("connections", &self.connections)
            .field("clock", &self.clock.as_ref().map(|_| "given"))
            .field("migrate", &self.migrate)
            .field("outage_ms", &self.outage_ms)
            .finish()
    }
}

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A database that can be connected to.
#[derive(Clone)]
pub(crate) struct Address(PgConnectOptions);

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
            return Err(invalid("it begins with neither `postgres://` nor `postgresql://`".to_owned()));
        }
        if let Some((_, query)) = url.split_once('?') {
            let keys = query.split('&').filter_map(|pair| pair.split('=').next());
            if let Some(unknown) = keys.filter(|key| !key.is_empty()).find(|key| !is_known(key)) {
                return Err(invalid(format!("it has a parameter `{unknown}` that is unknown")));
            }
        }
        let options = PgConnectOptions::from_str(url).map_err(|error| invalid(error.to_string()))?;
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name("holdpoint"),
        };
        Ok(Self(options.disable_statement_logging()))
    }

    pub(crate) fn options(&self) -> &PgConnectOptions {
        &self.0
    }
}

/// Without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.0;
        write!(f, "postgres://{}@{}:{}", options.get_username(), options.get_host(), options.get_port())?;
        options.get_database().map_or(Ok(()), |database| write!(f, "/{database}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether a parameter may follow the question mark. The driver would only write the others, with their values, into its log.
fn is_known(key: &str) -> bool {
    match key {
        "sslmode" | "ssl-mode" | "sslrootcert" | "ssl-root-cert" | "ssl-ca" | "sslcert" | "ssl-cert" | "sslkey"
        | "ssl-key" | "host" | "hostaddr" | "port" | "dbname" | "user" | "password" | "application_name"
        | "options" => true,
        _ => ["options[", "options%5B", "options%5b"].iter().any(|settings| key.starts_with(settings)),
    }
}

fn invalid(why: String) -> StoreError {
    StoreError::fault(StoreFault::InvalidUrl, "open the database", why)
}

#[cfg(test)]
mod tests;
