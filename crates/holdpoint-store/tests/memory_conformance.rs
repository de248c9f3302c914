//! The memory store, and the faulty one while nothing is planned, keep the contract.

mod memory {
    use std::sync::Arc;

    use holdpoint_store::{MemoryStore, Store, store_conformance_tests};

    store_conformance_tests!(Arc::new(MemoryStore::new()) as Arc<dyn Store>);
}

mod faulty_without_faults {
    use std::sync::Arc;

    use holdpoint_store::{FaultyStore, MemoryStore, Store, store_conformance_tests};

    store_conformance_tests!(Arc::new(FaultyStore::new(Arc::new(MemoryStore::new()))) as Arc<dyn Store>);
}
