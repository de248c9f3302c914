//! I7: a result is accepted for the current attempt only, and only from the process that holds the run.

use std::collections::HashMap;

use super::{Check, Disk, Seen};
use crate::storage::{Place, PlacedAttempt};
use crate::tools;
use holdpoint_core::{Attempt, Event, Settlement, Source, Turn};

#[derive(Default)]
pub(super) struct CurrentAttempt {
    made: HashMap<u64, PlacedAttempt>,
}

impl Check for CurrentAttempt {
    fn name(&self) -> &'static str {
        "i7_current_attempt"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        match seen {
            Seen::ResultMade { serial, by } => {
                self.made.insert(*serial, *by);
                Ok(())
            }
            Seen::Logged { slot, event: Event::ToolEnded { call, settlement }, history, .. } => {
                let known = history.calls.get(call.as_usize());
                if known.is_none_or(|known| known.question.is_some()) {
                    return Err(format!("a result for call {call}, which waits for an answer or does not exist"));
                }
                if settlement.source == Some(Source::External) && !known.is_some_and(|known| known.is_deferred) {
                    return Err(format!("a result from outside for call {call}, which is not there"));
                }
                let current = history.calls.get(call.as_usize()).map_or(0, |call| call.attempts);
                let by_tool = settlement.source == Some(Source::Tool) || known.is_some_and(|known| known.is_taken);
                if !by_tool {
                    return Ok(());
                }
                let place = Place { slot: *slot, turn: Turn(history.turn), call: *call };
                self.judge(settlement, PlacedAttempt { place, attempt: Attempt(current) })
            }
            Seen::Committed { commit, .. } if commit.based_on != commit.found => {
                Err(format!("a commit on {} was merged into a log at {}", commit.based_on, commit.found))
            }
            _ => Ok(()),
        }
    }
}

impl CurrentAttempt {
    fn judge(&self, settlement: &Settlement, current: PlacedAttempt) -> Result<(), String> {
        let serial = tools::serial_of(&settlement.result);
        match serial.and_then(|serial| self.made.get(&serial)) {
            Some(by) if *by == current => Ok(()),
            Some(by) => Err(format!("the result of {by:?} was accepted for {current:?}")),
            None => Err(format!("a result that no tool made was accepted for {current:?}")),
        }
    }
}
