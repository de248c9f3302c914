//! Once faults stop, people answer and workers deliver, every run comes to its end.

use super::{Check, Disk, Seen};
use crate::history::Standing;

pub(super) struct EveryRunEnds;

impl Check for EveryRunEnds {
    fn name(&self) -> &'static str {
        "every_run_ends"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Quiet => {
                let open = disk.slots().find(|slot| disk.log(*slot).history.standing != Standing::Ended);
                match open {
                    Some(slot) => {
                        let standing = disk.log(slot).history.standing;
                        Err(format!("log {} is still {standing:?} after everything went quiet", slot.0))
                    }
                    None => Ok(()),
                }
            }
            Seen::Stuck { slot } => Err(format!("a process of log {} waits, and nothing can wake it", slot.0)),
            _ => Ok(()),
        }
    }
}
