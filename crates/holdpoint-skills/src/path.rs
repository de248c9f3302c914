//! The path of a file inside a skill, checked before anything is opened.

#[cfg(test)]
mod tests;

use std::fmt;

use thiserror::Error;

/// The longest path.
pub const PATH_BYTES_MAX: usize = 1024;
/// The most parts of a path.
pub const PATH_PARTS_MAX: usize = 16;

/// Names of devices that Windows finds in every folder, with any ending.
const DEVICES: [&str; 8] = ["con", "prn", "aux", "nul", "conin$", "conout$", "com", "lpt"];

/// A relative path of plain names: none of them can mean anything but an entry of the folder it is looked up in, on any
/// system.
#[derive(Clone, PartialEq, Eq)]
pub struct SkillPath {
    parts: Vec<String>,
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// There is nothing.
    #[error("the path is empty")]
    Empty,
    /// Too long or too deep.
    #[error("the path is longer than {PATH_BYTES_MAX} bytes or has more than {PATH_PARTS_MAX} parts")]
    TooLong,
    /// It does not begin in the folder of the skill.
    #[error("the path is not relative")]
    Absolute,
    /// A part that goes up, stays, or is empty.
    #[error("the path has a part that is empty, `.` or `..`")]
    Dots,
    /// A hidden entry.
    #[error("the path has a part that begins with a dot")]
    Hidden,
    /// A character that some system reads in its own way, or that cannot be seen.
    #[error("the path has a character that is not allowed in names")]
    Character,
    /// A name that Windows reads in its own way.
    #[error("the path has a name that is not one of a file on every system")]
    Device,
}

impl SkillPath {
    /// Reads a path as a model writes it. One `./` at its beginning is tolerated.
    ///
    /// # Errors
    /// When it could lead anywhere but to an entry of the skill's own folder.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > PATH_BYTES_MAX {
            return Err(PathError::TooLong);
        }
        if text.starts_with(['/', '\\', '~']) {
            return Err(PathError::Absolute);
        }
        if text.contains(is_forbidden) {
            return Err(PathError::Character);
        }
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() > PATH_PARTS_MAX {
            return Err(PathError::TooLong);
        }
        parts.iter().try_for_each(|part| check_part(part))?;
        Ok(Self { parts: parts.into_iter().map(str::to_owned).collect() })
    }

    /// The folders on the way, and the name at its end.
    pub(crate) fn split(&self) -> (&[String], &str) {
        match self.parts.split_last() {
            Some((name, folders)) => (folders, name),
            None => (&[], ""),
        }
    }
}

fn check_part(part: &str) -> Result<(), PathError> {
    if matches!(part, "" | "." | "..") {
        return Err(PathError::Dots);
    }
    if part.starts_with('.') {
        return Err(PathError::Hidden);
    }
    // Windows drops dots and spaces at the end, so that `..  ` would be `..`.
    if part.ends_with(['.', ' ']) || part.starts_with(' ') {
        return Err(PathError::Character);
    }
    if is_device(part) { Err(PathError::Device) } else { Ok(()) }
}

fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_lowercase();
    // Digits of other alphabets count too: Windows knows `COM¹`.
    let bare = stem.trim_end_matches(|letter: char| letter.is_numeric());
    let digits = stem[bare.len()..].chars().count();
    DEVICES.contains(&bare) && (digits == 1 || (digits == 0 && !matches!(bare, "com" | "lpt")))
}

fn is_forbidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        // Some file systems leave these out when they compare names: a name could look different from what it opens.
        || matches!(letter, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{ffff}')
        || matches!(letter, '\u{e0000}'..='\u{e0fff}')
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join("/"))
    }
}

/// Hides the path: it is an argument of a call.
impl fmt::Debug for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SkillPath({} parts)", self.parts.len())
    }
}
