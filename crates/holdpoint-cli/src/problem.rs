//! Prints failures, for commands that return exit codes.

use std::process::ExitCode;

use holdpoint_config::ConfigError;
use holdpoint_store::StoreError;

pub(crate) use crate::failure::BAD_USAGE;
use crate::failure::Failure;

pub(crate) fn cannot_open(error: StoreError) -> ExitCode {
    Failure::from(error).before_start().tell()
}

pub(crate) fn config(error: &ConfigError) -> ExitCode {
    Failure::from(error).tell()
}

pub(crate) fn told_config(error: &ConfigError) -> String {
    Failure::from(error).to_string()
}

pub(crate) fn failure(message: &str, hint: Option<&str>) -> ExitCode {
    let failure = Failure::new(message);
    match hint {
        Some(hint) => failure.hint(hint).tell(),
        None => failure.tell(),
    }
}
