use super::*;

#[test]
fn the_clock_follows_the_database_and_never_goes_back() {
    let clock = StoreClock::new(None);
    clock.adjust(0, 10, 1_000_000_000);
    let first = clock.now();
    assert!(first.0 >= 999_999_995, "{first:?}");
    clock.adjust(0, 10, 5_000);
    assert!(clock.now() >= first);
    clock.adjust(0, 10, 9_000_000_000);
    assert!(clock.now().0 >= 8_999_999_995);
}
