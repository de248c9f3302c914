//! Secrets: named in a configuration, never written there, never shown.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The longest secret.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// Where a secret is: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SecretSource {
    /// In this variable of the environment.
    Env(String),
    /// In this file; one newline at its end does not count.
    File(PathBuf),
}

/// A secret that was read. `Debug` shows nothing of it.
pub(crate) struct Secret(String);

impl Secret {
    /// The one door to it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl SecretSource {
    /// Reads it now. The error is a reason, lower case, and holds no secret.
    pub(crate) fn read(&self) -> Result<Secret, String> {
        match self {
            SecretSource::Env(name) => match std::env::var(name) {
                Ok(value) => Ok(Secret(value)),
                Err(std::env::VarError::NotPresent) => Err(format!("the variable `{name}` is not set")),
                Err(std::env::VarError::NotUnicode(_)) => Err(format!("the variable `{name}` is not text")),
            },
            SecretSource::File(path) => {
                let unreadable = |reason: &str| format!("the file `{}` cannot be used: {reason}", path.display());
                let size = std::fs::metadata(path).map_err(|error| unreadable(&error.kind().to_string()))?.len();
                if size > SECRET_BYTES_MAX {
                    return Err(unreadable("it is too large for a secret"));
                }
                let text = std::fs::read_to_string(path).map_err(|error| unreadable(&error.kind().to_string()))?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                Ok(Secret(text.strip_suffix('\r').unwrap_or(text).to_owned()))
            }
        }
    }
}
