use super::*;

#[test]
fn tries_become_more_and_more_seldom() {
    assert_eq!(delay(0), RECONNECT_DELAY);
    assert_eq!(delay(1), RECONNECT_DELAY * 2);
    assert_eq!(delay(3), RECONNECT_DELAY * 8);
    assert_eq!(delay(8), Duration::from_millis(25_600));
    assert_eq!(delay(u32::MAX), RECONNECT_DELAY_MAX);
}

#[test]
fn connections_that_do_not_last_count_until_one_does() {
    let mut losses = Losses::new(2);
    assert_eq!(losses.next(), Some(delay(0)));
    losses.lost_after(Duration::ZERO);
    losses.failed();
    assert_eq!(losses.next(), Some(delay(2)));
    losses.lost_after(STEADY_AFTER / 2);
    assert_eq!(losses.next(), None);
    losses.failed();
    assert_eq!(losses.next(), None, "being wanted makes nothing good");
    losses.lost_after(STEADY_AFTER);
    assert_eq!(losses.next(), Some(delay(0)));
}
