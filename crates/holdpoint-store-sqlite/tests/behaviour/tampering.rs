//! Whoever changes the audit log behind the store's back is found, and what was changed is named.

use holdpoint_store::conformance::tampering::Tampered;
use holdpoint_store::{Store, store_tampering_tests};
use sqlx::{AssertSqlSafe, Connection, Executor};
use tempfile::TempDir;

use crate::common::{open, stranger};

const FILE: &str = "runs.db";

struct Database {
    store: Store,
    folder: TempDir,
}

impl Tampered for Database {
    const TABLE_PREFIX: &'static str = "";

    fn bytes(hex: &str) -> String {
        format!("x'{hex}'")
    }

    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { store: open(&folder.path().join(FILE)).await, folder }
    }

    fn store(&self) -> &Store {
        &self.store
    }

    async fn execute(&self, statements: &str) {
        let mut connection = stranger(&self.folder.path().join(FILE)).await;
        let executed = connection.execute(AssertSqlSafe(statements.to_owned())).await;
        executed.unwrap_or_else(|error| panic!("{statements}: {error}"));
        connection.close().await.unwrap();
    }

    async fn close(self) {
        drop(self.store);
        self.folder.close().unwrap();
    }
}

store_tampering_tests!(Database);
