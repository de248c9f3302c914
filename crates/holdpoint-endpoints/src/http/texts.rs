//! What the model is told when a service gave no good answer. None of it comes from the service.

use holdpoint_core::Repeat;
use reqwest::StatusCode;

use super::exchange::{Failure, Fault};
use super::network::Refused;

/// Says what happened, and whether it may have taken effect.
pub(super) fn of_failure(failure: Failure, repeat: Repeat) -> String {
    let text = match failure.fault {
        Fault::Refused(Refused::Private | Refused::Never) => "The address of this tool may not be reached.",
        Fault::Refused(Refused::Nothing) | Fault::Unreachable => "The service cannot be reached.",
        Fault::Broken => "The connection to the service broke.",
        Fault::Unpackable => "The service gave an answer that cannot be unpacked.",
        Fault::BadRedirect => "The service points to another address that may not be followed.",
        Fault::TooManyRedirects => "The service points from one address to another too often.",
        Fault::NoClient => "The tool is not set up.",
    };
    format!("{text}{}", if failure.was_sent { effect(repeat) } else { "" })
}

/// A service that succeeded, with an answer that nobody can use.
pub(super) fn unusable(status: StatusCode, problem: &str, repeat: Repeat) -> String {
    format!("The service answered with status {}, but {problem}.{}", status.as_u16(), effect(repeat))
}

pub(super) fn of_status(status: StatusCode) -> String {
    let status = status.as_u16();
    match status {
        404 => "The service answered with status 404: there is no such thing.".to_owned(),
        401 | 403 => format!("The service answered with status {status}: it is not permitted."),
        409 => "The service answered with status 409: it conflicts with something.".to_owned(),
        429 => "The service answered with status 429: it was asked too often.".to_owned(),
        500.. => format!("The service answered with status {status}: it failed."),
        _ => format!("The service answered with status {status}."),
    }
}

pub(super) fn too_slow(repeat: Repeat) -> String {
    format!("The service did not answer in time.{}", effect(repeat))
}

fn effect(repeat: Repeat) -> &'static str {
    if repeat.may_repeat() { "" } else { " It may have taken effect." }
}
