//! Every call that the model asked for is settled once its turn is over, whatever was decided and whoever died.

use super::{Check, Disk, Seen};
use crate::history::History;
use holdpoint_core::{Event, StopReason};

pub(super) struct NothingLost;

impl Check for NothingLost {
    fn name(&self) -> &'static str {
        "nothing_lost"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        let Seen::Logged { event, history, .. } = seen else { return Ok(()) };
        let is_over = History::ends_turn(event)
            || match event {
                Event::TurnStarted { .. } => true,
                Event::Done { stop } => !matches!(
                    stop,
                    StopReason::AwaitingToolConfirmation | StopReason::AwaitingToolResults | StopReason::Failed(_)
                ),
                _ => false,
            };
        match history.calls.iter().find(|call| is_over && call.settled.is_none()) {
            Some(call) => Err(format!("`{}` with call `{}` open", event.name(), call.id)),
            None => Ok(()),
        }
    }
}
