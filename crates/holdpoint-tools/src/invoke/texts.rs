//! What the model is told when a tool gave no result.

use std::time::Duration;

use holdpoint_core::{Repeat, ToolName};

use crate::ToolFault;

/// Says that it failed, and nothing that the tool said.
pub(super) fn safe(name: &ToolName, fault: ToolFault) -> String {
    match fault {
        ToolFault::Failed | ToolFault::Cancelled => format!("The tool `{name}` failed."),
        ToolFault::InvalidArguments => format!("The tool `{name}` cannot use these arguments."),
        ToolFault::Unusable => format!("The tool `{name}` gave a result that cannot be used."),
        ToolFault::Panicked => format!("The tool `{name}` broke down."),
        ToolFault::NeedsInput => format!("The tool `{name}` asks a person before it goes on, and nobody can be asked."),
        ToolFault::Unknown => format!("It is not known what became of the call of the tool `{name}`."),
        ToolFault::Saturated => format!("The tool `{name}` was not started: too many tools hang."),
        ToolFault::NotStarted => {
            format!("The tool `{name}` was not started: this process does not hold its call any more.")
        }
        ToolFault::NoRuntime => format!("The tool `{name}` was not started: there is no async runtime with a timer."),
    }
}

/// Names the limit, and whether it may have taken effect.
pub(super) fn timed_out(name: &ToolName, limit: Duration, repeat: Repeat) -> String {
    format!("The tool `{name}` did not finish within its limit of {}.{}", amount(limit), effect(repeat))
}

pub(super) fn cancelled(name: &ToolName, repeat: Repeat) -> String {
    format!("The run was cancelled while the tool `{name}` was running.{}", effect(repeat))
}

fn effect(repeat: Repeat) -> &'static str {
    if repeat.may_repeat() { "" } else { " It may have taken effect." }
}

fn amount(limit: Duration) -> String {
    match limit.as_millis() {
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms => format!("{ms} ms"),
    }
}
