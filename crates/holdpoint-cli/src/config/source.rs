//! A configuration file as text, and what can be wrong with it: always with a line and a column.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The largest configuration that is read.
pub(crate) const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// The text of a file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As it was named.
    pub(crate) file: String,
    /// What relative paths in it begin with.
    pub(crate) folder: PathBuf,
    pub(crate) text: String,
}

/// A place in a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Why a configuration cannot be used. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    pub(crate) file: String,
    /// Nothing when the file as a whole is meant.
    pub(crate) place: Option<Place>,
    /// Lower case, no full stop.
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// A value and the place of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

impl Source {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let wrong = |message: String| ConfigError { file: file.clone(), place: None, message, hint: None };
        let unreadable = |error: std::io::Error| wrong(format!("it cannot be read: {}", error.kind()));
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > CONFIG_BYTES_MAX {
            return Err(wrong(format!("it has {bytes} bytes, more than {CONFIG_BYTES_MAX}")));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(Self { folder: folder.unwrap_or(Path::new(".")).to_owned(), text, file })
    }

    /// Where a byte of the text is.
    pub(crate) fn place(&self, at: usize) -> Place {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }

    /// Something is wrong here.
    pub(crate) fn wrong(&self, span: &Range<usize>, message: impl Into<String>) -> ConfigError {
        let place = Some(self.place(span.start));
        ConfigError { file: self.file.clone(), place, message: message.into(), hint: None }
    }

    /// What the parser found.
    pub(crate) fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        let (message, hint) = split_hint(&without_values(error.message()));
        ConfigError { hint, ..self.wrong(&error.span().unwrap_or(0..0), message) }
    }

    /// A path of the file, seen from this process.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        // A dot before every path that is shown would only distract.
        if self.folder == Path::new(".") { path.as_ref().to_owned() } else { self.folder.join(path) }
    }
}

impl ConfigError {
    /// The same with what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// A message that carries its own hint, taken apart.
pub(crate) fn split_hint(message: &str) -> (String, Option<String>) {
    match message.split_once("; hint: ").or_else(|| message.split_once("\nhint: ")) {
        Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
        None => (message.trim_end().to_owned(), None),
    }
}

/// The message of a reader without the text that it found in place of something else: somebody may have written a
/// secret there.
fn without_values(message: &str) -> String {
    let Some(begin) = message.find("string \"") else { return message.trim_end().replace('\n', " ") };
    let rest = &message[begin + "string \"".len()..];
    let end = rest.rfind("\", expected").map_or("", |end| &rest[end + 1..]);
    format!("{}a text{end}", &message[..begin])
}
