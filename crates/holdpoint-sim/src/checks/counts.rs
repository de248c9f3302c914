//! Usage, model calls and tool executions of a run are what happened in the world, and no reply counts twice.

use std::collections::HashSet;

use super::{Check, Disk, Seen};
use crate::disk::Slot;
use crate::script;
use holdpoint_core::Event;

#[derive(Default)]
pub(super) struct Counts {
    replies: HashSet<(Slot, u64)>,
}

impl Check for Counts {
    fn name(&self) -> &'static str {
        "counts"
    }

    fn see(&mut self, seen: &Seen<'_>, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Logged { slot, event: Event::MessageCompleted(completed), .. } => {
                // The scripted model takes as many microseconds as the number of its call.
                let serial = completed.latency_us;
                if completed.usage != script::usage(serial) {
                    return Err(format!("reply {serial} cost {:?}", completed.usage));
                }
                if self.replies.insert((*slot, serial)) { Ok(()) } else { Err(format!("reply {serial} came twice")) }
            }
            Seen::Committed { slot, run, .. } => {
                let log = disk.log(*slot);
                let history = &log.history;
                let wanted = (history.usage, history.model_calls, history.tool_executions);
                // What its process reports, and what the log amounts to.
                let counted = [*run, log.run()].map(|run| (run.usage(), run.model_calls(), run.tool_executions()));
                match counted.into_iter().find(|counted| *counted != wanted) {
                    Some(counted) => Err(format!("counted {counted:?}, there were {wanted:?}")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
