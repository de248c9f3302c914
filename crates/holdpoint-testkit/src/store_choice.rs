//! On which store scenarios run.

use std::fmt;
use std::sync::Arc;

use holdpoint::{StoreOptions, open_store_with};
use holdpoint_store::{StoreError, StoreFault};

/// Where the runs of scenarios are kept.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum StoreChoice {
    /// In memory.
    #[default]
    Memory,
    /// In a file, by its address: `sqlite:PATH`. It is made if it is not there.
    Sqlite(Arc<str>),
    /// In a database, by its address: `postgres://…`.
    Postgres(Arc<str>),
}

impl StoreChoice {
    /// Reads an address. Whether something is there is for [`StoreChoice::reach`] to say.
    ///
    /// # Errors
    /// `invalid_store_url`, when no store has such an address.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("sqlite", _)) => Ok(Self::Sqlite(text.into())),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(text.into())),
            _ => Err(StoreError::fault(StoreFault::InvalidUrl, "open", "no store has such an address")),
        }
    }

    /// Opens the store once and closes it again, so that a wrong address is told before anything runs on it.
    ///
    /// # Errors
    /// When the store cannot be opened: the reason has a code and a hint.
    pub fn reach(&self) -> Result<(), StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::failed("open", error))?;
        let reached = runtime.block_on(open_store_with(self.url(), StoreOptions::default()));
        reached.map(drop)
    }

    /// The address. It may hold a password.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite(url) | Self::Postgres(url) => url,
        }
    }
}

/// Shows the kind only: an address may hold a password.
impl fmt::Debug for StoreChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "Memory",
            Self::Sqlite(_) => "Sqlite",
            Self::Postgres(_) => "Postgres",
        })
    }
}

#[cfg(test)]
mod tests;
