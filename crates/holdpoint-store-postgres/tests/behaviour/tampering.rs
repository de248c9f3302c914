//! Whoever changes the audit log behind the store's back is found, and what was changed is named.

use holdpoint_store::conformance::tampering::Tampered;
use holdpoint_store::{Store, store_tampering_tests};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Options, PostgresStore};

use crate::common::sql;

struct Database {
    store: Store,
    scratch: Scratch,
}

impl Tampered for Database {
    const TABLE_PREFIX: &'static str = "holdpoint_";

    fn bytes(hex: &str) -> String {
        format!("'\\x{hex}'")
    }

    async fn open() -> Self {
        let scratch = Scratch::new().await.unwrap();
        let options = Options { connections: 2, ..Options::default() };
        let store = Store::from(PostgresStore::open_with(scratch.url(), options).await.unwrap());
        Self { store, scratch }
    }

    fn store(&self) -> &Store {
        &self.store
    }

    async fn execute(&self, statements: &str) {
        sql(self.scratch.url(), statements).await;
    }

    async fn close(self) {
        drop(self.store);
        self.scratch.close().await.unwrap();
    }
}

store_tampering_tests!(Database);
