//! Headers, some of them secret.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdpoint_config::{ExposeSecret, Problem, SecretSource, TableOr, VariableName};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::Surroundings;

/// The most headers of one tool.
const MAX_HEADERS: usize = 32;
/// The longest value.
const MAX_VALUE_BYTES: usize = 8 * 1024;
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
pub type HeaderSpec = TableOr<SecretHeader, String>;

/// `{ env = "NAME" }` or `{ file = "PATH" }`, with `prefix` before it. The secret itself is not in here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretHeader {
    /// An environment variable.
    pub env: Option<VariableName>,
    /// A file, relative to the configuration.
    pub file: Option<PathBuf>,
    /// What comes before it, such as `Bearer `.
    pub prefix: String,
}

/// Headers that are ready to be sent. Secret ones are marked, so that they are neither shown nor sent elsewhere.
pub(super) fn build(specs: &BTreeMap<String, HeaderSpec>, surroundings: &Surroundings) -> Result<HeaderMap, Problem> {
    if specs.len() > MAX_HEADERS {
        return Err(Problem::at("headers", format_args!("has more than {MAX_HEADERS} headers")));
    }
    let mut headers = HeaderMap::new();
    for (name, spec) in specs {
        let (name, value) = header(name, spec, surroundings).map_err(|problem| problem.below(["headers", name]))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

fn header(name: &str, spec: &HeaderSpec, surroundings: &Surroundings) -> Result<(HeaderName, HeaderValue), Problem> {
    let name = HeaderName::try_from(name).map_err(|_| Problem::new("cannot be the name of a header"))?;
    if OURS.contains(&name.as_str()) {
        return Err(Problem::new("is set by Holdpoint"));
    }
    let text = match spec {
        TableOr::Other(_) if SECRET.contains(&name.as_str()) => {
            let problem = Problem::new("must not be in the file: secrets come from variables or files");
            return Err(problem.with_hint("write `{ env = \"NAME\", prefix = \"Bearer \" }`"));
        }
        TableOr::Other(text) => text.clone(),
        TableOr::Table(secret) => secret.read(surroundings)?,
    };
    // The value is not in the message: it may be the secret.
    let value = HeaderValue::try_from(text).ok().filter(|value| value.len() <= MAX_VALUE_BYTES);
    let mut value = value.ok_or_else(|| Problem::new("has a value that no header can have"))?;
    value.set_sensitive(matches!(spec, TableOr::Table(_)));
    Ok((name, value))
}

impl SecretHeader {
    fn read(&self, surroundings: &Surroundings) -> Result<String, Problem> {
        let source = SecretSource::from_keys("", self.env.clone(), self.file.clone())?;
        let source = source.ok_or_else(|| Problem::new("needs `env` or `file`"))?;
        let secret =
            surroundings.secret(source).map_err(|error| Problem::new(format_args!("has no value: {error}")))?;
        Ok(format!("{}{}", self.prefix, secret.expose_secret()))
    }
}
