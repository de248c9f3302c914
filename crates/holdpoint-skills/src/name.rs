//! The name of a skill, which is also the name of its folder.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use thiserror::Error;

/// The longest name.
pub const NAME_BYTES_MAX: usize = 64;

/// Lower-case letters, digits and single hyphens between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct SkillName(Arc<str>);

/// Why a text is no name of a skill. The message continues a sentence that begins with the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// There is nothing.
    #[error("is empty")]
    Empty,
    /// Too long.
    #[error("is longer than {NAME_BYTES_MAX} characters")]
    TooLong,
    /// A character that is not allowed.
    #[error("may hold only the letters a to z, digits and hyphens")]
    Character,
    /// A hyphen where none may be.
    #[error("may neither begin nor end with a hyphen, nor hold two in a row")]
    Hyphen,
}

impl SkillName {
    /// Reads a name.
    ///
    /// # Errors
    /// When it is empty, too long, or holds anything that the format does not allow.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(NameError::TooLong);
        }
        if !text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Err(NameError::Character);
        }
        if text.starts_with('-') || text.ends_with('-') || text.contains("--") {
            return Err(NameError::Hyphen);
        }
        Ok(Self(text.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SkillName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
