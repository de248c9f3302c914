//! What only the memory store promises: how much it holds and writes, and its clock.

use std::pin::Pin;
use std::task::Poll;

use super::entry::Entry;
use super::run_leases::Running;
use super::runs::{BLOCK_RUNS, Block, RunNo, Runs};
use super::task_queue::{Task, TaskKey};
use super::*;
use crate::{
    HeadUpdate, Hold, ManualClock, OwnerId, PruneRequest, RunFilter, RunLog, Scope, TaskChange, TaskFilter, TaskGuard,
    TaskOpening, TaskQueue, Transition,
};
use holdpoint_core::{
    Attempt, CallIndex, ContinuationId, PauseNumber, Repeat, Revision, Status, Timestamp, ToolName, Turn,
};

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
        session: None,
    };
    Transition::new(records, head, Timestamp(1_700_000_000_000_000))
}

/// The bytes that a run takes: its buffer with all spare room, its fixed part, its name, and its share of the tables with
/// their spare room. Counted from sizes and capacities; what the allocator adds is not seen. The names of agents and tenants
/// are kept once for all runs and not counted.
fn bytes_held(store: &MemoryStore, run: &RunId) -> usize {
    let table = store.table();
    let (number, entry) = table.runs.find(run).unwrap();
    // An `Arc<str>` keeps two counters beside its text.
    let name = run.as_str().len() + 2 * size_of::<usize>();
    let timer = entry.deadline().map_or(0, |_| 2 * size_of::<(Timestamp, RunNo)>());
    // Trees have twice as many places as they need, at worst.
    let running = table.running.rows().get(&number.0).map_or(0, |_| 2 * size_of::<(i64, Running, Timestamp, i64)>());
    let tasks = table.tasks.rows().values().filter(|task| task.head.key.run == *run);
    let tasks = tasks.map(|task| 2 * size_of::<(i64, Task, TaskKey, i64, TaskKey, i64)>() + task.body.len());
    let held = running + tasks.sum::<usize>();
    size_of::<Entry>() + entry.log.capacity() + name + index_bytes(&table.runs) + timer + held
}

/// The share of one run of the indexes of all runs, with their spare room.
fn index_bytes(runs: &Runs) -> usize {
    // A hash table keeps one byte beside each of its places, and at most seven places of eight are in use.
    let places = runs.numbers.capacity() * 8 / 7;
    let names = places * (size_of::<(RunId, RunNo)>() + 1);
    // All blocks but the last are full. A tree keeps twice as many places as it needs, at worst.
    let last = runs.blocks.values().next_back().map_or(0, |block| block.entries.capacity());
    let pointers = runs.blocks.len().saturating_sub(1) * usize::from(BLOCK_RUNS) + last;
    let blocks = 2 * runs.blocks.len() * size_of::<(i64, Block)>() + pointers * size_of::<Option<Box<Entry>>>();
    (names + blocks).div_ceil(runs.len().max(1))
}

