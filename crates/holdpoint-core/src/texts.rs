//! What the model is told when a call was not executed.

/// A policy said no.
pub fn denied_text(reason: Option<&str>) -> String {
    format!("Denied: {}. Do not repeat this call.", sentence(reason, "the policy does not allow it"))
}

/// A policy that had said yes said no when the call was about to run.
pub fn revoked_text(reason: Option<&str>) -> String {
    let reason = sentence(reason, "the policy does not allow it any more");
    format!("Denied: {reason}. The permission was withdrawn before the call ran. Do not repeat this call.")
}

/// A person said no.
pub fn refused_text(reason: Option<&str>) -> String {
    format!("Refused by a person: {}.", sentence(reason, "no reason was given"))
}

/// A person gave up a call whose outcome is unknown.
pub(crate) fn given_up_text(reason: Option<&str>) -> String {
    let reason = sentence(reason, "no reason was given");
    format!("It is not known whether this call took effect, and a person decided not to run it again: {reason}.")
}

/// Nobody answered in time.
pub fn expired_text() -> String {
    "The request for approval expired before anyone answered it. The call was not executed.".to_owned()
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
