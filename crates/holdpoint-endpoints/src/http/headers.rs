//! Headers, some of them secret.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

use crate::spec::NearestKeys;
use crate::{SpecError, Surroundings};

/// The most headers of one tool.
const HEADERS_MAX: usize = 32;
/// The longest value.
const VALUE_BYTES_MAX: usize = 8 * 1024;
/// What is decided elsewhere.
const OURS: [&str; 12] = [
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "accept-encoding",
    "idempotency-key",
    "proxy-authorization",
];
/// What holds a secret by its nature.
const SECRET: [&str; 5] = ["authorization", "cookie", "x-api-key", "api-key", "x-auth-token"];

/// The value of a header: a text, or a secret from a variable or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderSpec {
    /// As it is written.
    Text(String),
    /// `{ env = "NAME" }` or `{ file = "PATH" }`, with `prefix` before it.
    Secret(SecretSpec),
}

/// Where a secret comes from. The secret itself is not in here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct SecretSpec {
    /// A variable of the environment.
    pub env: Option<String>,
    /// A file, relative to the configuration.
    pub file: Option<PathBuf>,
    /// What comes before it, such as `Bearer `.
    pub prefix: String,
}

/// Headers that are ready to be sent. Secret ones are marked, so that they are neither shown nor sent elsewhere.
pub(super) fn build(
    tool: &str,
    specs: &BTreeMap<String, HeaderSpec>,
    surroundings: &Surroundings,
) -> Result<HeaderMap, SpecError> {
    let wrong = |problem: String| SpecError::new(tool, "headers", problem);
    if specs.len() > HEADERS_MAX {
        return Err(wrong(format!("are more than {HEADERS_MAX}")));
    }
    let mut headers = HeaderMap::new();
    for (name, spec) in specs {
        let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
        let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong(format!("has the bad name `{shown}`")))?;
        if OURS.contains(&header.as_str()) {
            return Err(wrong(format!("has `{header}`, which is set by Holdpoint")));
        }
        let value = match spec {
            HeaderSpec::Text(_) if SECRET.contains(&header.as_str()) => {
                let hint = "hint: `{ env = \"NAME\", prefix = \"Bearer \" }`";
                return Err(wrong(format!("has `{header}` as a text; secrets come from variables or files; {hint}")));
            }
            HeaderSpec::Text(text) => text.clone(),
            HeaderSpec::Secret(secret) => {
                secret.read(surroundings).map_err(|why| wrong(format!("has `{header}`, which {why}")))?
            }
        };
        // The value is not in the message: it may be the secret.
        let problem = || wrong(format!("has a value for `{header}` that no header can have"));
        let mut value = HeaderValue::try_from(value).map_err(|_| problem())?;
        if value.len() > VALUE_BYTES_MAX {
            return Err(problem());
        }
        value.set_sensitive(matches!(spec, HeaderSpec::Secret(_)));
        headers.insert(header, value);
    }
    Ok(headers)
}

impl SecretSpec {
    fn read(&self, surroundings: &Surroundings) -> Result<String, String> {
        let secret = match (&self.env, &self.file) {
            (Some(name), None) => {
                surroundings.variable(name).ok_or(format!("needs the variable `{name}`, and it is not set"))?
            }
            (None, Some(file)) => std::fs::read_to_string(surroundings.path(file)).map_err(|error| {
                format!("needs the file `{}`, and it cannot be read: {}", file.display(), error.kind())
            })?,
            (None, None) | (Some(_), Some(_)) => return Err("must have either `env` or `file`".to_owned()),
        };
        match secret.trim_end_matches(['\r', '\n']) {
            "" => Err("is empty".to_owned()),
            secret => Ok(format!("{}{secret}", self.prefix)),
        }
    }
}

impl<'de> Deserialize<'de> for SecretSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(NearestKeys(deserializer))
    }
}

impl<'de> Deserialize<'de> for HeaderSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = HeaderSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a table with `env` or `file`")
            }

            fn visit_str<E>(self, text: &str) -> Result<HeaderSpec, E> {
                Ok(HeaderSpec::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HeaderSpec, A::Error> {
                <SecretSpec as Deserialize>::deserialize(MapAccessDeserializer::new(map)).map(HeaderSpec::Secret)
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}
