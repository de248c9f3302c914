//! Why a table cannot be a tool.

use holdpoint_core::Code;
use thiserror::Error;

/// What is wrong with the table of a tool. It never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("tool `{tool}`: `{key}` {problem}")]
pub struct SpecError {
    /// The name of the tool.
    pub tool: String,
    /// The key.
    pub key: &'static str,
    /// What is wrong with it, to be read after the key.
    pub problem: String,
}

impl SpecError {
    pub(crate) fn new(tool: &str, key: &'static str, problem: impl Into<String>) -> Self {
        Self { tool: tool.to_owned(), key, problem: problem.into() }
    }

    /// Its stable code.
    pub fn code(&self) -> Code {
        Code::InvalidConfig
    }
}
