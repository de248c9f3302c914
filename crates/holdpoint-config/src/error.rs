//! Problems with their file and place.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::Code;

use crate::Problem;

/// Why a document cannot be used: one problem or several, each with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: Option<Arc<str>>,
    problems: Vec<Located>,
}

/// A place in a file, both from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A problem and its place in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// `None` when the file cannot be read at all, or the value comes from no file.
    pub place: Option<Place>,
    /// What is wrong.
    pub problem: Problem,
}

impl ConfigError {
    /// Problems of values that come from no file.
    pub fn without_file(problems: impl IntoIterator<Item = Problem>) -> Self {
        let located = |problem| Located { place: None, problem };
        Self { file: None, problems: problems.into_iter().map(located).collect() }
    }

    /// A problem with a file as a whole.
    pub fn of_file(file: &str, text: impl fmt::Display) -> Self {
        Self::located(file.into(), vec![Located { place: None, problem: Problem::new(text) }])
    }

    pub(crate) fn located(file: Arc<str>, problems: Vec<Located>) -> Self {
        Self { file: Some(file), problems }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        Code::InvalidConfig
    }

    /// The file, as it was named.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The problems, in the order in which they were found. There is at least one.
    pub fn problems(&self) -> &[Located] {
        &self.problems
    }

    /// The place of the first problem.
    pub fn place(&self) -> Option<Place> {
        self.problems.first()?.place
    }

    /// The first problem.
    pub fn problem(&self) -> Option<&Problem> {
        Some(&self.problems.first()?.problem)
    }

    /// What to do about the first problem.
    pub fn hint(&self) -> Option<&str> {
        self.problem()?.hint()
    }

    /// One problem without its hint: file, line, column, sentence.
    pub fn line(&self, located: &Located) -> String {
        let mut line = String::new();
        if let Some(file) = &self.file {
            line.push_str(file);
            if let Some(Place { line: row, column }) = located.place {
                line.push_str(&format!(":{row}:{column}"));
            }
            line.push_str(": ");
        }
        // A problem that names no key is one of the file.
        if located.problem.path().is_empty() {
            line.push_str("the file ");
        }
        line + &located.problem.sentence()
    }
}

/// Each problem on a line of its own, followed by its hint.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, located) in self.problems.iter().enumerate() {
            let newline = if position == 0 { "" } else { "\n" };
            write!(f, "{newline}{}", self.line(located))?;
            if let Some(hint) = located.problem.hint() {
                write!(f, "\nhint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
