//! Paths below a folder, told by their text alone.

use std::str::FromStr;

const NOT_A_FOLDER: &str =
    "is not the absolute path of a folder\nhint: a folder starts with `/` and has no `..`, as in `/srv/data`";

/// An absolute path without detours. It ends in a slash, so that what begins with it is below it, and no letters need be
/// told from names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder(Box<str>);

impl FromStr for Folder {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let plain = is_plain(text) && !text.contains('\\') && text.split('/').all(|name| name != "..");
        plain.then(|| direct(text, Separators::Slash)).flatten().map(Self).ok_or(NOT_A_FOLDER)
    }
}

impl Folder {
    /// Whether a path leads to this folder or below it, whichever way it is read.
    pub(crate) fn holds(&self, path: &PathNames) -> bool {
        path.readings.iter().all(|reading| reading.starts_with(&*self.0)) && !path.readings.is_empty()
    }

    /// Whether every path below the other folder is below this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&*self.0)
    }
}

/// A path without detours.
pub(crate) struct PathNames {
    /// As folders are. One, or two if there are backslashes: some programs take them for separators, others for letters.
    /// None if it is not an absolute path that every program reads alike.
    readings: Vec<Box<str>>,
}

impl PathNames {
    /// Takes a text apart.
    pub(crate) fn of(path: &str) -> Self {
        let separators: &[Separators] = match (is_plain(path), path.contains('\\')) {
            (false, _) => &[],
            (true, false) => &[Separators::Slash],
            (true, true) => &[Separators::Slash, Separators::Both],
        };
        let read = |separators: &Separators| direct(path, *separators);
        Self { readings: separators.iter().map(read).collect::<Option<_>>().unwrap_or_default() }
    }
}

#[derive(Clone, Copy)]
enum Separators {
    Slash,
    Both,
}

/// The names from the root to what the path leads to, a slash after each. Nothing for a relative path, and for one that
/// leaves the root.
fn direct(path: &str, separators: Separators) -> Option<Box<str>> {
    let is_separator = |letter: char| match separators {
        Separators::Slash => letter == '/',
        Separators::Both => matches!(letter, '/' | '\\'),
    };
    let rest = path.strip_prefix('/')?;
    let mut direct = String::with_capacity(path.len() + 1);
    direct.push('/');
    for name in rest.split(is_separator) {
        match name {
            "" | "." => {}
            ".." => {
                // The last name goes, with its slash.
                let before = direct.strip_suffix('/').and_then(|names| names.rfind('/'))?;
                direct.truncate(before + 1);
            }
            name => {
                direct.push_str(name);
                direct.push('/');
            }
        }
    }
    Some(direct.into())
}

/// A path that every program reads alike: no control characters, and no separator or dot in the spelling of URLs.
fn is_plain(path: &str) -> bool {
    let escaped = |code: &str| ["2e", "2f", "5c", "00"].iter().any(|known| code.eq_ignore_ascii_case(known));
    let escapes = path.match_indices('%').filter_map(|(at, _)| path.get(at + 1..at + 3));
    !path.contains(char::is_control) && !escapes.into_iter().any(escaped)
}
