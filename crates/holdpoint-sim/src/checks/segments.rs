//! `done` comes exactly once per segment and is its last event.

use std::collections::HashMap;

use super::{Check, Disk, Seen};
use crate::disk::Slot;
use crate::history::Standing;
use holdpoint_core::Event;

#[derive(Default)]
pub(super) struct Segments {
    /// Whether a segment goes on, per log.
    open: HashMap<Slot, bool>,
}

impl Check for Segments {
    fn name(&self) -> &'static str {
        "segments"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Logged { slot, event, history, .. } => {
                let open = self.open.entry(*slot).or_default();
                match (event, *open) {
                    (
                        Event::RunStarted(_) | Event::Resumed { .. } | Event::Retried { .. } | Event::Cancelled { .. },
                        false,
                    ) => {
                        *open = true;
                        Ok(())
                    }
                    // Who cancels a failed run records what workers brought first.
                    (Event::TaskTaken { .. }, false) if history.standing == Standing::Failed => {
                        *open = true;
                        Ok(())
                    }
                    (Event::RunStarted(_) | Event::Resumed { .. } | Event::Retried { .. }, true) => {
                        Err(format!("`{}` within a segment", event.name()))
                    }
                    (Event::Done { .. }, true) => {
                        *open = false;
                        Ok(())
                    }
                    // Time, imports, grants that are taken back and what comes too late do not need a segment.
                    (
                        Event::CallExpired { .. }
                        | Event::Imported(_)
                        | Event::EvidenceGiven { .. }
                        | Event::GrantRevoked { .. },
                        false,
                    )
                    | (_, true) => Ok(()),
                    (_, false) => Err(format!("`{}` outside a segment", event.name())),
                }
            }
            Seen::Committed { slot, .. } => {
                let moving = disk.log(*slot).history.standing == Standing::Moving;
                if moving == self.open.get(slot).copied().unwrap_or(false) {
                    return Ok(());
                }
                Err(format!("the run is {:?}, and its last segment did not end so", disk.log(*slot).history.standing))
            }
            _ => Ok(()),
        }
    }
}
