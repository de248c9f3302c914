use std::task::{Context, Waker};

use super::*;

#[tokio::test]
async fn a_run_that_nobody_waits_for_has_no_bell() {
    let waits = Waits::new();
    let run = RunId::new("run");
    let (first, second) = (waits.begin(&run), waits.begin(&run));
    assert_eq!(waits.bells().len(), 1);
    drop(first);
    assert!(waits.somebody_waits());
    drop(second);
    assert!(waits.bells().is_empty() && !waits.somebody_waits());
}

#[tokio::test]
async fn a_bell_rings_for_those_who_listened_before() {
    let waits = Waits::new();
    let (run, other) = (RunId::new("run"), RunId::new("other"));
    let (waiting, elsewhere) = (waits.begin(&run), waits.begin(&other));
    let (woken, asleep) = (waiting.bell.notified(), elsewhere.bell.notified());
    waits.wake_runs([&run]);
    woken.await;
    let mut asleep = std::pin::pin!(asleep);
    assert!(asleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    waits.wake_all();
    asleep.await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_while_nobody_waits() {
    let waits = Arc::new(Waits::new());
    let (queue, mut requests) = mpsc::channel(1);
    let poller = tokio::spawn(poll(Arc::clone(&waits), queue.downgrade()));
    tokio::time::sleep(100 * POLL).await;
    assert!(requests.try_recv().is_err());

    let mut tasks = waits.watch(Topic::Tasks);
    for version in [1, 2] {
        let Some(Request::ForeignVersion(answer)) = requests.recv().await else { panic!("nobody asked") };
        answer.send(Ok(version)).unwrap();
        tasks.changed().await.unwrap();
    }
    // The same again wakes nobody.
    let Some(Request::ForeignVersion(answer)) = requests.recv().await else { panic!("nobody asked") };
    answer.send(Ok(2)).unwrap();
    tokio::time::sleep(POLL / 2).await;
    assert!(!tasks.has_changed().unwrap());

    drop(queue);
    drop(requests);
    poller.await.unwrap();
}
