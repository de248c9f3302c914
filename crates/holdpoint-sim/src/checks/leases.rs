//! A tool starts only while the store would agree that whoever starts it holds the lease of the run or of the task, and a run
//! is taken over only when its lease has lapsed or its process is dead.

use super::{Check, Disk, Seen};

pub(super) struct Leases;

impl Check for Leases {
    fn name(&self) -> &'static str {
        "leases"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        if let Seen::TakenOver { slot, is_free: false } = seen {
            return Err(format!("log {} was taken over while its process holds a lease", slot.0));
        }
        let (Seen::ToolStarted(started) | Seen::TaskStarted(started)) = seen else { return Ok(()) };
        if started.is_leased {
            return Ok(());
        }
        Err(format!("attempt {} of {:?} started without a lease", started.attempt, started.place))
    }
}
