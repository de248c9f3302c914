//! What went wrong, on standard error: a code to search for, a sentence to read, the cause and what to do next.

use std::error::Error;
use std::process::ExitCode;

use holdpoint_config::ConfigError;
use holdpoint_store::StoreError;

/// Bad usage, or a configuration with which nothing can begin.
pub(crate) const BAD_USAGE: u8 = 2;

/// Says why a store could not be opened. Nothing was begun.
pub(crate) fn cannot_open(error: &StoreError) -> ExitCode {
    tell(error);
    ExitCode::from(BAD_USAGE)
}

/// Says why a store failed in the middle of something.
pub(crate) fn failed(error: &StoreError) -> ExitCode {
    tell(error);
    ExitCode::FAILURE
}

/// Says that a command has nothing to do in the memory of this process.
pub(crate) fn needs_a_lasting_store() -> ExitCode {
    eprintln!("error[invalid_store_url]: the store `memory` ends with the process that has it");
    eprintln!("hint: write `sqlite:PATH` or `postgres://USER@HOST/DATABASE`");
    ExitCode::from(BAD_USAGE)
}

fn tell(error: &StoreError) {
    eprintln!("error[{}]: {error}", error.code().as_str());
    let mut cause = error.source();
    while let Some(next) = cause {
        eprintln!("cause: {next}");
        cause = next.source();
    }
    if let Some(hint) = error.hint() {
        eprintln!("hint: {hint}");
    }
}

/// Says what is wrong with a configuration. Nothing was begun.
pub(crate) fn config(error: &ConfigError) -> ExitCode {
    eprint!("{}", told_config(error));
    ExitCode::from(BAD_USAGE)
}

/// A code to search for, a sentence with its place, and what to do next.
pub(crate) fn told_config(error: &ConfigError) -> String {
    format!("error[{}]: {error}\n", error.code().as_str())
}

/// Says that something is not there, or cannot be done as it is.
pub(crate) fn failure(message: &str, hint: Option<&str>) -> ExitCode {
    eprintln!("error: {message}");
    if let Some(hint) = hint {
        eprintln!("hint: {hint}");
    }
    ExitCode::FAILURE
}

/// Says why a run could not be done what was asked.
pub(crate) fn rejected(error: &holdpoint::Error) -> ExitCode {
    eprintln!("error[{}]: {error}", error.code().as_str());
    ExitCode::FAILURE
}

/// Says why something could not begin as it was asked for.
pub(crate) fn bad_config(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<holdpoint::Error>() {
        Some(known) => eprintln!("error[{}]: {error:#}", known.code().as_str()),
        None => eprintln!("error: {error:#}"),
    }
    ExitCode::from(BAD_USAGE)
}
