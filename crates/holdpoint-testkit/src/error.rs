//! Why a file is not a scenario.

use std::fmt;

/// Why a file is not a scenario: what is wrong, where, and under which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 when the file as a whole is meant.
    pub line: u64,
    /// The path of keys that leads there, such as `steps[2].answer`; empty for the whole file.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// A [`ScenarioError`] whose file is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) line: u64,
    pub(crate) key: String,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(line: u64, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { line, key: key.into(), message: message.into() }
    }

    pub(crate) fn in_file(self, file: &str) -> ScenarioError {
        ScenarioError { file: file.to_owned(), line: self.line, key: self.key, message: self.message }
    }
}
