//! Where the file is, and how it is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_store::{Clock, Migrate, StoreError, StoreFault};
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};

/// How long a writer waits for another one by default.
pub const BUSY_MS_DEFAULT: u64 = 5_000;
/// The longest such wait.
const BUSY_MS_MAX: u64 = 10 * 60 * 1_000;
/// How many connections read at once by default.
pub const READERS_DEFAULT: u32 = 4;
/// A whole page, so that whoever reads it is not woken for each row.
const ROWS_BUFFERED: usize = 1_000;
/// The statements that a connection keeps prepared: above the number of different ones that are usually in use.
const STATEMENTS_KEPT: usize = 64;
/// The pages that may stand beside the file before they are moved into it: 16 MiB, so that a commit seldom has to.
const CHECKPOINT_PAGES: &str = "4000";
/// The file beside the file is cut down to this after it was moved.
const WAL_BYTES_KEPT: &str = "67108864";
/// What the connection that writes keeps in memory, in KiB (SQLite counts them as negative numbers). The others keep what
/// SQLite thinks is enough.
const CACHE_KIB: &str = "-4096";

/// How a store is opened. The default is right for nearly everybody.
#[derive(Clone)]
pub struct Options {
    /// What to do with a database of an older version.
    pub migrate: Migrate,
    /// Another clock than the machine's: for tests and scenarios.
    pub clock: Option<Arc<dyn Clock>>,
    /// How long to wait for other programs that write to the same file, before the store says that it is locked.
    pub busy_ms: u64,
    /// How many connections read at once: at least 1.
    pub readers: u32,
    /// The most pages that the file may have: a disk that is full, for tests.
    #[doc(hidden)]
    pub pages_max: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            migrate: Migrate::default(),
            clock: None,
            busy_ms: BUSY_MS_DEFAULT,
            readers: READERS_DEFAULT,
            pages_max: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { migrate, clock, busy_ms, readers, pages_max: _ } = self;
        let clock = if clock.is_some() { "given" } else { "the machine's" };
        write!(f, "Options({migrate:?}, clock: {clock}, busy: {busy_ms} ms, readers: {readers})")
    }
}

impl Options {
    pub(crate) fn busy(&self) -> Duration {
        Duration::from_millis(self.busy_ms.min(BUSY_MS_MAX))
    }

    /// How the one connection that writes is opened.
    pub(crate) fn writing(&self, path: &Path) -> SqliteConnectOptions {
        let options = self.connecting(path).create_if_missing(self.migrate == Migrate::Auto);
        let options = options.synchronous(SqliteSynchronous::Full).pragma("wal_autocheckpoint", CHECKPOINT_PAGES);
        let options = options.pragma("journal_size_limit", WAL_BYTES_KEPT).pragma("cache_size", CACHE_KIB);
        match self.pages_max {
            Some(pages) => options.pragma("max_page_count", pages.to_string()),
            None => options,
        }
    }

    /// How a connection that only reads is opened.
    pub(crate) fn reading(&self, path: &Path) -> SqliteConnectOptions {
        self.connecting(path).read_only(true).row_buffer_size(ROWS_BUFFERED)
    }

    fn connecting(&self, path: &Path) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(self.busy())
            .foreign_keys(false)
            .statement_cache_capacity(STATEMENTS_KEPT)
            .pragma("temp_store", "memory")
            // A group that waits for a lock would be reported as slow, with all its text.
            .disable_statement_logging()
    }
}

/// The file that an address names, whatever the current folder is later.
pub(crate) fn path_of(url: &str) -> Result<PathBuf, StoreError> {
    let path = url.strip_prefix("sqlite:").ok_or_else(|| invalid("it does not start with `sqlite:`"))?;
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(invalid("it names no file"));
    }
    // It would end with the process and be another one for each connection. `memory` is the store for that.
    if path == ":memory:" {
        return Err(invalid("a database in memory does not last; the store `memory` is for that"));
    }
    if path.contains(['?', '\0']) {
        return Err(invalid("it has nothing but the path of a file after `sqlite:`"));
    }
    let path = std::path::absolute(path).map_err(|error| StoreError::fault(StoreFault::InvalidUrl, "open", error))?;
    if path.is_dir() {
        return Err(invalid("it names a folder, not a file"));
    }
    Ok(path)
}

/// What must be there before SQLite is asked: it would say `unable to open` to everything.
pub(crate) fn check_place(path: &Path, migrate: Migrate) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(path);
    if !folder.is_dir() {
        return Err(StoreError::fault(StoreFault::Missing, "open", "the folder of the database does not exist"));
    }
    if migrate == Migrate::Refuse && !path.exists() {
        return Err(StoreError::fault(StoreFault::Missing, "open", "the database does not exist"));
    }
    Ok(())
}

fn invalid(cause: &'static str) -> StoreError {
    StoreError::fault(StoreFault::InvalidUrl, "open", cause)
}
