//! A call that may not be repeated starts twice only when a person said, of the doubt, that it may.

use std::collections::HashMap;

use super::{Check, Disk, Seen};
use crate::storage::Place;
use crate::tools;
use holdpoint_core::{Event, Repeat, Turn};

#[derive(Default)]
pub(super) struct RepeatNever {
    /// How often a person said of a call that it may run again.
    allowed: HashMap<Place, u32>,
    started: HashMap<Place, u32>,
}

impl Check for RepeatNever {
    fn name(&self) -> &'static str {
        "repeat_never"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        match seen {
            Seen::Logged {
                slot,
                event: Event::ToolStarted { call, attempt, .. } | Event::CallDeferred { call, attempt, .. },
                history,
                ..
            } => {
                let Some(known) = history.calls.get(call.as_usize()) else { return Ok(()) };
                let never = known.tool.as_ref().and_then(tools::repeat_of) == Some(Repeat::Never);
                if known.may_repeat {
                    let place = Place { slot: *slot, turn: Turn(history.turn), call: *call };
                    *self.allowed.entry(place).or_default() += 1;
                } else if never && attempt.0 > 1 && !known.is_handed_back {
                    return Err(format!("attempt {attempt} of call {call} without a person's word"));
                }
                Ok(())
            }
            Seen::ToolStarted(started) | Seen::TaskStarted(started) => {
                let never = started.tool.as_ref().and_then(tools::repeat_of) == Some(Repeat::Never);
                let count = self.started.entry(started.place).or_default();
                *count += 1;
                let allowed = self.allowed.get(&started.place).copied().unwrap_or(0);
                if never && *count > 1 + allowed {
                    return Err(format!(
                        "call {} started {count} times, {allowed} repeats were allowed",
                        started.place.call
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
