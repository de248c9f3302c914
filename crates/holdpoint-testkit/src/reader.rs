//! Reads typed values out of a tree and says where and under which key one does not fit.

use crate::error::Problem;
use crate::yaml::{Key, Node, NodeValue};

pub(crate) type Read<T> = Result<T, Problem>;

/// A node and the path of keys that leads to it.
#[derive(Clone, Debug)]
pub(crate) struct At<'n> {
    pub(crate) node: &'n Node,
    pub(crate) path: String,
}

impl<'n> At<'n> {
    pub(crate) fn root(node: &'n Node) -> Self {
        Self { node, path: String::new() }
    }

    pub(crate) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.node.line, self.path.clone(), message)
    }

    fn expected<T>(&self, what: &str) -> Read<T> {
        Err(self.problem(format!("expected {what}, found {}", self.node.kind())))
    }

    fn inside(&self, key: &str, node: &'n Node) -> At<'n> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        At { node, path }
    }

    /// A text. A plain number or boolean is taken as it is written, as YAML users are used to.
    pub(crate) fn text(&self) -> Read<String> {
        match &self.node.value {
            NodeValue::Text(text) | NodeValue::Number(text) => Ok(text.clone()),
            NodeValue::Bool(flag) => Ok(flag.to_string()),
            NodeValue::Null | NodeValue::List(_) | NodeValue::Map(_) => self.expected("a text"),
        }
    }

    pub(crate) fn text_or_nothing(&self) -> Read<Option<String>> {
        match &self.node.value {
            NodeValue::Null => Ok(None),
            _ => self.text().map(Some),
        }
    }

    pub(crate) fn flag(&self) -> Read<bool> {
        match &self.node.value {
            NodeValue::Bool(flag) => Ok(*flag),
            _ => self.expected("`true` or `false`"),
        }
    }

    pub(crate) fn whole(&self) -> Read<u64> {
        match &self.node.value {
            NodeValue::Number(text) => match text.parse() {
                Ok(number) => Ok(number),
                Err(_) => Err(self.problem(format!("expected a whole number from 0, found `{text}`"))),
            },
            _ => self.expected("a whole number"),
        }
    }

    /// A whole number of either sign, for whoever says better what is wrong with a negative one.
    pub(crate) fn signed(&self) -> Read<i64> {
        match &self.node.value {
            NodeValue::Number(text) => {
                text.parse().map_err(|_| self.problem(format!("expected a whole number, found `{text}`")))
            }
            _ => self.expected("a whole number"),
        }
    }

    pub(crate) fn whole_u32(&self) -> Read<u32> {
        let number = self.whole()?;
        u32::try_from(number).map_err(|_| self.problem(format!("`{number}` is above {}", u32::MAX)))
    }

    pub(crate) fn list(&self) -> Read<Vec<At<'n>>> {
        match &self.node.value {
            NodeValue::List(items) => {
                let at = |(index, node)| At { node, path: format!("{}[{index}]", self.path) };
                Ok(items.iter().enumerate().map(at).collect())
            }
            _ => self.expected("a list"),
        }
    }

    pub(crate) fn texts(&self) -> Read<Vec<String>> {
        self.list()?.iter().map(At::text).collect()
    }

    /// The entries of a map whose keys are free.
    pub(crate) fn entries(&self) -> Read<Vec<(&'n Key, At<'n>)>> {
        match &self.node.value {
            NodeValue::Map(entries) => {
                Ok(entries.iter().map(|(key, node)| (key, self.inside(&key.text, node))).collect())
            }
            _ => self.expected("a map"),
        }
    }

    /// The entries of a map whose keys are fixed.
    pub(crate) fn fields(&self) -> Read<Fields<'n>> {
        let entries = self.entries()?;
        Ok(Fields { at: self.clone(), entries, known: Vec::new() })
    }

    /// The same, where nothing at all stands for an empty map.
    pub(crate) fn fields_or_nothing(&self) -> Read<Fields<'n>> {
        match self.node.value {
            NodeValue::Null => Ok(Fields { at: self.clone(), entries: Vec::new(), known: Vec::new() }),
            _ => self.fields(),
        }
    }

    /// One word out of a list of words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Read<T> {
        let text = self.text()?;
        let known = words.iter().find(|(word, _)| *word == text);
        known.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.problem(format!("expected one of {}, found `{text}`", names.join(", ")))
        })
    }
}

/// The entries of a map with fixed keys. What was not taken at the end is unknown.
pub(crate) struct Fields<'n> {
    at: At<'n>,
    entries: Vec<(&'n Key, At<'n>)>,
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    pub(crate) fn take(&mut self, key: &'static str) -> Option<At<'n>> {
        self.known.push(key);
        let position = self.entries.iter().position(|(found, _)| found.text == key)?;
        Some(self.entries.swap_remove(position).1)
    }

    pub(crate) fn optional<T>(&mut self, key: &'static str, read: impl FnOnce(&At<'n>) -> Read<T>) -> Read<Option<T>> {
        self.take(key).map(|at| read(&at)).transpose()
    }

    pub(crate) fn required<T>(&mut self, key: &'static str, read: impl FnOnce(&At<'n>) -> Read<T>) -> Read<T> {
        match self.take(key) {
            Some(at) => read(&at),
            None => Err(self.missing(key)),
        }
    }

    /// A key that is missing may only be misspelt.
    fn missing(&self, key: &'static str) -> Problem {
        let misspelt = self.entries.iter().find(|(found, _)| nearest(&found.text, &[key]).is_some());
        match misspelt {
            Some((found, at)) => {
                let message = format!("unknown key `{}`; hint: did you mean `{key}`?", found.text);
                Problem::new(found.line, at.path.clone(), message)
            }
            None => self.at.problem(format!("`{key}` is missing")),
        }
    }

    /// Every key must have been taken.
    pub(crate) fn finish(self) -> Read<()> {
        let Some((key, at)) = self.entries.iter().min_by_key(|(key, _)| key.line) else { return Ok(()) };
        let mut message = format!("unknown key `{}`", key.text);
        if let Some(near) = nearest(&key.text, &self.known) {
            message.push_str(&format!("; hint: did you mean `{near}`?"));
        }
        Err(Problem::new(key.line, at.path.clone(), message))
    }
}

/// The known key that differs in the fewest letters, unless all are far.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let best = known.iter().map(|known| (distance(key, known), *known)).min()?;
    (best.0 <= 1 + key.chars().count() / 3).then_some(best.1)
}

fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = corner + usize::from(a != *b);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}
