//! Secrets: a configuration names where they are, and never holds them.

use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Problem, read_text};

/// The largest file that a secret is read from.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// Where a secret is: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "SecretKeys")]
pub enum SecretSource {
    /// In this environment variable.
    Env(String),
    /// In this file; blanks and newlines around it do not count.
    File(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `env` or `file`")]
struct SecretKeys {
    env: Option<VariableName>,
    file: Option<PathBuf>,
}

impl TryFrom<SecretKeys> for SecretSource {
    type Error = Problem;

    fn try_from(keys: SecretKeys) -> Result<Self, Problem> {
        match (keys.env, keys.file) {
            (Some(name), None) => Ok(Self::Env(name.0)),
            (None, Some(path)) => Ok(Self::File(path)),
            (Some(_), Some(_)) => Err(Problem::new("has both `env` and `file`").with_hint("keep one of them")),
            (None, None) => Err(Problem::new("needs `env` or `file`")),
        }
    }
}

/// The name of an environment variable. A text that cannot be one is refused without quoting it: it may be the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableName(String);

impl VariableName {
    /// The name.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<'de> Deserialize<'de> for VariableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Ok(Self(name));
        }
        Err(D::Error::custom(
            "is not the name of a variable\nhint: name the variable that holds the secret; the secret does not belong here",
        ))
    }
}

/// Why a secret cannot be read. Holds no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SecretError {
    /// The variable is not set, or is not Unicode.
    #[error("the variable `{0}` is not set")]
    NotSet(String),
    /// The file cannot be read.
    #[error("the file `{}` {reason}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Continues a sentence that begins with the file.
        reason: String,
    },
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
}

impl SecretSource {
    /// The source that a pair of keys such as `secret_env` and `secret_file` names; `prefix` is `secret_`.
    pub fn from_keys(prefix: &str, env: Option<VariableName>, file: Option<PathBuf>) -> Result<Option<Self>, Problem> {
        match (env, file) {
            (None, None) => Ok(None),
            (Some(name), None) => Ok(Some(Self::Env(name.0))),
            (None, Some(path)) => Ok(Some(Self::File(path))),
            (Some(_), Some(_)) => {
                let problem = Problem::at(&*format!("{prefix}file"), format_args!("stands beside `{prefix}env`"));
                Err(problem.with_hint("keep one of them"))
            }
        }
    }

    /// The same source with the path of its file resolved against the folder of a configuration.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Env(name) => Self::Env(name),
            Self::File(path) => Self::File(folder.join(path)),
        }
    }

    /// Reads the secret now.
    pub fn read(&self) -> Result<SecretString, SecretError> {
        self.read_with(|name| std::env::var(name).ok())
    }

    /// Reads the secret now; variables come from `variable`.
    pub fn read_with(&self, variable: impl Fn(&str) -> Option<String>) -> Result<SecretString, SecretError> {
        let text = match self {
            Self::Env(name) => variable(name).ok_or_else(|| SecretError::NotSet(name.clone()))?,
            Self::File(path) => {
                read_text(path, MAX_SECRET_BYTES).map_err(|reason| SecretError::File { path: path.clone(), reason })?
            }
        };
        match text.trim() {
            "" => Err(SecretError::Empty),
            secret => Ok(SecretString::from(secret)),
        }
    }
}
