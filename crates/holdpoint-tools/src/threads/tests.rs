//! Named, bounded, replaced, counted back.

use std::sync::mpsc;

use super::*;

/// Work that hangs until the other end is dropped.
fn hanging() -> (mpsc::Sender<()>, impl FnOnce() + Send + 'static) {
    let (release, held) = mpsc::channel::<()>();
    (release, move || assert!(held.recv().is_err()))
}

/// Work that hangs, and is known to have begun.
fn begun(pool: &ThreadPool) -> (mpsc::Sender<()>, Ticket, oneshot::Receiver<thread::Result<()>>) {
    let (release, hang) = hanging();
    let (begins, has_begun) = mpsc::channel();
    let (ticket, result) = pool
        .submit(move || {
            begins.send(()).expect("the test waits");
            hang();
        })
        .expect("a thread");
    has_begun.recv().expect("it begins");
    (release, ticket, result)
}

#[test]
fn threads_have_names_and_start_only_when_there_is_work() {
    let pool = ThreadPool::new(4);
    assert_eq!(pool.threads(), 0);
    let (_ticket, result) = pool.submit(|| thread::current().name().map(str::to_owned)).unwrap();
    let name = result.blocking_recv().unwrap().unwrap();
    assert_eq!(name.as_deref(), Some("holdpoint-tool-1"));
    assert_eq!(pool.threads(), 1);
}

#[test]
fn a_free_thread_is_used_again() {
    let pool = ThreadPool::new(4);
    for _ in 0..50 {
        let (_ticket, result) = pool.submit(|| ()).unwrap();
        result.blocking_recv().unwrap().unwrap();
    }
    assert!(pool.threads() <= 4);
    assert_eq!(pool.lost(), 0);
}

#[test]
fn no_more_threads_than_the_limit_work_at_once() {
    let pool = ThreadPool::new(2);
    let (first, second) = (begun(&pool), begun(&pool));
    let (_ticket, third) = pool.submit(|| 7).unwrap();
    assert_eq!(pool.threads(), 2);
    drop(first.0);
    assert_eq!(third.blocking_recv().unwrap().unwrap(), 7);
    drop(second.0);
}

#[test]
fn work_that_nobody_waits_for_is_not_begun() {
    let pool = ThreadPool::new(1);
    let (release, ticket, result) = begun(&pool);
    let (waiting, never) = pool.submit(|| ()).unwrap();
    drop(waiting);
    drop(release);
    result.blocking_recv().unwrap().unwrap();
    assert!(never.blocking_recv().is_err());
    assert_eq!(pool.lost(), 0);
    drop(ticket);
}

#[test]
fn a_panic_is_handed_over_and_the_thread_goes_on() {
    let pool = ThreadPool::new(1);
    let (_ticket, result) = pool.submit(|| panic!("on purpose")).unwrap();
    assert!(result.blocking_recv().unwrap().is_err());
    let (_ticket, result) = pool.submit(|| 7).unwrap();
    assert_eq!(result.blocking_recv().unwrap().unwrap(), 7);
    assert_eq!(pool.threads(), 1);
}

#[test]
fn a_thread_that_hangs_is_replaced_and_counted_back_when_it_returns() {
    let pool = ThreadPool::new(1);
    let (release, ticket, result) = begun(&pool);
    drop(ticket);
    assert_eq!((pool.threads(), pool.lost()), (0, 1));
    let (_ticket, next) = pool.submit(|| 7).unwrap();
    assert_eq!(next.blocking_recv().unwrap().unwrap(), 7);
    drop(release);
    result.blocking_recv().unwrap().unwrap();
    assert_eq!((pool.threads(), pool.lost()), (1, 0));
}

#[test]
fn work_that_waits_gets_the_place_of_a_thread_that_hangs() {
    let pool = ThreadPool::new(1);
    let (release, ticket, _) = begun(&pool);
    let (_next, result) = pool.submit(|| 7).unwrap();
    drop(ticket);
    assert_eq!(result.blocking_recv().unwrap().unwrap(), 7);
    drop(release);
}

#[test]
fn when_too_many_hang_no_more_work_is_taken_until_one_returns() {
    let pool = ThreadPool::new(1);
    let mut hung = Vec::new();
    for _ in 0..LOST_THREADS_MAX {
        let (release, ticket, result) = begun(&pool);
        drop(ticket);
        hung.push((release, result));
    }
    assert_eq!(pool.lost(), LOST_THREADS_MAX);
    assert_eq!(pool.submit(|| ()).err(), Some(Saturated));
    let (release, result) = hung.pop().unwrap();
    drop(release);
    result.blocking_recv().unwrap().unwrap();
    assert!(pool.submit(|| ()).is_ok());
}

#[test]
fn a_dropped_pool_finishes_what_was_handed_in() {
    let pool = ThreadPool::new(1);
    let (release, _first, _) = begun(&pool);
    let (_ticket, result) = pool.submit(|| 7).unwrap();
    drop(pool);
    drop(release);
    assert_eq!(result.blocking_recv().unwrap().unwrap(), 7);
}
