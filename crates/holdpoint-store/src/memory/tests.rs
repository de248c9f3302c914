//! What only the memory store promises: how much it holds and writes, and its clock.

use std::pin::Pin;
use std::task::Poll;

use super::*;
use crate::{HeadUpdate, ManualClock};
use holdpoint_core::{ContinuationId, PauseNumber, Status};

/// What a run may take beyond its records.
const OVERHEAD_BYTES_MAX: usize = 250;

fn run_id(number: usize) -> RunId {
    RunId::new(format!("01890a5d-ac96-774b-bcce-{number:012x}"))
}

fn paused(run: &RunId, records: Vec<Vec<u8>>) -> Transition {
    let head = HeadUpdate {
        status: Status::AwaitingToolConfirmation,
        agent: Some("support".into()),
        tenant: Some("acme".into()),
        continuation: Some(ContinuationId { run: run.clone(), pause: PauseNumber(1) }),
        deadline: None,
    };
    Transition { records, head, at: Timestamp(1_700_000_000_000_000) }
}

fn polled_once<T>(future: &mut Pin<Box<T>>) -> Poll<T::Output>
where
    T: Future + ?Sized,
{
    future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

fn running(records: Vec<Vec<u8>>) -> Transition {
    Transition { records, head: HeadUpdate::new(Status::Running), at: Timestamp(1_700_000_000_000_000) }
}

#[tokio::test]
async fn a_paused_run_takes_little_beyond_its_records() {
    let store = MemoryStore::new();
    let runs = 1_000;
    for number in 0..runs {
        let run = run_id(number);
        store.commit(&run, Revision(0), running(vec![vec![7; 150]; 3])).await.unwrap();
        store.commit(&run, Revision(3), paused(&run, vec![vec![7; 200]; 2])).await.unwrap();
        let record_bytes = 3 * 150 + 2 * 200;
        let held = store.bytes_held(&run).unwrap();
        // A table of a handful of runs is mostly spare room; from eight on it is shared well.
        if number >= 8 {
            assert!(held < record_bytes + OVERHEAD_BYTES_MAX, "run {number} holds {held} bytes");
        }
        assert!(held > record_bytes);
    }
    assert_eq!(store.runs(), runs);
}

#[tokio::test]
async fn a_pause_writes_what_is_new_and_not_what_is_there() {
    let store = MemoryStore::new();
    let run = run_id(1);
    store.commit(&run, Revision(0), running(vec![vec![7; 100_000]])).await.unwrap();
    let mut at = Revision(1);
    let before = store.bytes_written();
    for pause in 1..=100 {
        at = store.commit(&run, at, paused(&run, vec![vec![1; 80]])).await.unwrap();
        at = store.commit(&run, at, running(vec![vec![2; 20]])).await.unwrap();
        let written = store.bytes_written() - before;
        assert!(written <= pause * 110, "{written} bytes after {pause} pauses");
    }
}

#[tokio::test]
async fn a_run_that_stops_gives_its_spare_room_back() {
    let store = MemoryStore::new();
    let run = run_id(1);
    let mut at = Revision(0);
    for _ in 0..100 {
        at = store.commit(&run, at, running(vec![vec![7; 100]])).await.unwrap();
    }
    let while_running = store.bytes_held(&run).unwrap();
    store.commit(&run, at, paused(&run, vec![vec![7; 100]])).await.unwrap();
    assert!(store.bytes_held(&run).unwrap() < while_running);
}

#[tokio::test]
async fn waiters_that_gave_up_leave_nothing_behind() {
    let store = MemoryStore::new();
    for number in 0..1_000 {
        let run = run_id(number);
        store.commit(&run, Revision(0), running(vec![vec![1]])).await.unwrap();
        assert!(polled_once(&mut store.changed(&run, Revision(1))).is_pending());
    }
    let bells = store.table().bells();
    assert!(bells <= 64, "{bells} bells");
}

#[tokio::test]
async fn a_waiter_is_still_woken_after_a_sweep() {
    let store = Arc::new(MemoryStore::new());
    let watched = run_id(usize::MAX >> 16);
    store.commit(&watched, Revision(0), running(vec![vec![1]])).await.unwrap();
    let mut waiter = store.changed(&watched, Revision(1));
    assert!(polled_once(&mut waiter).is_pending());
    for number in 0..500 {
        let run = run_id(number);
        store.commit(&run, Revision(0), running(vec![vec![1]])).await.unwrap();
        assert!(polled_once(&mut store.changed(&run, Revision(1))).is_pending());
    }
    store.commit(&watched, Revision(1), running(vec![vec![2]])).await.unwrap();
    assert_eq!(waiter.await.unwrap(), Revision(2));
}

#[test]
fn a_manual_clock_moves_only_when_told() {
    let clock = Arc::new(ManualClock::new(Timestamp(5)));
    let store = MemoryStore::with_clock(clock.clone());
    assert_eq!(store.now(), Timestamp(5));
    assert_eq!(clock.advance_ms(3), Timestamp(3_005));
    assert_eq!(store.now(), Timestamp(3_005));
}

#[tokio::test]
async fn debug_shows_no_record() {
    let store = MemoryStore::new();
    let run = run_id(1);
    let transition = running(vec![b"sentinel".to_vec()]);
    let shown_before = format!("{transition:?}");
    store.commit(&run, Revision(0), transition).await.unwrap();
    let records = store.load(&run, Revision(0)).await.unwrap();
    // A body that is shown as numbers is as bad as one that is shown as text.
    for shown in [shown_before, format!("{records:?}"), format!("{store:?}")] {
        assert!(!shown.contains("sentinel") && !shown.contains("115, 101"), "{shown}");
    }
}
