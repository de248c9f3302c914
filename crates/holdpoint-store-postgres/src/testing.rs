//! Databases that tests make and throw away.

use std::env;

use holdpoint_store::StoreError;

use crate::{create_database, drop_database};

/// Names a server where tests may create databases.
pub const SERVER_VARIABLE: &str = "HOLDPOINT_TEST_POSTGRES";

/// An empty database of its own. It is dropped with [`Scratch::close`], or else when this value is dropped.
pub struct Scratch {
    server: String,
    url: String,
    is_open: bool,
}

impl Scratch {
    /// Makes a database on the server that [`SERVER_VARIABLE`] names.
    ///
    /// # Errors
    /// When the server does not allow it.
    ///
    /// # Panics
    /// When the variable is not set: tests that need a server fail without one.
    pub async fn new() -> Result<Self, StoreError> {
        let server = server_url();
        let url = create_database(&server).await?;
        Ok(Self { server, url, is_open: true })
    }

    /// The address of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Drops the database, also while others are connected to it.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn close(mut self) -> Result<(), StoreError> {
        self.is_open = false;
        drop_database(&self.server, &self.url).await
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
        if !self.is_open {
            return;
        }
        let (server, url) = (self.server.clone(), self.url.clone());
        // Nothing can be awaited here, so another thread does it.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(drop_database(&server, &url)))
        });
        // A database that stays behind harms no other test.
        let _ = dropped.join();
    }
}
