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
    /// The mode of a file is wrong, or wrong here.
    #[error("{file}:{line}: {problem}")]
    Mode {
        /// The file.
        file: Arc<str>,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: ModeProblem,
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
            RulesError::Mode { problem, .. } => Some(problem.hint().to_owned()),
            RulesError::Rule { problem, .. } => problem.hint(),
            RulesError::Read { .. }
            | RulesError::TooLarge { .. }
            | RulesError::Syntax { .. }
            | RulesError::TooMany { .. } => None,
        }
    }
}

/// What is wrong with `mode` and `beside`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModeProblem {
    /// There is no such mode.
    #[error("there is no mode `{mode}`")]
    Unknown {
        /// What was asked for.
        mode: String,
    },
    /// A policy that enforces nothing stands alone.
    #[error("`log_only` enforces nothing by itself")]
    Alone,
    /// `beside` without `log_only`.
    #[error("`beside` is for the mode `log_only`")]
    Beside,
    /// Something must be enforced here.
    #[error("a policy with the mode `log_only` enforces nothing")]
    EnforcesNothing,
}

impl ModeProblem {
    fn hint(&self) -> &'static str {
        match self {
            ModeProblem::Unknown { .. } => "the modes are `enforce` and `log_only`",
            ModeProblem::Alone => "name the policy that is enforced meanwhile, as in `beside = \"policy.toml\"`",
            ModeProblem::Beside => "remove it, or set `mode = \"log_only\"`",
            ModeProblem::EnforcesNothing => "load it as a `RulesFile`, or set `mode = \"enforce\"`",
        }
    }
}

/// A rule that never decides, because an earlier one decides all that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: it never decides, because {by} comes first and is about all of it")]
pub struct RuleWarning {
    /// The rule.
    pub place: RulePlace,
    /// What the audit calls it.
    pub name: Arc<str>,
    /// The earlier rule.
    pub by: RulePlace,
    /// What the audit calls the earlier one.
    pub by_name: Arc<str>,
}

impl RuleWarning {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        "move it before the other one, or remove it"
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
    #[error("a rule that hides cannot depend on arguments or history")]
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
    /// A condition that no value can meet.
    #[error("the condition at `{at}` can never hold: {why}")]
    Impossible {
        /// Where.
        at: String,
        /// Why not.
        why: String,
    },
    /// Two conditions on one place, spelt in two ways.
    #[error("`{at}` has a condition already")]
    SameSubject {
        /// Where.
        at: String,
    },
    /// An operator with nothing to look for.
    #[error("`{operator}` at `{at}` looks for an empty text")]
    EmptyOperand {
        /// Where.
        at: String,
        /// Which operator.
        operator: &'static str,
    },
    /// A folder that is none.
    #[error("`{path}` at `{at}` is not the absolute path of a folder")]
    Path {
        /// Where.
        at: String,
        /// What it is.
        path: String,
    },
    /// A host that is none.
    #[error("`{host}` at `{at}` is not a host")]
    Host {
        /// Where.
        at: String,
        /// What it is.
        host: String,
    },
    /// The same tools under the same conditions as an earlier rule.
    #[error("it asks the same as {earlier}")]
    Duplicate {
        /// The earlier rule.
        earlier: RulePlace,
    },
    /// No registered tool has such a name.
    #[error("`{tool}` matches no registered tool")]
    UnknownTool {
        /// The glob.
        tool: String,
        /// The registered name that is nearest, if one is near.
        nearest: Option<String>,
    },
    /// An attribute that is not kept with the run: after a resume nobody knows it.
    #[error("the context attribute `{key}` is not in `context_keys`")]
    ContextKey {
        /// The attribute.
        key: String,
        /// The listed key that is nearest, if one is near.
        nearest: Option<String>,
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
    /// An example that is no call.
    #[error("example {example} cannot be a call: {why}")]
    ExampleUnreadable {
        /// Which example, from 1.
        example: usize,
        /// Why not.
        why: String,
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
    fn hint(&self) -> Option<String> {
        let plain = match self {
            RuleProblem::UnknownTool { nearest: Some(near), .. }
            | RuleProblem::ContextKey { nearest: Some(near), .. } => {
                return Some(format!("did you mean `{near}`?"));
            }
            RuleProblem::DecidesNothing => "add `decide = \"allow\"`, `\"deny\"` or `\"confirm\"`",
            RuleProblem::HidesWhen => "make it two rules, or use `decide = \"deny\"`",
            RuleProblem::Pointer { .. } => "a pointer starts with `/`, as in `/amount`",
            RuleProblem::Impossible { .. } => "a rule that never matches guards nothing: correct or remove it",
            RuleProblem::SameSubject { .. } => "put both into one condition",
            RuleProblem::EmptyOperand { .. } => "use `present = true` for any value",
            RuleProblem::Path { .. } => "a folder starts with `/` and has no `..`, as in `/srv/data`",
            RuleProblem::Host { .. } => "write `example.com` or `*.example.com`, without scheme, port and path",
            RuleProblem::Duplicate { .. } => "the first rule that matches decides: remove one of the two",
            RuleProblem::UnknownTool { nearest: None, .. } => "register the tool or remove the rule",
            RuleProblem::ContextKey { nearest: None, .. } => "add it to `context_keys`",
            RuleProblem::Duration { .. } => "write a whole number and `ms`, `s`, `m`, `h` or `d`, as in `4h`",
            RuleProblem::TwoDurations => "keep one of them",
            RuleProblem::TermsWithoutQuestion { .. } => "set `decide = \"confirm\"`, or remove it",
            RuleProblem::ExampleTool { .. } => "add `tool` to the example",
            RuleProblem::Example { .. } => "the first rule that matches decides: look at those before",
            RuleProblem::Tool { .. }
            | RuleProblem::NoOperator { .. }
            | RuleProblem::Regex { .. }
            | RuleProblem::Quorum { .. }
            | RuleProblem::EmptyRole
            | RuleProblem::ExampleElsewhere { .. }
            | RuleProblem::ExampleUnreadable { .. } => return None,
        };
        Some(plain.to_owned())
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
