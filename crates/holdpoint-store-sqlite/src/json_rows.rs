//! Many rows as two values: numbers as JSON, bytes and texts in one long value beside it.
//!
//! A statement that reads its rows with `json_each` has the same text for one row and for a thousand, so it is prepared
//! once. Texts are no JSON strings: nothing has to be escaped, and every byte comes through.

use std::fmt::Write;

use holdpoint_store::Agents;
use holdpoint_store::rows::{distinct, signed};

/// Rows for a statement: `$1` is the JSON and `$2` the bytes.
pub(crate) struct JsonRows {
    json: String,
    bytes: Vec<u8>,
    count: usize,
}

/// Rows as the two values that a statement binds.
#[derive(Clone)]
pub(crate) struct Values {
    pub(crate) json: String,
    pub(crate) bytes: Vec<u8>,
}

/// A row that is being written. A number takes one place of it, a text or bytes take two: where they start, and how many.
pub(crate) struct JsonRow<'a> {
    rows: &'a mut JsonRows,
    is_first: bool,
}

impl Values {
    pub(crate) fn of_agents(agents: &Agents) -> Self {
        JsonRows::of_texts(distinct(agents)).into_values()
    }
}

impl Default for JsonRows {
    fn default() -> Self {
        // SQLite takes an empty value for NULL when it cuts a piece out of it: this one never is.
        Self { json: "[".to_owned(), bytes: vec![0], count: 0 }
    }
}

impl JsonRows {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn row(&mut self) -> JsonRow<'_> {
        self.json.push_str(if self.count == 0 { "[" } else { ",[" });
        self.count += 1;
        JsonRow { rows: self, is_first: true }
    }

    /// One row per text.
    pub(crate) fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut rows = Self::default();
        texts.into_iter().for_each(|text| rows.row().text(text).end());
        rows
    }

    /// The values to bind.
    pub(crate) fn into_values(mut self) -> Values {
        self.json.push(']');
        Values { json: self.json, bytes: self.bytes }
    }
}

impl JsonRow<'_> {
    pub(crate) fn int(self, number: impl TryInto<i64>) -> Self {
        self.put(Some(signed(number)))
    }

    pub(crate) fn int_or_null(self, number: Option<i64>) -> Self {
        self.put(number)
    }

    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        self.bytes_or_null(Some(bytes))
    }

    pub(crate) fn bytes_or_null(self, bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else { return self.put(None).put(None) };
        // Counted from 1.
        let start = self.rows.bytes.len() + 1;
        self.rows.bytes.extend_from_slice(bytes);
        self.int(start).int(bytes.len())
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn text_or_null(self, text: Option<&str>) -> Self {
        self.bytes_or_null(text.map(str::as_bytes))
    }

    pub(crate) fn end(self) {
        self.rows.json.push(']');
    }

    fn put(mut self, number: Option<i64>) -> Self {
        if !std::mem::take(&mut self.is_first) {
            self.rows.json.push(',');
        }
        match number {
            // Writing to a string cannot fail.
            Some(number) => _ = write!(self.rows.json, "{number}"),
            None => self.rows.json.push_str("null"),
        }
        self
    }
}
