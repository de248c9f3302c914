//! The memory store, and the faulty one while nothing is planned, keep the contract.

mod memory {
    use std::sync::Arc;

    use holdpoint_store::conformance::Fixture;
    use holdpoint_store::{ManualClock, MemoryStore, store_conformance_tests};

    fn fixture() -> Fixture {
        let clock = Arc::new(ManualClock::default());
        Fixture::new(MemoryStore::with_clock(clock.clone()), clock)
    }

    store_conformance_tests!(fixture());
}

mod faulty_without_faults {
    use std::sync::Arc;

    use holdpoint_store::conformance::Fixture;
    use holdpoint_store::{FaultyStore, ManualClock, MemoryStore, store_conformance_tests};

    fn fixture() -> Fixture {
        let clock = Arc::new(ManualClock::default());
        let store = FaultyStore::new(MemoryStore::with_clock(clock.clone()));
        Fixture::new(store.store(), clock)
    }

    store_conformance_tests!(fixture());
}