fn polled_once<T>(future: &mut Pin<Box<T>>) -> Poll<T::Output>
where
    T: Future + ?Sized,
{
    future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

fn running(records: Vec<Vec<u8>>) -> Transition {
    Transition::new(records, HeadUpdate::new(Status::Running), Timestamp(1_700_000_000_000_000))
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
        let held = bytes_held(&store, &run);
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
    store.commit(&run, Revision(0), paused(&run, vec![vec![7; 100_000]])).await.unwrap();
    let mut at = Revision(1);
    let before = bytes_held(&store, &run);
    for pause in 1..=100 {
        at = store.commit(&run, at, running(vec![vec![2; 20]])).await.unwrap();
        at = store.commit(&run, at, paused(&run, vec![vec![1; 80]])).await.unwrap();
        // A run that waits has no spare room.
        let written = bytes_held(&store, &run) - before;
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
    let while_running = bytes_held(&store, &run);
    store.commit(&run, at, paused(&run, vec![vec![7; 100]])).await.unwrap();
    assert!(bytes_held(&store, &run) < while_running);
}

#[tokio::test]
async fn waiters_that_gave_up_leave_nothing_behind() {
    let store = MemoryStore::new();
    for number in 0..1_000 {
        let run = run_id(number);
        store.commit(&run, Revision(0), running(vec![vec![1]])).await.unwrap();
        assert!(polled_once(&mut store.changed(&run, Revision(1))).is_pending());
    }
    assert!(store.notifier.awaited_runs().is_empty());
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
    let records = store.load(&Scope::All, &run, Revision(0)).await.unwrap();
    // A body that is shown as numbers is as bad as one that is shown as text.
    for shown in [shown_before, format!("{records:?}"), format!("{store:?}")] {
        assert!(!shown.contains("sentinel") && !shown.contains("115, 101"), "{shown}");
    }
}

fn with_a_task(transition: Transition) -> Transition {
    let opening = TaskOpening {
        turn: Turn(1),
        index: CallIndex(0),
        tool: ToolName::new("mail"),
        attempts: Attempt(0),
        attempts_max: Attempt(3),
        repeat: Repeat::Safe,
        deadline: None,
        body: vec![7; 500],
    };
    Transition { tasks: vec![TaskChange::Open(Box::new(opening))], ..transition }
}

#[tokio::test]
async fn a_task_takes_room_only_while_it_is_there() {
    let store = MemoryStore::new();
    let run = run_id(1);
    store.commit(&run, Revision(0), paused(&run, vec![vec![7; 100]])).await.unwrap();
    let without = bytes_held(&store, &run);
    let step = |tasks| Transition { tasks, ..paused(&run, vec![vec![]]) };
    let opened = with_a_task(paused(&run, vec![vec![]]));
    store.commit(&run, Revision(1), opened).await.unwrap();
    assert!(bytes_held(&store, &run) >= without + 500);
    let closing = TaskChange::Close { turn: Turn(1), index: CallIndex(0), guard: TaskGuard::Any };
    store.commit(&run, Revision(2), step(vec![closing])).await.unwrap();
    // Two empty records are a few bytes.
    assert!(bytes_held(&store, &run) <= without + 30);
}

#[tokio::test]
async fn a_run_that_stops_keeps_no_hold() {
    let store = MemoryStore::new();
    let run = run_id(1);
    let hold = Some(Hold { owner: OwnerId::unique(), lease_ms: 1_000 });
    store.commit(&run, Revision(0), Transition { hold: hold.clone(), ..running(vec![vec![7]]) }).await.unwrap();
    let step = Transition { hold, ..paused(&run, vec![vec![7]]) };
    store.commit(&run, Revision(1), step).await.unwrap();
    assert!(store.table().running.rows().is_empty());
}

#[tokio::test]
async fn pruning_makes_room_again() {
    let store = MemoryStore::new();
    let over = Transition { head: HeadUpdate::new(Status::Finished), ..running(vec![vec![7; 100]]) };
    store.commit(&run_id(0), Revision(0), paused(&run_id(0), vec![vec![1]])).await.unwrap();
    let alone = bytes_held(&store, &run_id(0));
    for number in 1..=5_000 {
        let records = over.records.clone();
        let step = with_a_task(Transition::new(records, over.head.clone(), over.at));
        store.commit(&run_id(number), Revision(0), step).await.unwrap();
    }
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: usize::MAX };
    let mut pruned = 0;
    for _ in 0..5 {
        let runs = store.prune(&all).await.unwrap();
        assert!(runs.len() <= crate::PRUNE_LIMIT_MAX);
        pruned += runs.len();
    }
    assert_eq!((pruned, store.runs()), (5_000, 1));
    assert!(TaskQueue::list(&store, &TaskFilter::default()).await.unwrap().items.is_empty());
    // What is left of the indexes is the share of the only run: a block of pointers and a few places.
    let left = bytes_held(&store, &run_id(0));
    assert!(left < alone + 1_000, "{left} bytes are held, {alone} at first");
    store.commit(&run_id(1), Revision(0), running(vec![vec![1]])).await.unwrap();
}

#[tokio::test]
async fn lists_go_on_after_what_was_listed_is_pruned() {
    let store = MemoryStore::new();
    for number in 0..200 {
        let status = if number % 2 == 0 { Status::Finished } else { Status::Running };
        let step = Transition { head: HeadUpdate::new(status), ..running(vec![vec![7]]) };
        store.commit(&run_id(number), Revision(0), step).await.unwrap();
    }
    let mut filter = RunFilter { limit: Some(50), ..RunFilter::default() };
    filter.cursor = RunLog::list(&store, &filter).await.unwrap().next;
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: usize::MAX };
    assert_eq!(store.prune(&all).await.unwrap().len(), 100);
    let page = RunLog::list(&store, &filter).await.unwrap();
    let wanted: Vec<RunId> = (0..150).rev().filter(|number| number % 2 == 1).map(run_id).take(50).collect();
    assert_eq!(page.items.iter().map(|head| head.run.clone()).collect::<Vec<_>>(), wanted);
}
