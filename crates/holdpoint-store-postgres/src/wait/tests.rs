use super::waiters::Waiters;
use super::*;

#[test]
fn news_are_read_as_they_were_written() {
    let mut notification = Notification::default();
    notification.run(17, 3);
    notification.run(i64::MAX, 255);
    for (tasks, runs, questions) in
        [(false, false, false), (true, false, false), (true, true, false), (true, true, true)]
    {
        notification.topics(Topics { tasks, runs, questions });
        assert_eq!(Notification::from_payload(&notification.to_payload()), notification);
    }
    assert!(Notification::from_payload("").is_empty());
}

#[test]
fn too_much_news_is_look_at_everything() {
    for (count, run_no) in [(5_000, 1), (900, i64::MAX)] {
        let mut notification = Notification::default();
        (0..count).for_each(|_| notification.run(run_no, 1));
        let payload = notification.to_payload();
        assert!(payload.len() < notification::PAYLOAD_BYTES_MAX);
        assert!(Notification::from_payload(&payload).everything);
    }
}

#[test]
fn words_of_another_version_are_look_at_everything() {
    for payload in ["*", "zz", "12", "12:x", "x r"] {
        assert!(Notification::from_payload(payload).everything, "{payload}");
    }
}

#[tokio::test]
async fn nobody_is_kept_who_does_not_wait() {
    let waiters = Waiters::default();
    let mut first = waiters.wait(7);
    let second = waiters.wait(7);
    drop(second);
    assert_eq!(waiters.awaited(), [7]);
    waiters.saw(8, 9);
    waiters.saw(7, 2);
    waiters.saw(7, 1);
    assert_eq!(first.until_after(1).await, Seen::At(2));
    waiters.gone(7);
    assert_eq!(first.until_after(2).await, Seen::Gone);
    drop(first);
    assert!(waiters.awaited().is_empty());
}
