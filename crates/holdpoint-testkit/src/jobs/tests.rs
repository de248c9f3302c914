use std::sync::Barrier;

use super::*;

fn told(items: &[usize], jobs: usize, work: impl Fn(&usize) -> usize + Sync) -> Vec<usize> {
    let mut told = Vec::new();
    in_order(items, NonZeroUsize::new(jobs).expect("at least one"), work, &mut |done| told.push(done));
    told
}

#[test]
fn everything_is_done_once_and_told_in_order() {
    let items: Vec<usize> = (0..200).collect();
    for jobs in [1, 3, 1_000] {
        assert_eq!(told(&items, jobs, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }
    assert_eq!(told(&[], 4, |item| *item), Vec::<usize>::new());
}

#[test]
fn as_many_as_asked_for_are_at_work_at_once() {
    // Each waits until three are there: two jobs would wait for ever.
    let together = Barrier::new(3);
    let done = told(&[1, 2, 3], 3, |item| {
        together.wait();
        *item
    });
    assert_eq!(done, [1, 2, 3]);
}

#[test]
fn one_that_takes_longer_holds_back_what_is_told_and_not_what_is_done() {
    // The first ends only after the last has begun.
    let meet = Barrier::new(2);
    let done = told(&[0, 1, 2, 3], 2, |item| {
        if [0, 3].contains(item) {
            meet.wait();
        }
        *item
    });
    assert_eq!(done, [0, 1, 2, 3]);
}
