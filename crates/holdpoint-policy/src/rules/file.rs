//! Rules from TOML: keys are checked with their lines before anything else is read.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::condition::{NESTING, OPERATORS};
use super::nearest::nearest;
use super::{FILE_BYTES_MAX, ModeProblem, RulePlace, RuleSpec, Rules, RulesError};

const FILE_KEYS: &[&str] = &["mode", "beside", "rule"];
const RULE_KEYS: &[&str] = &[
    "tool",
    "name",
    "when",
    "context",
    "history",
    "decide",
    "reason",
    "approvers",
    "quorum",
    "expires_in",
    "expires_in_ms",
    "four_eyes",
    "hide",
    "example",
];
const HISTORY_KEYS: &[&str] = &["calls", "sum"];
const EXAMPLE_KEYS: &[&str] = &["tool", "arguments", "context", "past", "decides"];

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSpec {
    #[serde(default)]
    mode: Option<Spanned<String>>,
    #[serde(default)]
    beside: Option<Spanned<String>>,
    #[serde(default)]
    rule: Vec<RuleSpec>,
}

/// A file that was read.
pub(super) struct Written {
    pub(super) rules: Rules,
    pub(super) enforced: Enforced,
    file: Arc<str>,
}

/// What is enforced where a file is used.
pub(super) enum Enforced {
    /// The file itself.
    This,
    /// Another one, by its name, while this one is tried.
    Beside {
        name: String,
        /// The line of the mode.
        line: usize,
    },
}

impl Written {
    /// The rules, if they are to be enforced.
    pub(super) fn enforced(self) -> Result<Rules, RulesError> {
        match self.enforced {
            Enforced::This => Ok(self.rules),
            Enforced::Beside { line, .. } => {
                Err(RulesError::Mode { file: self.file, line, problem: ModeProblem::EnforcesNothing })
            }
        }
    }
}

pub(super) fn load(path: &Path) -> Result<Written, RulesError> {
    let file: Arc<str> = path.display().to_string().into();
    let read = |cause| RulesError::Read { file: Arc::clone(&file), cause };
    let bytes = std::fs::metadata(path).map_err(read)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(RulesError::TooLarge { file, bytes });
    }
    parse(&std::fs::read_to_string(path).map_err(read)?, &file)
}

pub(super) fn parse(text: &str, file_name: &str) -> Result<Written, RulesError> {
    let source = Source::new(text, file_name);
    let syntax = |error: toml::de::Error| source.syntax(&error);
    let tree = DeTable::parse(text).map_err(syntax)?;
    let lines = source.check_keys(tree.get_ref())?;
    let spec: FileSpec = toml::from_str(text).map_err(syntax)?;
    let enforced = source.mode(&spec)?;
    let rules = Rules::at(&spec.rule, |rule, example| {
        let lines = lines.get(rule);
        let line = lines.map(|lines| example.and_then(|number| lines.examples.get(number)).unwrap_or(&lines.rule));
        RulePlace { file: Some(Arc::clone(&source.file)), line: line.copied(), rule: rule + 1 }
    })?;
    Ok(Written { rules, enforced, file: source.file })
}

struct Source {
    file: Arc<str>,
    /// Where each line ends.
    ends: Vec<usize>,
}

/// Where a rule and its examples are.
struct RuleLines {
    rule: usize,
    examples: Vec<usize>,
}

impl Source {
    fn new(text: &str, file_name: &str) -> Self {
        Self { file: file_name.into(), ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        self.ends.partition_point(|end| *end < span.start) + 1
    }

    fn syntax(&self, error: &toml::de::Error) -> RulesError {
        let line = self.line(&error.span().unwrap_or(0..0));
        RulesError::Syntax { file: Arc::clone(&self.file), line, message: error.message().to_owned() }
    }

    fn mode(&self, spec: &FileSpec) -> Result<Enforced, RulesError> {
        let wrong = |span: Range<usize>, problem| {
            Err(RulesError::Mode { file: Arc::clone(&self.file), line: self.line(&span), problem })
        };
        match (&spec.mode, &spec.beside) {
            (Some(mode), beside) if mode.get_ref() == "log_only" => match beside {
                Some(beside) => Ok(Enforced::Beside { name: beside.get_ref().clone(), line: self.line(&mode.span()) }),
                None => wrong(mode.span(), ModeProblem::Alone),
            },
            (Some(mode), _) if mode.get_ref() != "enforce" => {
                wrong(mode.span(), ModeProblem::Unknown { mode: mode.get_ref().clone() })
            }
            (_, Some(beside)) => wrong(beside.span(), ModeProblem::Beside),
            (_, None) => Ok(Enforced::This),
        }
    }

    fn check_keys(&self, file: &DeTable<'_>) -> Result<Vec<RuleLines>, RulesError> {
        self.known(file, FILE_KEYS)?;
        let mut lines = Vec::new();
        for rule in items(file, "rule") {
            let mut examples = Vec::new();
            if let DeValue::Table(table) = rule.get_ref() {
                self.known(table, RULE_KEYS)?;
                self.check_operators(table)?;
                for example in items(table, "example") {
                    if let DeValue::Table(table) = example.get_ref() {
                        self.known(table, EXAMPLE_KEYS)?;
                    }
                    examples.push(self.line(&example.span()));
                }
            }
            lines.push(RuleLines { rule: self.line(&rule.span()), examples });
        }
        Ok(lines)
    }

    /// The operators of every condition of a rule.
    fn check_operators(&self, rule: &DeTable<'_>) -> Result<(), RulesError> {
        let history = table(rule, "history");
        if let Some(history) = history {
            self.known(history, HISTORY_KEYS)?;
        }
        let places = [table(rule, "when"), table(rule, "context"), history.and_then(|history| table(history, "sum"))];
        for condition in places.into_iter().flatten().flat_map(DeTable::values) {
            self.check_condition(condition.get_ref())?;
        }
        history.and_then(|history| history.get("calls")).map_or(Ok(()), |calls| self.check_condition(calls.get_ref()))
    }

    fn check_condition(&self, condition: &DeValue<'_>) -> Result<(), RulesError> {
        let DeValue::Table(operators) = condition else { return Ok(()) };
        self.known(operators, OPERATORS)?;
        let nested = NESTING.iter().filter_map(|operator| operators.get(*operator));
        nested.map(Spanned::get_ref).try_for_each(|condition| self.check_condition(condition))
    }

    /// The first key in the file that is not one of these, not the first in the alphabet.
    fn known(&self, table: &DeTable<'_>, known: &[&'static str]) -> Result<(), RulesError> {
        let unknown = table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        Err(RulesError::UnknownKey {
            file: Arc::clone(&self.file),
            line: self.line(&key.span()),
            key: key.get_ref().to_string(),
            nearest: nearest(key.get_ref(), known),
        })
    }
}

/// The table of this name, or none if it is not there or no table: then reading it finds what is wrong.
fn table<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t DeTable<'i>> {
    match table.get(key).map(Spanned::get_ref) {
        Some(DeValue::Table(inner)) => Some(inner),
        _ => None,
    }
}

/// The items of a list, or none if it is not there or no list: then reading it finds what is wrong.
fn items<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> &'t [Spanned<DeValue<'i>>] {
    match table.get(key).map(Spanned::get_ref) {
        Some(DeValue::Array(list)) => list,
        _ => &[],
    }
}
