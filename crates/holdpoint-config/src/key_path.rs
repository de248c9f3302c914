//! Where in a document a value is.

use std::fmt;

use crate::printable;

/// The keys that lead to a value, such as `steps[2].answer`. Empty for the whole document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    /// The value of `key` in the table that this path leads to.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.0.push(Step::Key(key.to_owned()));
        self
    }

    /// The item at `index`, from 0, of the list that this path leads to.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Step::Index(index));
        self
    }

    /// A path from the value that this path leads to.
    #[must_use]
    pub fn join(mut self, further: impl Into<KeyPath>) -> Self {
        self.0.extend(further.into().0);
        self
    }

    /// Whether it leads to the whole document.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    pub(crate) fn prepend(&mut self, step: Step) {
        self.0.insert(0, step);
    }
}

impl From<&str> for KeyPath {
    fn from(key: &str) -> Self {
        Self::default().key(key)
    }
}

impl<const N: usize> From<[&str; N]> for KeyPath {
    fn from(keys: [&str; N]) -> Self {
        keys.iter().fold(Self::default(), |path, key| path.key(key))
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let dot = if position == 0 { "" } else { "." };
                    write!(f, "{dot}{}", printable::excerpt(key))?;
                }
            }
        }
        Ok(())
    }
}
