//! I4: nothing runs without a recorded yes for exactly those arguments: policy's, or enough people's.

use super::{Check, Disk, History, Seen};
use holdpoint_core::{CallAnswered, CallIndex, Event};

pub(super) struct Permission;

impl Check for Permission {
    fn name(&self) -> &'static str {
        "i4_permission"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        if let Seen::Logged { event, history, .. } = seen {
            return match event {
                Event::CallAnswered(answered) => judge_answer(answered, history),
                // Handing a call out is letting it run: nobody asks again outside.
                Event::CallDeferred { call, .. } | Event::ToolStarted { call, .. } => judge_intent(*call, history),
                _ => Ok(()),
            };
        }
        let (Seen::ToolStarted(started) | Seen::TaskStarted(started)) = seen else { return Ok(()) };
        let history = &disk.log(started.slot).history;
        if history.turn != started.turn.0 {
            return Ok(());
        }
        let Some(call) = history.calls.get(started.call.as_usize()) else { return Ok(()) };
        match started.digest {
            Some(digest) if call.permitted.contains(&digest) => Ok(()),
            Some(digest) => Err(format!("call {} ran with {digest}, which nobody allowed", started.call)),
            None => Err(format!("call {} ran with arguments that nobody understood", started.call)),
        }
    }
}

/// An answer is bound to what was shown.
fn judge_answer(answered: &CallAnswered, history: &History) -> Result<(), String> {
    let Some(call) = history.calls.get(answered.call.as_usize()) else {
        return Err(format!("call {} was answered, and there is none", answered.call));
    };
    match (answered.digest, call.digest) {
        (Some(shown), Some(digest)) if shown != digest => {
            Err(format!("call {} would run with {digest}, {shown} was shown", answered.call))
        }
        _ if call.question.is_none() => Err(format!("call {} was answered, and nobody asked", answered.call)),
        _ => Ok(()),
    }
}

fn judge_intent(call: CallIndex, history: &History) -> Result<(), String> {
    let known = history.calls.get(call.as_usize());
    if known.is_some_and(|known| known.digest.is_some_and(|digest| known.permitted.contains(&digest))) {
        return Ok(());
    }
    Err(format!("call {call} is to run, and nobody allowed it"))
}
