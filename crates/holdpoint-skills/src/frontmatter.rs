//! The head of a `SKILL.md`: YAML between two lines of `---`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use thiserror::Error;

use crate::{NameError, SkillName};

/// The largest head.
pub const FRONTMATTER_BYTES_MAX: usize = 16 * 1024;
/// The longest description.
pub const DESCRIPTION_CHARS_MAX: usize = 1024;
/// The longest note on compatibility.
pub const COMPATIBILITY_CHARS_MAX: usize = 500;

const DEPTH_MAX: usize = 8;
const NODES_MAX: usize = 1000;
const KEYS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// What the head of a skill says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frontmatter {
    pub(crate) name: SkillName,
    pub(crate) description: String,
    pub(crate) license: Option<String>,
    pub(crate) compatibility: Option<String>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) allowed_tools: Vec<String>,
}

/// What is wrong with the head of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrontmatterError {
    /// The file does not begin with `---`, or the second one is missing.
    #[error("the file does not begin with frontmatter between two lines of `---`")]
    Missing,
    /// Above [`FRONTMATTER_BYTES_MAX`].
    #[error("the frontmatter is larger than {FRONTMATTER_BYTES_MAX} bytes")]
    TooLarge,
    /// Not YAML, or not of the right types.
    #[error("line {line}: {reason}")]
    Yaml {
        /// The line of the file, from 1; 0 if it is not known.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A key that the format does not have.
    #[error("unknown key `{key}`{hint}")]
    UnknownKey {
        /// The key, cut.
        key: String,
        /// The end of the sentence: the nearest key, or all of them.
        hint: String,
    },
    /// A key that must be there.
    #[error("`{key}` is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// Not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A text that is empty or too long.
    #[error("`{key}` must have between 1 and {chars_max} characters")]
    Length {
        /// The key.
        key: &'static str,
        /// The limit.
        chars_max: usize,
    },
}

/// Takes a file apart: what its head says, and the text after it.
pub(crate) fn parse(text: &str) -> Result<(Frontmatter, &str), FrontmatterError> {
    let (head, body) = split(text)?;
    if head.len() > FRONTMATTER_BYTES_MAX {
        return Err(FrontmatterError::TooLarge);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX, max_nodes: NODES_MAX, max_documents: 1 },
        with_snippet: false,
    };
    let fields: Fields = serde_saphyr::from_str_with_options(head, options).map_err(|error| {
        // The head begins in the second line of the file.
        let line = error.location().map_or(0, |location| location.line() + 1);
        FrontmatterError::Yaml { line, reason: error.to_string() }
    })?;
    Ok((fields.check()?, body))
}

fn split(text: &str) -> Result<(&str, &str), FrontmatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n').ok_or(FrontmatterError::Missing)?;
    if first.trim_end() != "---" {
        return Err(FrontmatterError::Missing);
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((&rest[..at], rest[at + line.len()..].trim_start_matches(['\r', '\n'])));
        }
        at += line.len();
    }
    Err(FrontmatterError::Missing)
}

/// The keys as they are written, each a text or a map of texts.
#[derive(Default)]
struct Fields {
    entries: BTreeMap<String, Field>,
}

enum Field {
    Text(String),
    Map(BTreeMap<String, String>),
}

impl Fields {
    fn check(mut self) -> Result<Frontmatter, FrontmatterError> {
        if let Some(key) = self.entries.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(FrontmatterError::UnknownKey { key: cut(key), hint: hint(key) });
        }
        let metadata = match self.entries.remove("metadata") {
            None => BTreeMap::new(),
            Some(Field::Map(map)) => map,
            Some(Field::Text(_)) => return Err(wrong_type("metadata", "a map of texts")),
        };
        let name = self.text("name")?.ok_or(FrontmatterError::MissingKey { key: "name" })?;
        let name = SkillName::parse(&name)?;
        let description = self.text("description")?.ok_or(FrontmatterError::MissingKey { key: "description" })?;
        let description = within("description", description, DESCRIPTION_CHARS_MAX)?;
        let compatibility = match self.text("compatibility")? {
            Some(text) => Some(within("compatibility", text, COMPATIBILITY_CHARS_MAX)?),
            None => None,
        };
        let allowed = self.text("allowed-tools")?.unwrap_or_default();
        let allowed_tools = allowed.split_whitespace().map(str::to_owned).collect();
        Ok(Frontmatter { name, description, license: self.text("license")?, compatibility, metadata, allowed_tools })
    }

    fn text(&mut self, key: &'static str) -> Result<Option<String>, FrontmatterError> {
        match self.entries.remove(key) {
            None => Ok(None),
            Some(Field::Text(text)) => Ok(Some(text)),
            Some(Field::Map(_)) => Err(wrong_type(key, "a text")),
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys with texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::default();
                while let Some(key) = map.next_key::<String>()? {
                    // What an unknown key holds does not matter: the key is reported.
                    // Each is read as what it must be, so that `version: 1.0` is the text that stands there.
                    let field = match key.as_str() {
                        "metadata" => Field::Map(map.next_value()?),
                        known if KEYS.contains(&known) => Field::Text(map.next_value()?),
                        _ => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                            Field::Text(String::new())
                        }
                    };
                    fields.entries.insert(key, field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

fn within(key: &'static str, text: String, chars_max: usize) -> Result<String, FrontmatterError> {
    let chars = text.trim().chars().take(chars_max + 1).count();
    if chars == 0 || chars > chars_max {
        return Err(FrontmatterError::Length { key, chars_max });
    }
    Ok(text.trim().to_owned())
}

fn wrong_type(key: &str, wanted: &str) -> FrontmatterError {
    FrontmatterError::Yaml { line: 0, reason: format!("`{key}` must be {wanted}") }
}

fn hint(key: &str) -> String {
    let near = KEYS.iter().map(|known| (strsim::damerau_levenshtein(key, known), *known)).min();
    match near {
        Some((distance, known)) if distance <= known.len() / 3 => format!("; hint: did you mean `{known}`?"),
        _ => format!("; hint: known are `{}`; others go into `metadata`", KEYS.join("`, `")),
    }
}

fn cut(key: &str) -> String {
    key.chars().take(64).flat_map(char::escape_debug).collect()
}
