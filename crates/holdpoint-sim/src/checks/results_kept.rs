//! A result that was acknowledged is in the log, as the result of its call or as evidence.

use std::collections::BTreeSet;

use super::{Check, Disk, Seen};
use crate::disk::Slot;
use crate::tools;
use holdpoint_core::Event;

#[derive(Default)]
pub(super) struct ResultsKept {
    acknowledged: BTreeSet<(Slot, u64)>,
    kept: BTreeSet<(Slot, u64)>,
}

impl Check for ResultsKept {
    fn name(&self) -> &'static str {
        "results_kept"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        match seen {
            Seen::Acknowledged { slot, serial } => {
                self.acknowledged.insert((*slot, *serial));
            }
            Seen::Logged { slot, event, .. } => {
                let result = match event {
                    Event::ToolEnded { settlement, .. } => &settlement.result,
                    Event::EvidenceGiven { result, .. } => result,
                    _ => return Ok(()),
                };
                self.kept.extend(tools::serial_of(result).map(|serial| (*slot, serial)));
            }
            Seen::Quiet => {
                if let Some((slot, serial)) = self.acknowledged.difference(&self.kept).next() {
                    return Err(format!("result {serial} of log {} was acknowledged and is nowhere", slot.0));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
