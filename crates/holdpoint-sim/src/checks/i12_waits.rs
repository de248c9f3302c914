//! I12: every wait has somebody or a timer behind it, and a run that goes on knows what it needs next.

use super::{Check, Disk, Seen};
use crate::history::{CallHistory, Standing};
use holdpoint_core::{Effect, PauseReason, Phase};

pub(super) struct Waits;

impl Check for Waits {
    fn name(&self) -> &'static str {
        "i12_waits"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Committed { slot, .. } => {
                let history = &disk.log(*slot).history;
                if history.standing != Standing::Paused {
                    return Ok(());
                }
                let asked = history.calls.iter().any(|call| call.question.is_some());
                let handed_out = history.calls.iter().any(|call| call.is_deferred);
                match history.pause {
                    Some(PauseReason::AwaitingToolConfirmation) if asked => {}
                    Some(PauseReason::AwaitingToolResults) if handed_out && !asked => {}
                    other => return Err(format!("{other:?}, but questions: {asked}, calls outside: {handed_out}")),
                }
                let first = history.calls.iter().filter_map(CallHistory::deadline).min();
                let timer = disk.log(*slot).run().owed().into_iter().find_map(|effect| match effect {
                    Effect::SetTimer { at } => Some(at),
                    _ => None,
                });
                if timer == first {
                    Ok(())
                } else {
                    Err(format!("a question or a task ends at {first:?}, the timer is {timer:?}"))
                }
            }
            Seen::Rested { run, owed } => match run.phase() {
                Phase::Between => Err("the run is between two turns and nothing follows".to_owned()),
                Phase::Working(_) if owed.is_empty() && run.tally().running == 0 => {
                    Err("the run goes on and needs nothing".to_owned())
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
