//! A question holds its turn as the run is set: nothing runs, or nothing that people were asked about.

use super::{Check, Disk, Seen};
use holdpoint_core::Event;

pub(super) struct Siblings;

impl Check for Siblings {
    fn name(&self) -> &'static str {
        "siblings"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        let Seen::Logged { event, history, .. } = seen else { return Ok(()) };
        let (Event::ToolStarted { call, .. } | Event::CallDeferred { call, .. }) = event else { return Ok(()) };
        let Some(open) = history.calls.iter().find(|call| call.question.is_some()) else { return Ok(()) };
        let was_asked = history.calls.get(call.as_usize()).is_some_and(|call| call.was_asked);
        if history.holds_siblings || was_asked {
            return Err(format!("call {call} went on while `{}` waits for an answer", open.id));
        }
        Ok(())
    }
}
