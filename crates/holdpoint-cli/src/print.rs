//! Output for people and programs: data on standard output, progress on standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use holdpoint_config::printable;
use serde::Serialize;
use serde_json::Value;

/// Writes a text to standard output. A reader may stop reading; the exit code still counts.
pub(crate) fn text(text: impl Display) {
    let _ = write!(io::stdout(), "{text}");
}

/// As [`text`], with a line break.
pub(crate) fn line(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Writes one line of JSON to standard output.
pub(crate) fn json(value: &impl Serialize) {
    text(to_json(value));
}

/// The JSON of a value as a line. Numbers keep their digits.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// Writes one JSON object per item, or a table with a heading and a field of the JSON per column.
pub(crate) fn list<T: Serialize>(items: &[T], columns: &[(&str, &str)], as_json: bool) {
    if as_json {
        items.iter().for_each(json);
    } else if !items.is_empty() {
        let row = |item: &T| {
            let fields = Fields::of(item);
            columns.iter().map(|(_, key)| fields.text(key)).collect()
        };
        let headings = columns.iter().map(|(heading, _)| (*heading).to_owned()).collect();
        text(aligned(&std::iter::once(headings).chain(items.iter().map(row)).collect::<Vec<_>>()));
    }
}

fn aligned(rows: &[Vec<String>]) -> String {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{:width$}", or_dash(cell)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn or_dash(cell: &str) -> &str {
    if cell.is_empty() { "-" } else { cell }
}

/// The fields of something that has a JSON form, as people are shown them.
pub(crate) struct Fields(Value);

impl Fields {
    pub(crate) fn of(item: &impl Serialize) -> Self {
        Self(serde_json::to_value(item).unwrap_or_default())
    }

    /// A text, the id of an object, or a list of texts, in one printable line; nothing if there is no such field.
    pub(crate) fn text(&self, key: &str) -> String {
        let text = match &self.0[key] {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            Value::Object(object) => object.get("id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            value => value.as_str().unwrap_or_default().to_owned(),
        };
        printable::line(&text)
    }
}

/// Lines with a name and a value each. Empty values are left out.
#[derive(Default)]
pub(crate) struct Details(pub(crate) String);

impl Details {
    pub(crate) fn line(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.0.push_str(&format!("{name:9} {}\n", printable::line(value)));
        }
    }

    /// A line for each of these names and fields.
    pub(crate) fn fields(&mut self, fields: &Fields, named: &[(&str, &str)]) {
        named.iter().for_each(|(name, key)| self.line(name, &fields.text(key)));
    }
}

/// As in `1 run` or `2 runs`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A line on standard error that changes while a command works, if standard error is a terminal.
pub(crate) struct Progress {
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    pub(crate) fn show(&self, line: impl Display) {
        if self.shown {
            let _ = write!(io::stderr(), "\r{line}\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show("");
    }
}
