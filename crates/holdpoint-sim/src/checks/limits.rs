//! A run keeps to its limits: turns one by one and not too many, calls per turn, one request for a final answer.

use std::collections::HashSet;

use super::{Check, Disk, Seen};
use crate::disk::Slot;
use holdpoint_core::{Event, ParallelToolCalls};

#[derive(Default)]
pub(super) struct Limits {
    asked_for_final: HashSet<Slot>,
}

impl Check for Limits {
    fn name(&self) -> &'static str {
        "limits"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        let Seen::Logged { slot, event, history, .. } = seen else { return Ok(()) };
        let Some(settings) = &history.settings else { return Ok(()) };
        match event {
            Event::TurnStarted { turn } if turn.0 != history.turn + 1 || turn.0 > settings.max_turns => {
                Err(format!("turn {turn} after {}, {} are allowed", history.turn, settings.max_turns))
            }
            Event::MessageCompleted(completed) => {
                let limit = match settings.parallel_tool_calls {
                    ParallelToolCalls::Allowed => settings.max_tool_calls_per_turn,
                    ParallelToolCalls::One => settings.max_tool_calls_per_turn.min(1),
                };
                let count = completed.calls.len();
                if count <= limit as usize { Ok(()) } else { Err(format!("{count} calls, {limit} are allowed")) }
            }
            Event::FinalAnswerAsked if !self.asked_for_final.insert(*slot) => {
                Err("a final answer was asked for twice".to_owned())
            }
            _ => Ok(()),
        }
    }
}
