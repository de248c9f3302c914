//! The programs that run on this machine, as files in a folder of the user: who started each, and which it is. A process
//! number is used again one day, so each is kept with the time at which its process started.

#[cfg(target_os = "linux")]
mod linux;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub(crate) use linux::Entry;

/// How many calls are remembered whose programs this process ended.
const ENDED_MAX: usize = 1_024;

/// The calls whose programs this process ended, the last ones: whoever asks about one of them may come second.
static ENDED: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Ends the programs of processes of this user that died on this machine. Returns the calls that these programs did, and those
/// whose programs this process ended before. Elsewhere than on Linux it does nothing.
pub fn end_orphans() -> Vec<String> {
    let ended = system::end_orphans();
    let mut all = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend(ended);
    let surplus = all.len().saturating_sub(ENDED_MAX);
    all.drain(..surplus);
    all.iter().cloned().collect()
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn end_orphans() -> Vec<String> {
        Vec::new()
    }
}

/// Elsewhere nothing is registered.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct Entry;

#[cfg(not(target_os = "linux"))]
impl Entry {
    pub(crate) fn add(_: u32, _: Option<&str>) -> Option<Self> {
        None
    }
}
