//! Canonical JSON: RFC 8785, except that an integer that a double cannot hold stays as written.
//!
//! A parser of our own, because `serde_json` keeps neither the text of a large integer nor a repeated key, and both
//! decide what a person approves.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use serde_json::Value;

pub(crate) mod number;

#[cfg(test)]
mod tests;

/// How deep arrays and objects may be nested. `serde_json` reads 127 levels, and payloads wrap values in a few of them.
pub(crate) const DEPTH_MAX: usize = 100;
/// How deep a whole payload may be nested.
const PAYLOAD_DEPTH_MAX: usize = 127;

/// Why a text has no canonical form.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonProblem {
    /// Not JSON.
    #[error("it is not JSON")]
    Malformed,
    /// Nested deeper than is accepted.
    #[error("it is nested too deeply")]
    TooDeep,
    /// A key that occurs twice in one object.
    #[error("the key `{key}` occurs twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
}

impl std::fmt::Debug for JsonProblem {
    /// Without the key: it came from a payload.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            JsonProblem::Malformed => "Malformed",
            JsonProblem::TooDeep => "TooDeep",
            JsonProblem::DuplicateKey { .. } => "DuplicateKey",
        })
    }
}

/// The canonical form of a JSON text.
///
/// # Errors
/// When the text is not JSON, nested too deeply, or repeats a key within an object.
pub fn canonical_json(text: &str) -> Result<String, JsonProblem> {
    canonical_without(text, None)
}

/// The canonical form of a value.
pub fn canonical_value(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// The canonical form of a JSON text, without one member of the outermost object.
pub(crate) fn canonical_without(text: &str, left_out: Option<&str>) -> Result<String, JsonProblem> {
    let depth_max = if left_out.is_some() { PAYLOAD_DEPTH_MAX } else { DEPTH_MAX };
    let mut reader = Reader { text, at: 0, out: String::with_capacity(text.len()), left_out, depth_max };
    reader.space();
    reader.value(0)?;
    reader.space();
    if reader.at == text.len() { Ok(reader.out) } else { Err(JsonProblem::Malformed) }
}

/// The order of keys: by UTF-16 code units.
pub(crate) fn key_order(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        return one.cmp(other);
    }
    one.encode_utf16().cmp(other.encode_utf16())
}

/// Writes a string with the fewest escapes.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            0x09 => "\\t",
            0x0a => "\\n",
            0x0c => "\\f",
            0x0d => "\\r",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[start..at]);
        start = at + 1;
        if short.is_empty() {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\u00");
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[start..]);
    out.push('"');
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        // A number that a value holds is finite, so it always has a canonical form.
        Value::Number(number) => {
            let text = number.to_string();
            out.push_str(&number::canonical(&text).unwrap_or(Cow::Borrowed(&text)));
        }
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| key_order(one, other));
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write_value(out, member);
            }
            out.push('}');
        }
    }
}

/// Reads a text and writes its canonical form as it goes: members are put in order once their object ends.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    out: String,
    left_out: Option<&'a str>,
    depth_max: usize,
}

/// A member that was written: its key, and where it stands in the output.
type Member<'a> = (Cow<'a, str>, Range<usize>);

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonProblem> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(JsonProblem::Malformed)
    }

    fn value(&mut self, depth: usize) -> Result<(), JsonProblem> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                write_string(&mut self.out, &text);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(_) | None => Err(JsonProblem::Malformed),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), JsonProblem> {
        if !self.text[self.at..].starts_with(word) {
            return Err(JsonProblem::Malformed);
        }
        self.at += word.len();
        self.out.push_str(word);
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonProblem> {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|b| !matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
        let literal = &rest[..end.unwrap_or(rest.len())];
        self.at += literal.len();
        self.out.push_str(&number::canonical(literal).ok_or(JsonProblem::Malformed)?);
        Ok(())
    }

    /// Reads a string and decodes its escapes.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonProblem> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    // Whatever is escaped, a quote included, does not end the string.
                    self.at += 2;
                }
                Some(0x00..=0x1f) | None => return Err(JsonProblem::Malformed),
                Some(_) => self.at += 1,
            }
        }
        let end = self.at;
        self.at += 1;
        if !escaped {
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        let quoted = &self.text[start - 1..=end];
        serde_json::from_str::<String>(quoted).map(Cow::Owned).map_err(|_| JsonProblem::Malformed)
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonProblem> {
        if depth == self.depth_max {
            return Err(JsonProblem::TooDeep);
        }
        self.expect(b'[')?;
        self.out.push('[');
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            self.out.push(']');
            return Ok(());
        }
        loop {
            self.space();
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => self.out.push(','),
                Some(b']') => break,
                Some(_) | None => return Err(JsonProblem::Malformed),
            }
            self.at += 1;
        }
        self.at += 1;
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonProblem> {
        if depth == self.depth_max {
            return Err(JsonProblem::TooDeep);
        }
        self.expect(b'{')?;
        self.out.push('{');
        let start = self.out.len();
        let mut members: Vec<Member<'a>> = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.out.push('}');
            return Ok(());
        }
        loop {
            self.space();
            self.member(depth, &mut members)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                Some(_) | None => return Err(JsonProblem::Malformed),
            }
        }
        self.at += 1;
        self.put_in_order(start, members)?;
        self.out.push('}');
        Ok(())
    }

    fn member(&mut self, depth: usize, members: &mut Vec<Member<'a>>) -> Result<(), JsonProblem> {
        let before = self.out.len();
        if !members.is_empty() {
            self.out.push(',');
        }
        let from = self.out.len();
        let key = self.string()?;
        write_string(&mut self.out, &key);
        self.out.push(':');
        self.space();
        self.expect(b':')?;
        self.space();
        self.value(depth + 1)?;
        if depth == 0 && self.left_out == Some(&key) {
            self.out.truncate(before);
        } else {
            members.push((key, from..self.out.len()));
        }
        Ok(())
    }

    /// Members mostly come in order; otherwise what was written is put in order.
    fn put_in_order(&mut self, start: usize, mut members: Vec<Member<'a>>) -> Result<(), JsonProblem> {
        if members.is_sorted_by(|(one, _), (other, _)| key_order(one, other) == Ordering::Less) {
            return Ok(());
        }
        members.sort_by(|(one, _), (other, _)| key_order(one, other));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(JsonProblem::DuplicateKey { key: pair[0].0.to_string() });
        }
        let written = self.out.split_off(start);
        for (index, (_, range)) in members.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.out.push_str(&written[range.start - start..range.end - start]);
        }
        Ok(())
    }
}
