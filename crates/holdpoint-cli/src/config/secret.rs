//! Secrets: named in a configuration, never written there, never shown.

use std::path::PathBuf;

use super::source::{Located, Source};
use super::table::{Read, Table};

/// The largest file that a secret is read from.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretPlace {
    /// In this variable.
    Env(String),
    /// In this file, alone.
    File(PathBuf),
}

/// A secret that was read. `Debug` shows nothing of it.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// The one door to it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl SecretPlace {
    /// Reads a pair of keys such as `secret_env` and `secret_file`, of which at most one may be there.
    pub(super) fn read(table: &mut Table<'_>, env: &str, file: &str) -> Read<Option<Located<Self>>> {
        let named = table.text(env)?;
        let in_file = table.text(file)?;
        match (named, in_file) {
            (None, None) => Ok(None),
            (Some(name), None) => {
                check_variable(table.source(), env, &name)?;
                Ok(Some(Located { value: Self::Env(name.value), span: name.span }))
            }
            (None, Some(path)) => {
                let place = table.source().path(&path.value);
                Ok(Some(Located { value: Self::File(place), span: path.span }))
            }
            (Some(_), Some(path)) => {
                let wrong = table.source().wrong(&path.span, format!("`{file}` stands beside `{env}`"));
                Err(wrong.hint("keep one of them"))
            }
        }
    }

    /// Reads the secret itself now. The error is a reason, and holds no secret.
    pub(crate) fn open(&self) -> Result<Secret, String> {
        let text = match self {
            SecretPlace::Env(name) => std::env::var(name).map_err(|_| format!("the variable `{name}` is not set"))?,
            SecretPlace::File(path) => {
                let unusable = |why: String| format!("the file `{}` cannot be used: {why}", path.display());
                let size = std::fs::metadata(path).map_err(|error| unusable(error.kind().to_string()))?.len();
                if size > SECRET_BYTES_MAX {
                    return Err(unusable("it is too large for a secret".to_owned()));
                }
                std::fs::read_to_string(path).map_err(|error| unusable(error.kind().to_string()))?
            }
        };
        match text.trim() {
            "" => Err("it is empty".to_owned()),
            text => Ok(Secret(text.to_owned())),
        }
    }
}

/// The name of a variable, and not by mistake the secret itself, which would be shown with every error.
fn check_variable(source: &Source, key: &str, name: &Located<String>) -> Read<()> {
    let begins = name.value.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if begins && name.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    let wrong = source.wrong(&name.span, format!("`{key}` is not the name of a variable"));
    Err(wrong.hint("name the variable that holds the secret; the secret itself does not belong here"))
}
