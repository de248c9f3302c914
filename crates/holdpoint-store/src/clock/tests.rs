use super::*;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

#[test]
fn it_shows_what_the_followed_clock_shows() {
    let clock = SteadyClock::default();
    for second in [0, 1, 5, 4_000] {
        assert_eq!(clock.follow(HOUR + second * SECOND, second * SECOND), Timestamp(HOUR + second * SECOND));
    }
}

#[test]
fn it_runs_on_at_half_speed_until_a_clock_that_was_set_back_catches_up() {
    let clock = SteadyClock::default();
    let start = clock.follow(2 * HOUR, 0);
    // Set back by ten seconds; after twenty both show the same.
    let mut before = start;
    for second in 1..20 {
        let now = clock.follow(2 * HOUR - 10 * SECOND + second * SECOND, second * SECOND);
        assert_eq!(now.0, start.0 + second * SECOND / 2);
        assert!(now > before);
        before = now;
    }
    let now = clock.follow(2 * HOUR + 30 * SECOND, 40 * SECOND);
    assert_eq!(now, Timestamp(2 * HOUR + 30 * SECOND));
}

#[test]
fn readings_out_of_order_never_set_it_back() {
    let clock = SteadyClock::default();
    let late = clock.follow(5 * SECOND, 5 * SECOND);
    assert_eq!(clock.follow(4 * SECOND, 4 * SECOND), late);
    assert!(clock.follow(6 * SECOND, 6 * SECOND) > late);
}
