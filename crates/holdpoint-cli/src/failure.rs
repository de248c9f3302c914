//! Why a command stopped: a code to search for, a sentence to read, the causes and what to do next.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use holdpoint_config::ConfigError;
use holdpoint_store::StoreError;

/// The exit code of bad usage, and of a configuration or a store with which nothing can begin.
pub(crate) const BAD_USAGE: u8 = 2;

pub(crate) type Outcome<T = ExitCode> = Result<T, Failure>;

/// Why a command stopped. `main` prints it to standard error and exits with its code.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: ExitCode,
    code: Option<String>,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    /// The command failed: exit code 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { exit: ExitCode::FAILURE, code: None, message: message.into(), causes: Vec::new(), hint: None }
    }

    /// The command could not begin: exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(message).before_start()
    }

    /// The same before anything was begun: exit code 2.
    pub(crate) fn before_start(mut self) -> Self {
        self.exit = ExitCode::from(BAD_USAGE);
        self
    }

    pub(crate) fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it; gives back the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        eprint!("{self}");
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.as_ref().map(|code| format!("[{code}]")).unwrap_or_default();
        writeln!(f, "error{code}: {}", self.message)?;
        self.causes.iter().try_for_each(|cause| writeln!(f, "cause: {cause}"))?;
        self.hint.iter().try_for_each(|hint| writeln!(f, "hint: {hint}"))
    }
}

/// An output that ended too early.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(format!("the output failed: {}", error.kind()))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let causes = causes.map(ToString::to_string).collect();
        let hint = error.hint().map(Into::into);
        Self { causes, hint, ..Self::new(error.to_string()).code(error.code().as_str()) }
    }
}

impl From<holdpoint::Error> for Failure {
    fn from(error: holdpoint::Error) -> Self {
        match error {
            holdpoint::Error::Store(error) => error.into(),
            error => Self::new(error.to_string()).code(error.code().as_str()),
        }
    }
}

impl From<&ConfigError> for Failure {
    fn from(error: &ConfigError) -> Self {
        Self::usage(error.to_string()).code(error.code().as_str())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::from(&error)
    }
}
