use super::*;

fn delta(text: &str) -> StreamEvent {
    StreamEvent::TextDelta(text.to_owned())
}

#[test]
fn a_listener_that_hears_nothing_has_no_room_for_events() {
    let hub = DeltaHub::new();
    let listener = hub.listen(&RunId::new("r"));
    assert_eq!(listener.0.value.heard().capacity(), 0);
}

#[test]
fn a_listener_that_took_everything_gives_its_room_back() {
    let (hub, run) = (DeltaHub::new(), RunId::new("r"));
    let mut listener = hub.listen(&run);
    (0..DELTAS_MAX).for_each(|_| hub.send(&run, || delta("x")));
    while listener.try_next().is_some() {}
    assert!(listener.0.value.heard().capacity() <= 2 * ROOM_KEPT);
}

#[test]
fn a_slow_listener_misses_the_oldest_and_delays_nobody() {
    let (hub, run) = (DeltaHub::new(), RunId::new("r"));
    let (mut slow, mut quick) = (hub.listen(&run), hub.listen(&run));
    let mut heard = 0;
    for number in 0..=DELTAS_MAX {
        hub.send(&run, || delta(&number.to_string()));
        heard += usize::from(quick.try_next().is_some());
    }
    assert_eq!(heard, DELTAS_MAX + 1);
    let first = slow.try_next().map(|event| event.to_json()["text"].clone());
    assert_eq!(first, Some("1".into()));
}

#[test]
fn a_run_that_nobody_listens_to_any_more_is_forgotten() {
    let (hub, run) = (DeltaHub::new(), RunId::new("r"));
    let (one, other) = (hub.listen(&run), hub.listen(&run));
    drop(one);
    assert_eq!(hub.runs_heard(), 1);
    drop(other);
    assert_eq!(hub.runs_heard(), 0);
    hub.send(&run, || unreachable!("nobody listens"));
}

#[tokio::test]
async fn who_waits_is_woken() {
    let (hub, run) = (DeltaHub::new(), RunId::new("r"));
    let mut listener = hub.listen(&run);
    let waiting = tokio::spawn(async move { listener.next().await.to_json()["text"].clone() });
    tokio::task::yield_now().await;
    hub.send(&run, || delta("hello"));
    assert_eq!(waiting.await.ok(), Some("hello".into()));
}
