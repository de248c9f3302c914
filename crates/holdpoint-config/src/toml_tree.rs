//! TOML as a tree.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::node::{Key, Node, Number, Value};
use crate::{Located, Place, Problem};

pub(crate) fn parse(text: &str) -> Result<Node, Located> {
    let lines = Lines::of(text);
    match DeTable::parse(text) {
        Ok(table) => Ok(Node { place: lines.place(0), value: lines.table(table.into_inner()) }),
        Err(error) => {
            let problem = Problem::new(format_args!("is not TOML: {}", error.message().trim_end().replace('\n', ", ")));
            Err(Located { place: Some(lines.place(error.span().map_or(0, |span| span.start))), problem })
        }
    }
}

/// Where the lines of a text begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    fn place(&self, at: usize) -> Place {
        let at = self.text.floor_char_boundary(at);
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts[line - 1];
        Place { line, column: self.text[start..at].chars().count() + 1 }
    }

    fn node(&self, value: Spanned<DeValue<'_>>) -> Node {
        let place = self.place(value.span().start);
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Boolean(flag) => Value::Bool(flag),
            DeValue::Integer(number) => self.integer(number.as_str(), number.radix()),
            DeValue::Float(number) => {
                let json = number.as_str().replace('_', "").trim_start_matches('+').to_owned();
                Value::Number(Number { json, written: number.as_str().to_owned() })
            }
            DeValue::Datetime(_) => Value::Date,
            DeValue::Array(items) => Value::List(items.into_iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => self.table(table),
        };
        Node { place, value }
    }

    fn integer(&self, written: &str, radix: u32) -> Value {
        let digits = written.replace('_', "");
        let json = match i128::from_str_radix(&digits, radix) {
            Ok(number) => number.to_string(),
            // Larger than any number of TOML; it is kept as it is, and no field takes it.
            Err(_) => digits.trim_start_matches('+').to_owned(),
        };
        Value::Number(Number { json, written: written.to_owned() })
    }

    fn table(&self, table: DeTable<'_>) -> Value {
        let entry = |(key, value): (Spanned<_>, _)| {
            let at = key.span().start;
            let text: String = AsRef::<str>::as_ref(key.get_ref()).to_owned();
            (at, Key { place: self.place(at), text }, self.node(value))
        };
        let mut entries: Vec<_> = table.into_iter().map(entry).collect();
        // The parser gives them in alphabetical order.
        entries.sort_by_key(|(at, ..)| *at);
        Value::Map(entries.into_iter().map(|(_, key, value)| (key, value)).collect())
    }
}
