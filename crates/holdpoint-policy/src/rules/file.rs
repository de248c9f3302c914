//! Rules from TOML: keys are checked with their lines before anything else is read.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::spec::OPERATORS;
use super::{FILE_BYTES_MAX, RulePlace, RuleSpec, Rules, RulesError};

const FILE_KEYS: &[&str] = &["mode", "beside", "rule"];
const RULE_KEYS: &[&str] = &[
    "tool",
    "name",
    "when",
    "decide",
    "reason",
    "approvers",
    "quorum",
    "expires_in",
    "expires_in_ms",
    "hide",
    "example",
];
const EXAMPLE_KEYS: &[&str] = &["tool", "arguments", "decides"];

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

pub(super) fn load(path: &Path) -> Result<Rules, RulesError> {
    let file: Arc<str> = path.display().to_string().into();
    let read = |cause| RulesError::Read { file: Arc::clone(&file), cause };
    let bytes = std::fs::metadata(path).map_err(read)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(RulesError::TooLarge { file, bytes });
    }
    parse(&std::fs::read_to_string(path).map_err(read)?, &file)
}

pub(super) fn parse(text: &str, file_name: &str) -> Result<Rules, RulesError> {
    let source = Source { text, file: file_name.into() };
    let syntax = |error: toml::de::Error| source.syntax(&error);
    let tree = DeTable::parse(text).map_err(syntax)?;
    let lines = source.check_keys(tree.get_ref())?;
    let spec: FileSpec = toml::from_str(text).map_err(syntax)?;
    source.check_mode(&spec)?;
    Rules::at(&spec.rule, |rule, example| {
        let lines = lines.get(rule);
        let line = lines.map(|lines| example.and_then(|number| lines.examples.get(number)).unwrap_or(&lines.rule));
        RulePlace { file: Some(Arc::clone(&source.file)), line: line.copied(), rule: rule + 1 }
    })
}

struct Source<'a> {
    text: &'a str,
    file: Arc<str>,
}

/// Where a rule and its examples are.
struct RuleLines {
    rule: usize,
    examples: Vec<usize>,
}

impl Source<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or(self.text.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn syntax(&self, error: &toml::de::Error) -> RulesError {
        let line = self.line(&error.span().unwrap_or(0..0));
        RulesError::Syntax { file: Arc::clone(&self.file), line, message: error.message().to_owned() }
    }

    fn check_mode(&self, spec: &FileSpec) -> Result<(), RulesError> {
        let unavailable = |mode: &str, span: &Range<usize>| RulesError::Mode {
            file: Arc::clone(&self.file),
            line: self.line(span),
            mode: mode.to_owned(),
        };
        match (&spec.mode, &spec.beside) {
            (Some(mode), _) if mode.get_ref() != "enforce" => Err(unavailable(mode.get_ref(), &mode.span())),
            (_, Some(beside)) => Err(unavailable("log_only", &beside.span())),
            _ => Ok(()),
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

    fn check_operators(&self, rule: &DeTable<'_>) -> Result<(), RulesError> {
        let Some(DeValue::Table(when)) = rule.get("when").map(Spanned::get_ref) else { return Ok(()) };
        for condition in when.values() {
            if let DeValue::Table(operators) = condition.get_ref() {
                self.known(operators, OPERATORS)?;
            }
        }
        Ok(())
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

/// The items of a list, or none if it is not there or no list: then reading it finds what is wrong.
fn items<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> &'t [Spanned<DeValue<'i>>] {
    match table.get(key).map(Spanned::get_ref) {
        Some(DeValue::Array(list)) => list,
        _ => &[],
    }
}
