use holdpoint_core::Code;

use super::*;

#[test]
fn addresses_of_the_three_stores_are_read() {
    assert_eq!(StoreChoice::parse("memory").expect("a store"), StoreChoice::Memory);
    assert_eq!(StoreChoice::parse("sqlite:runs.db").expect("a store"), StoreChoice::Sqlite("sqlite:runs.db".into()));
    for url in ["postgres://pg@localhost/runs", "postgresql://pg@localhost/runs"] {
        assert_eq!(StoreChoice::parse(url).expect("a store"), StoreChoice::Postgres(url.into()));
    }
}

#[test]
fn other_addresses_are_refused_with_a_code_and_a_hint() {
    for text in ["", "memory:", "Memory", "runs.db", "mysql://localhost/runs", ":", "sqlite"] {
        let error = StoreChoice::parse(text).expect_err(text);
        assert_eq!(error.code(), Code::InvalidStoreUrl, "{text}");
        assert!(error.hint().is_some(), "{text}");
    }
}

#[test]
fn passwords_are_not_shown() {
    let choice = StoreChoice::parse("postgres://pg:hunter2@localhost/runs").expect("a store");
    assert_eq!(format!("{choice:?}"), "Postgres");
}

#[test]
fn a_store_that_cannot_be_opened_is_told_at_once() {
    assert!(StoreChoice::Memory.reach().is_ok());
    let nowhere = StoreChoice::parse("sqlite:no-such-folder/of-any-name/runs.db").expect("an address");
    assert_eq!(nowhere.reach().expect_err("no folder").code(), Code::StoreMissing);
}
