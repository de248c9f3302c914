//! I13: of any number of resumes of one continuation at most one succeeds.

use std::collections::HashSet;

use super::{Check, Disk, Seen};
use crate::disk::Slot;
use holdpoint_core::{ContinuationId, Event, PauseNumber};

#[derive(Default)]
pub(super) struct Once {
    named: HashSet<(Slot, ContinuationId)>,
    resumed: HashSet<(Slot, PauseNumber)>,
}

impl Check for Once {
    fn name(&self) -> &'static str {
        "i13_once"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        match seen {
            Seen::Logged { slot, event: Event::Resumed { pause, .. }, .. } => {
                if self.resumed.insert((*slot, *pause)) {
                    return Ok(());
                }
                Err(format!("pause {pause} was left twice"))
            }
            Seen::Committed { slot, commit, .. } => {
                match commit.used.iter().find(|used| !self.named.insert((*slot, (*used).clone()))) {
                    Some(again) => Err(format!("continuation `{again}` worked twice")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
