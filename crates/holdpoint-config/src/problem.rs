//! What is wrong with a value of a document.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;

use holdpoint_core::Code;
use serde::de::{self, Expected, Unexpected};

use crate::key_path::{KeyPath, Step};
use crate::{printable, suggestion};

/// What is wrong with a value, and the keys that lead to it. Its text continues a sentence that begins with the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    path: KeyPath,
    pub(crate) spot: Spot,
    text: String,
    hint: Option<String>,
}

/// What the place of a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    Value,
    /// The key itself is wrong.
    Key,
}

impl Problem {
    /// A problem with the document as a whole, or with a value whose key the caller adds ([`Problem::below`]).
    pub fn new(text: impl Display) -> Self {
        let text = text.to_string();
        // A message that carries its hint on a line of its own is taken apart.
        let (text, hint) = match text.split_once("\nhint: ") {
            Some((text, hint)) => (text.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        Self { path: KeyPath::default(), spot: Spot::Value, text, hint }
    }

    /// A problem with the value of a key, which need not exist.
    pub fn at(path: impl Into<KeyPath>, text: impl Display) -> Self {
        Self::new(text).below(path)
    }

    /// A problem with the key itself, such as a name that cannot be used.
    pub fn at_key(path: impl Into<KeyPath>, text: impl Display) -> Self {
        Self { spot: Spot::Key, ..Self::at(path, text) }
    }

    /// A key that is not known.
    pub(crate) fn unknown_key<'k>(key: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        Self { spot: Spot::Key, ..Self::new("is an unknown key").with_hint(suggestion(key, known)) }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same problem, seen from a table or list further out.
    #[must_use]
    pub fn below(mut self, outer: impl Into<KeyPath>) -> Self {
        self.path = outer.into().join(self.path);
        self
    }

    /// The same problem with the key itself, which is not known.
    pub(crate) fn about_key(self) -> Self {
        Self { spot: Spot::Key, text: "is an unknown key".to_owned(), ..self }
    }

    pub(crate) fn below_step(mut self, step: Step) -> Self {
        self.path.prepend(step);
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        Code::InvalidConfig
    }

    /// The keys that lead to the value.
    pub fn path(&self) -> &KeyPath {
        &self.path
    }

    /// The sentence without the hint.
    pub fn sentence(&self) -> String {
        if self.path.is_empty() { self.text.clone() } else { format!("`{}` {}", self.path, self.text) }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// The sentence, and the hint on a line of its own.
impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for Problem {}

/// Checks a number that may be absent.
pub fn within<T: PartialOrd + Display>(
    key: &str,
    value: impl Into<Option<T>>,
    bounds: RangeInclusive<T>,
) -> Result<(), Problem> {
    match value.into() {
        Some(value) if !bounds.contains(&value) => {
            let (min, max) = (bounds.start(), bounds.end());
            Err(Problem::at(key, format_args!("is {value}, and must be between {min} and {max}")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Messages of `serde`, without the strings that they would quote.
impl de::Error for Problem {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message)
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format_args!("must be {}, but is {}", wanted(expected), kind(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match found {
            Unexpected::Unsigned(number) => Self::new(format_args!("is {number}, which is too large")),
            Unexpected::Signed(number) => Self::new(format_args!("is {number}, and must not be negative")),
            found => Self::new(format_args!("is {} that cannot be used as {}", kind(found), wanted(expected))),
        }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let problem = Self::new(format_args!("cannot be `{}`", printable::excerpt(variant)));
        problem.with_hint(suggestion(variant, expected.iter().copied()))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown_key(field, expected.iter().copied())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format_args!("needs `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format_args!("has `{field}` twice"))
    }
}

/// What a type expects, in the words of a document.
fn wanted(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "a boolean" => "`true` or `false`".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a sequence" => "a list".to_owned(),
        "path string" => "a path".to_owned(),
        "a map" | "newtype variant" | "struct variant" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other if other.starts_with("enum ") => "a string".to_owned(),
        other => other.to_owned(),
    }
}

fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a number",
        Unexpected::Float(_) => "a decimal number",
        Unexpected::Char(_) | Unexpected::Str(_) | Unexpected::UnitVariant => "a string",
        Unexpected::Bytes(_) => "bytes",
        Unexpected::Unit | Unexpected::Option => "empty",
        Unexpected::Seq | Unexpected::TupleVariant => "a list",
        Unexpected::Map | Unexpected::NewtypeStruct | Unexpected::StructVariant | Unexpected::NewtypeVariant => {
            "a table"
        }
        Unexpected::Other(text) if text.starts_with("integer") => "too large",
        Unexpected::Enum | Unexpected::Other(_) => "something else",
    }
}
