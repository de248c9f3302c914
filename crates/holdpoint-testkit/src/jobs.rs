//! Several scenarios at once, told in the order of their files.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// The most scenarios at once, whatever was asked for.
const JOBS_MAX: usize = 64;

/// Does `work` for each item on at most `jobs` threads. Tells what came of it in the order of the items, each as soon as it
/// and all before it are there.
pub(crate) fn in_order<I: Sync, O: Send>(
    items: &[I],
    jobs: NonZeroUsize,
    work: impl Fn(&I) -> O + Sync,
    tell: &mut dyn FnMut(O),
) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.get().min(JOBS_MAX).min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { return };
                    if sender.send((place, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut early, mut due) = (BTreeMap::new(), 0);
        for (place, done) in receiver {
            early.insert(place, done);
            while let Some(done) = early.remove(&due) {
                tell(done);
                due += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests;
