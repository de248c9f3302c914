use super::*;

#[test]
fn a_notification_is_read_as_it_was_written() {
    let mut notification = Notification::default();
    notification.run(17, Revision(3));
    notification.run(i64::MAX, Revision(255));
    for (tasks, runs, questions) in
        [(false, false, false), (true, false, false), (true, true, false), (true, true, true)]
    {
        notification.topics |= Topics { tasks, runs, questions };
        assert_eq!(Notification::from_payload(&notification.to_payload()), notification);
    }
    assert!(Notification::from_payload("").is_empty());
}

#[test]
fn too_many_moves_are_look_at_everything() {
    for (count, run_no) in [(5_000, 1), (900, i64::MAX)] {
        let mut notification = Notification::default();
        (0..count).for_each(|_| notification.run(run_no, Revision(1)));
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
