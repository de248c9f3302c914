//! What can be wrong with rules.

use std::fmt;
use std::io;
use std::sync::Arc;

use holdpoint_core::Code;
use thiserror::Error;

use super::{Decide, EXPIRES_IN_MS_MAX, FILE_BYTES_MAX, QUORUM_MAX, REGEX_BYTES_MAX, RULES_MAX};

/// Why rules were not loaded.
#[derive(Debug, Error)]
pub enum RulesError {
    /// The file could not be read.
    #[error("`{file}` cannot be read")]
    Read {
        /// The file.
        file: Arc<str>,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The file is too large.
    #[error("`{file}` has `{bytes}` bytes, more than `{max}`", max = FILE_BYTES_MAX)]
    TooLarge {
        /// The file.
        file: Arc<str>,
        /// Its size.
        bytes: u64,
    },
    /// It is not TOML, or a value has the wrong type.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file.
        file: Arc<str>,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A key that means nothing.
    #[error("{file}:{line}: unknown key `{key}`")]
    UnknownKey {
        /// The file.
        file: Arc<str>,
        /// The line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The known key that is nearest, if one is near.
        nearest: Option<&'static str>,
    },
    /// A mode that cannot be had.
    #[error("{file}:{line}: mode `{mode}` is not available")]
    Mode {
        /// The file.
        file: Arc<str>,
        /// The line, from 1.
        line: usize,
        /// What was asked for.
        mode: String,
    },
    /// More rules than [`RULES_MAX`].
    #[error("there are `{rules}` rules, more than `{max}`", max = RULES_MAX)]
    TooMany {
        /// How many.
        rules: usize,
    },
    /// One rule is wrong.
    #[error("{place}: {problem}")]
    Rule {
        /// Which one.
        place: RulePlace,
        /// What is wrong.
        problem: RuleProblem,
    },
}

impl RulesError {
    /// The stable code.
    pub fn code(&self) -> Code {
        Code::InvalidConfig
    }

    /// The line, from 1, if there is one.
    pub fn line(&self) -> Option<usize> {
        match self {
            RulesError::Syntax { line, .. } | RulesError::UnknownKey { line, .. } | RulesError::Mode { line, .. } => {
                Some(*line)
            }
            RulesError::Rule { place, .. } => place.line,
            RulesError::Read { .. } | RulesError::TooLarge { .. } | RulesError::TooMany { .. } => None,
        }
    }

    /// What to do next, if there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            RulesError::UnknownKey { nearest, .. } => nearest.map(|key| format!("did you mean `{key}`?")),
            RulesError::Mode { .. } => Some("the only mode for now is `enforce`".to_owned()),
            RulesError::Rule { problem, .. } => problem.hint().map(str::to_owned),
            RulesError::Read { .. }
            | RulesError::TooLarge { .. }
            | RulesError::Syntax { .. }
            | RulesError::TooMany { .. } => None,
        }
    }
}

/// Where a rule is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// The file, if they are from one.
    pub file: Option<Arc<str>>,
    /// The line, from 1, if they are from a file.
    pub line: Option<usize>,
    /// The number of the rule, from 1.
    pub rule: usize,
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, "{file}:{line}: ")?;
        }
        write!(f, "rule {}", self.rule)
    }
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RuleProblem {
    /// `tool` is not a glob.
    #[error("`{tool}` is not a glob on tool names")]
    Tool {
        /// What it is.
        tool: String,
    },
    /// It neither decides nor hides.
    #[error("it decides nothing")]
    DecidesNothing,
    /// Tools are hidden before there are arguments.
    #[error("a rule that hides cannot depend on arguments")]
    HidesWhen,
    /// A key of `when` is not a JSON pointer.
    #[error("`{pointer}` is not a JSON pointer")]
    Pointer {
        /// What it is.
        pointer: String,
    },
    /// A condition that says nothing.
    #[error("the condition at `{pointer}` has no operator")]
    NoOperator {
        /// Where.
        pointer: String,
    },
    /// A regular expression that is none or too large.
    #[error("the regular expression at `{pointer}` cannot be used: {message}")]
    Regex {
        /// Where.
        pointer: String,
        /// What is wrong.
        message: String,
    },
    /// Terms of a question on a rule that asks none.
    #[error("`{key}` is for rules that decide `confirm`")]
    TermsWithoutQuestion {
        /// Which.
        key: &'static str,
    },
    /// A quorum out of bounds.
    #[error("a quorum of `{quorum}` is not between `1` and `{max}`", max = QUORUM_MAX)]
    Quorum {
        /// Which.
        quorum: u32,
    },
    /// A duration that is none or too long.
    #[error("`{duration}` is not a duration of at most `{max}` days", max = EXPIRES_IN_MS_MAX / 86_400_000)]
    Duration {
        /// What it is.
        duration: String,
    },
    /// A duration in two spellings.
    #[error("`expires_in` and `expires_in_ms` are both there")]
    TwoDurations,
    /// An empty role.
    #[error("an approver role is empty")]
    EmptyRole,
    /// It is not clear which tool an example calls.
    #[error("example {example} does not say which tool it calls")]
    ExampleTool {
        /// Which example, from 1.
        example: usize,
    },
    /// An example calls a tool that the rule is not about.
    #[error("example {example} calls `{tool}`, which the rule is not about")]
    ExampleElsewhere {
        /// Which example, from 1.
        example: usize,
        /// The tool.
        tool: String,
    },
    /// An example does not come out as its author thought.
    #[error("example {example} decides `{found}` by {by}, not `{wanted}`", found = found.as_str(), wanted = wanted.as_str())]
    Example {
        /// Which example, from 1.
        example: usize,
        /// What its author thought.
        wanted: Decide,
        /// What the rules say.
        found: Decide,
        /// The rule that said it.
        by: Arc<str>,
    },
}

impl RuleProblem {
    fn hint(&self) -> Option<&'static str> {
        match self {
            RuleProblem::DecidesNothing => Some("add `decide = \"allow\"`, `\"deny\"` or `\"confirm\"`"),
            RuleProblem::HidesWhen => Some("make it two rules, or use `decide = \"deny\"`"),
            RuleProblem::Pointer { .. } => Some("a pointer starts with `/`, as in `/amount`"),
            RuleProblem::Duration { .. } => Some("write a whole number and `ms`, `s`, `m`, `h` or `d`, as in `4h`"),
            RuleProblem::TwoDurations => Some("keep one of them"),
            RuleProblem::ExampleTool { .. } => Some("add `tool` to the example"),
            RuleProblem::Example { .. } => Some("the first rule that matches decides: look at those before"),
            RuleProblem::Tool { .. }
            | RuleProblem::NoOperator { .. }
            | RuleProblem::Regex { .. }
            | RuleProblem::TermsWithoutQuestion { .. }
            | RuleProblem::Quorum { .. }
            | RuleProblem::EmptyRole
            | RuleProblem::ExampleElsewhere { .. } => None,
        }
    }

    /// The engine's own text without its drawing of the pattern.
    pub(super) fn regex(pointer: &str, error: &regex::Error) -> Self {
        let message = match error {
            regex::Error::CompiledTooBig(_) => format!("it is larger than `{REGEX_BYTES_MAX}` bytes when compiled"),
            other => other.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
        };
        Self::Regex { pointer: pointer.to_owned(), message }
    }
}
