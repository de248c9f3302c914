//! What the model is told when a call was not executed, and people when nobody knows whether it was.

use crate::DoubtCause;

/// A policy said no.
pub(crate) fn denied_text(reason: Option<&str>) -> String {
    format!("Denied: {}. Do not repeat this call.", sentence(reason, "the policy does not allow it"))
}

/// A policy that had said yes said no when the call was about to run.
pub(crate) fn revoked_text(reason: Option<&str>) -> String {
    let reason = sentence(reason, "the policy does not allow it any more");
    format!("Denied: {reason}. The permission was withdrawn before the call ran. Do not repeat this call.")
}

/// A person said no.
pub(crate) fn refused_text(reason: Option<&str>) -> String {
    format!("Refused by a person: {}.", sentence(reason, "no reason was given"))
}

/// A person gave up a call whose outcome is unknown.
pub(crate) fn given_up_text(reason: Option<&str>) -> String {
    let reason = sentence(reason, "no reason was given");
    format!("It is not known whether this call took effect, and a person decided not to run it again: {reason}.")
}

/// A person did not answer what a tool asked before it went on.
pub(crate) fn declined_text(reason: Option<&str>) -> String {
    let reason = sentence(reason, "no reason was given");
    format!("The tool asked a person before it went on, and they did not answer: {reason}. It may have taken effect.")
}

/// Why a person is asked about a call that was started and has no result.
pub(crate) fn doubt_reason(cause: DoubtCause, may_run: bool) -> String {
    let reason = match cause {
        DoubtCause::Crashed => "it is not known whether this call took effect",
        DoubtCause::LeaseLapsed => {
            "the worker that had it stopped answering: it is not known whether this call took effect"
        }
        DoubtCause::WorkerFailed => {
            "the worker that had it failed after it had started: it is not known whether this call took effect"
        }
        DoubtCause::OutOfAttempts => "it was tried as often as it may be and has no result: it may have taken effect",
        DoubtCause::NeedsInput => "the tool asks a person before it goes on",
    };
    let running = if may_run { "; its program may still be running" } else { "" };
    format!("{reason}{running}")
}

/// Why a person is asked again about a call that was approved.
pub(crate) fn changed_reason() -> &'static str {
    "the tool has changed since this call was approved"
}

/// Nobody answered in time.
pub(crate) fn expired_text() -> String {
    "The request for approval expired before anyone answered it. The call was not executed.".to_owned()
}

/// Nobody did in time what was handed out.
pub(crate) fn undone_text() -> String {
    "Nobody did this call in time. It was not executed.".to_owned()
}

/// A worker began what was handed out, did not end it in time, and nobody did it again.
pub(crate) fn unfinished_text() -> String {
    "Nobody finished this call in time. It may have taken effect.".to_owned()
}

/// The run was cancelled.
pub(crate) fn cancelled_text() -> String {
    "The run was cancelled.".to_owned()
}

/// A reason as part of a sentence, whether or not its author ended it with a full stop.
fn sentence<'a>(reason: Option<&'a str>, otherwise: &'a str) -> &'a str {
    let reason = reason.unwrap_or(otherwise).trim_end();
    reason.strip_suffix('.').unwrap_or(reason)
}
