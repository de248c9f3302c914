//! How calls are to be executed, in words.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use holdpoint_core::{Code, ExecutorChoice};
use thiserror::Error;

/// A way to execute calls, by name: `inline` (`sequential`), `concurrent` (`async`), `threads`, `defer_all`, or a custom
/// executor's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolConcurrency {
    /// One after another.
    Inline,
    /// Beside each other, as tasks.
    Concurrent,
    /// Beside each other, on threads.
    Threads,
    /// Not here.
    DeferAll,
    /// An executor that was registered under this name.
    Custom(Arc<str>),
}

impl ToolConcurrency {
    /// The name of its executor.
    pub fn name(&self) -> &str {
        match self {
            ToolConcurrency::Inline => "inline",
            ToolConcurrency::Concurrent => "concurrent",
            ToolConcurrency::Threads => "threads",
            ToolConcurrency::DeferAll => "defer_all",
            ToolConcurrency::Custom(name) => name,
        }
    }

    /// Changes a choice to this way and this limit; `None` is no limit.
    pub fn apply(&self, choice: &mut ExecutorChoice, max_concurrency: Option<u32>) -> Result<(), ChoiceError> {
        let changed = ExecutorChoice { name: self.name().into(), max_concurrency, ..choice.clone() };
        check_limit(&changed)?;
        *choice = changed;
        Ok(())
    }
}

impl From<&str> for ToolConcurrency {
    fn from(name: &str) -> Self {
        match name {
            "inline" | "sequential" => ToolConcurrency::Inline,
            "concurrent" | "async" => ToolConcurrency::Concurrent,
            "threads" => ToolConcurrency::Threads,
            "defer_all" => ToolConcurrency::DeferAll,
            other => ToolConcurrency::Custom(other.into()),
        }
    }
}

impl FromStr for ToolConcurrency {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(name.into())
    }
}

impl fmt::Display for ToolConcurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a choice cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// No executor has this name.
    #[error("there is no executor `{name}`, hint: known are {}", listed(known))]
    UnknownExecutor {
        /// The name.
        name: Arc<str>,
        /// The names that are known, sorted.
        known: Vec<Arc<str>>,
    },
    /// Nothing could ever run.
    #[error("`max_concurrency` is 0, hint: it must be at least 1")]
    NoConcurrency,
    /// Threads without a limit.
    #[error("`max_concurrency` is `none` with the executor `threads`, hint: only `concurrent` may be without a limit")]
    UnlimitedThreads,
    /// A route that is not a glob.
    #[error("the route `{pattern}` is not a glob")]
    BadPattern {
        /// The pattern.
        pattern: Arc<str>,
    },
    /// A name that stands for one of the built-in executors, or for nothing.
    #[error("an executor cannot be registered as `{name}`")]
    ReservedName {
        /// The name.
        name: Arc<str>,
    },
}

impl ChoiceError {
    /// Its stable code.
    pub fn code(&self) -> Code {
        match self {
            ChoiceError::UnknownExecutor { .. } => Code::UnknownExecutor,
            ChoiceError::NoConcurrency
            | ChoiceError::UnlimitedThreads
            | ChoiceError::BadPattern { .. }
            | ChoiceError::ReservedName { .. } => Code::InvalidConfig,
        }
    }
}

/// The limit must make sense for every executor that the choice names.
pub(super) fn check_limit(choice: &ExecutorChoice) -> Result<(), ChoiceError> {
    match choice.max_concurrency {
        Some(0) => Err(ChoiceError::NoConcurrency),
        Some(_) => Ok(()),
        None if names(choice).any(|name| ToolConcurrency::from(name) == ToolConcurrency::Threads) => {
            Err(ChoiceError::UnlimitedThreads)
        }
        None => Ok(()),
    }
}

fn names(choice: &ExecutorChoice) -> impl Iterator<Item = &str> {
    std::iter::once(&*choice.name).chain(choice.routes.iter().map(|route| &*route.executor))
}

fn listed(names: &[Arc<str>]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
