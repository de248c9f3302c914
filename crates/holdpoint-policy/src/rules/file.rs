//! Rules from TOML: keys are checked with their lines before anything else is read.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::grammar::{self, KeyAt, Outline, UnknownKey, check_rule_keys};
use super::{FILE_BYTES_MAX, ModeProblem, RulePlace, RuleSpec, Rules, RulesError};

const FILE_KEYS: &[&str] = &["mode", "beside", "rule"];

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
        let unknown = |UnknownKey { key, line, nearest, .. }| RulesError::UnknownKey {
            file: Arc::clone(&self.file),
            line,
            key,
            nearest,
        };
        let within = |value| Within { source: self, value };
        grammar::known(within(Part::Table(file)), FILE_KEYS).map_err(unknown)?;
        let mut lines = Vec::new();
        for rule in items(file, "rule") {
            check_rule_keys(within(Part::Value(rule.get_ref()))).map_err(unknown)?;
            let examples = match rule.get_ref() {
                DeValue::Table(table) => items(table, "example"),
                _ => &[],
            };
            let examples = examples.iter().map(|example| self.line(&example.span())).collect();
            lines.push(RuleLines { rule: self.line(&rule.span()), examples });
        }
        Ok(lines)
    }
}

/// A part of a file whose lines are known.
#[derive(Clone, Copy)]
struct Within<'s> {
    source: &'s Source,
    value: Part<'s>,
}

#[derive(Clone, Copy)]
enum Part<'s> {
    Table(&'s DeTable<'s>),
    Value(&'s DeValue<'s>),
}

impl<'s> Outline<'s> for Within<'s> {
    fn entries(self) -> Vec<(KeyAt<'s>, Self)> {
        let table = match self.value {
            Part::Table(table) | Part::Value(DeValue::Table(table)) => table,
            Part::Value(_) => return Vec::new(),
        };
        // The parser gives them in the order of the alphabet.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&'s Spanned<_>, &'s Spanned<DeValue<'s>>)| {
            let at = KeyAt { text: AsRef::<str>::as_ref(key.get_ref()), line: self.source.line(&key.span()) };
            (at, Self { value: Part::Value(value.get_ref()), ..self })
        };
        entries.into_iter().map(entry).collect()
    }

    fn items(self) -> Vec<Self> {
        match self.value {
            Part::Value(DeValue::Array(list)) => {
                list.iter().map(|item| Self { value: Part::Value(item.get_ref()), ..self }).collect()
            }
            Part::Table(_) | Part::Value(_) => Vec::new(),
        }
    }
}

/// The items of a list, or none if it is not there or no list: then reading it finds what is wrong.
fn items<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> &'t [Spanned<DeValue<'i>>] {
    match table.get(key).map(Spanned::get_ref) {
        Some(DeValue::Array(list)) => list,
        _ => &[],
    }
}
