//! Paths below a folder, told by their text alone.

/// An absolute path without detours, as the names on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder(Vec<Box<str>>);

impl Folder {
    /// Reads the folder of a rule. Nothing if it is not an absolute path without `..`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if !is_plain(text) || text.contains('\\') || text.split('/').any(|name| name == "..") {
            return None;
        }
        Some(Self(names(text, Separators::Slash)?.into_iter().map(Into::into).collect()))
    }

    /// Whether a path leads to this folder or below it, whichever way it is read.
    pub(crate) fn holds(&self, path: &PathNames) -> bool {
        path.readings.iter().all(|names| names.starts_with(&self.0)) && !path.readings.is_empty()
    }

    /// Whether every path below the other folder is below this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

/// A path, taken apart.
pub(crate) struct PathNames {
    /// The names from the root on. One list, or two if there are backslashes: some programs take them for separators,
    /// others for letters. None if it is not an absolute path that every program reads alike.
    readings: Vec<Vec<Box<str>>>,
}

impl PathNames {
    /// Takes a text apart.
    pub(crate) fn of(path: &str) -> Self {
        let separators: &[Separators] = match (is_plain(path), path.contains('\\')) {
            (false, _) => &[],
            (true, false) => &[Separators::Slash],
            (true, true) => &[Separators::Slash, Separators::Both],
        };
        let read =
            |separators: &Separators| names(path, *separators).map(|names| names.into_iter().map(Into::into).collect());
        Self { readings: separators.iter().map(read).collect::<Option<_>>().unwrap_or_default() }
    }
}

#[derive(Clone, Copy)]
enum Separators {
    Slash,
    Both,
}

/// The names from the root to what the path leads to. Nothing for a relative path, and for one that leaves the root.
fn names(path: &str, separators: Separators) -> Option<Vec<&str>> {
    let is_separator = |letter: char| match separators {
        Separators::Slash => letter == '/',
        Separators::Both => matches!(letter, '/' | '\\'),
    };
    let mut names = Vec::new();
    for name in path.strip_prefix('/')?.split(is_separator) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names)
}

/// A path that every program reads alike: no control characters, and no separator or dot in the spelling of URLs.
fn is_plain(path: &str) -> bool {
    let escaped = |code: &str| ["2e", "2f", "5c", "00"].iter().any(|known| code.eq_ignore_ascii_case(known));
    let escapes = path.match_indices('%').filter_map(|(at, _)| path.get(at + 1..at + 3));
    !path.contains(char::is_control) && !escapes.into_iter().any(escaped)
}
