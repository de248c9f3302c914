use std::task::{Context, Waker};

use super::*;

fn is_ready(future: impl Future) -> bool {
    std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn a_run_that_no_caller_waits_for_takes_no_room() {
    let notifier = Notifier::new();
    let (first, second) = (notifier.wait(7), notifier.wait(7));
    drop(second);
    assert_eq!(notifier.awaited_runs(), [7]);
    assert!(is_ready(notifier.until_awaited()));
    drop(first);
    assert!(notifier.awaited_runs().is_empty());
    assert!(!is_ready(notifier.until_awaited()));
}

#[tokio::test]
async fn a_waiter_wakes_for_a_newer_revision_of_its_run() {
    let notifier = Notifier::new();
    let mut waiter = notifier.wait(7);
    notifier.moved(&8, Revision(9));
    notifier.moved(&7, Revision(1));
    assert!(!is_ready(waiter.until_after(Revision(1))));
    notifier.moved(&7, Revision(3));
    notifier.moved(&7, Revision(2));
    assert_eq!(waiter.until_after(Revision(1)).await, Some(Revision(3)));
}

#[tokio::test]
async fn a_waiter_learns_that_its_run_was_pruned() {
    let notifier = Notifier::new();
    let mut waiter = notifier.wait(7);
    notifier.pruned(&7);
    notifier.moved(&7, Revision(9));
    assert_eq!(waiter.until_after(Revision(1)).await, None);
}

#[test]
fn only_the_named_topics_wake_their_watchers() {
    let notifier = Notifier::<u64>::new();
    let [tasks, runs, questions] = [Topic::Tasks, Topic::Runs, Topic::Questions].map(|topic| notifier.watch(topic));
    assert!(is_ready(notifier.until_awaited()));
    notifier.notify(Topic::Runs);
    let changed = [&tasks, &runs, &questions].map(|topic| topic.has_changed().unwrap());
    assert_eq!(changed, [false, true, false]);
    notifier.notify(Topics::ALL);
    assert!(tasks.has_changed().unwrap() && questions.has_changed().unwrap());
}
