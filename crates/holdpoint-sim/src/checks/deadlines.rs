//! What is answered after its deadline is expired, and nothing expires before.

use super::{Check, Disk, Seen};
use crate::history::CallHistory;
use holdpoint_core::Event;

pub(super) struct Deadlines;

impl Check for Deadlines {
    fn name(&self) -> &'static str {
        "deadlines"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        let Seen::Logged { at, event, history, .. } = seen else { return Ok(()) };
        let deadline = |call: usize| history.calls.get(call)?.question.as_ref()?.deadline;
        match event {
            Event::CallAnswered(answered) => match deadline(answered.call.as_usize()) {
                Some(deadline) if deadline <= *at => {
                    Err(format!("an answer at {at:?} counts, the deadline was {deadline:?}"))
                }
                _ => Ok(()),
            },
            Event::CallExpired { call } => {
                let known = history.calls.get(call.as_usize());
                match known.and_then(CallHistory::deadline) {
                    Some(_) => Ok(()),
                    None => Err(format!("call {call} expired without a deadline")),
                }
            }
            _ => Ok(()),
        }
    }
}
