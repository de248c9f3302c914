use std::error::Error as _;

use super::*;

#[test]
fn every_code_that_people_can_act_on_has_its_reason() {
    let cases = [
        (5, Some(StoreFault::Locked)),
        (261, Some(StoreFault::Locked)),
        (6, Some(StoreFault::Locked)),
        (15, Some(StoreFault::Locked)),
        (8, Some(StoreFault::ReadOnly)),
        (1_544, Some(StoreFault::ReadOnly)),
        (13, Some(StoreFault::Full)),
        (4_874, Some(StoreFault::Full)),
        (11, Some(StoreFault::Corrupt)),
        (26, Some(StoreFault::Corrupt)),
        (14, Some(StoreFault::NotPermitted)),
        (10, Some(StoreFault::Unavailable)),
        (778, Some(StoreFault::Unavailable)),
        (1, None),
        (2_067, None),
    ];
    for (code, fault) in cases {
        assert_eq!(fault_of_code(code), fault, "{code}");
    }
}

#[test]
fn everybody_of_a_group_gets_the_same_reason() {
    let failure = GroupFailure::new(sqlx::Error::WorkerCrashed);
    for _ in 0..2 {
        let error = failure.store_error("commit");
        assert!(matches!(&error, StoreError::Fault { fault: StoreFault::Unavailable, .. }), "{error:?}");
        assert!(error.source().is_some());
    }
}
