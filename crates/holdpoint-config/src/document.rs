//! One file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::node::Node;
use crate::problem::Spot;
use crate::read::{Reader, Scalars};
use crate::{ConfigError, KeyPath, Located, Place, Problem};

/// A file that was parsed: its values can be read, and problems found later get their place in it.
pub struct Document {
    file: Arc<str>,
    /// The folder that relative paths in it start from.
    folder: PathBuf,
    root: Node,
    scalars: Scalars,
}

impl Document {
    /// Reads a TOML file of at most `max_bytes` bytes.
    #[cfg(feature = "toml")]
    pub fn load_toml(path: &Path, max_bytes: u64) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text = crate::read_text(path, max_bytes).map_err(|problem| ConfigError::of_file(&file, problem))?;
        Ok(Self::toml(&text, &file)?.in_folder(path.parent().unwrap_or(Path::new(""))))
    }

    /// Parses TOML. The name of the file is for messages.
    #[cfg(feature = "toml")]
    pub fn toml(text: &str, file: &str) -> Result<Self, ConfigError> {
        Self::parsed(file, crate::toml_tree::parse(text), Scalars::Strict)
    }

    /// Parses one YAML document. The name of the file is for messages.
    #[cfg(feature = "yaml")]
    pub fn yaml(text: &str, file: &str, limits: crate::YamlLimits) -> Result<Self, ConfigError> {
        Self::parsed(file, crate::yaml_tree::parse(text, limits), Scalars::AsWritten)
    }

    #[cfg(any(feature = "toml", feature = "yaml"))]
    fn parsed(file: &str, root: Result<Node, Located>, scalars: Scalars) -> Result<Self, ConfigError> {
        match root {
            Ok(root) => Ok(Self { file: file.into(), folder: PathBuf::new(), root, scalars }),
            Err(located) => Err(ConfigError::located(file.into(), vec![located])),
        }
    }

    /// Relative paths in it start from here.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// The whole document.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        self.read_at(KeyPath::default())
    }

    /// The value at a path.
    pub fn read_at<T: DeserializeOwned>(&self, path: impl Into<KeyPath>) -> Result<T, ConfigError> {
        let path = path.into();
        let Some(node) = self.root.find(&path) else { return Err(self.error(Problem::at(path, "is missing"))) };
        T::deserialize(Reader::new(node, self.scalars)).map_err(|problem| self.error(problem.below(path)))
    }

    /// A problem of this document.
    pub fn error(&self, problem: Problem) -> ConfigError {
        self.errors([problem])
    }

    /// Several problems of this document.
    pub fn errors(&self, problems: impl IntoIterator<Item = Problem>) -> ConfigError {
        let located = |problem: Problem| {
            let place = Some(self.root.place_of(problem.path(), problem.spot));
            Located { place, problem }
        };
        ConfigError::located(Arc::clone(&self.file), problems.into_iter().map(located).collect())
    }

    /// Where the value at a path begins, or the innermost one on the way that exists.
    pub fn place(&self, path: &KeyPath) -> Place {
        self.root.place_of(path, Spot::Value)
    }

    /// The file, as it was named.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The folder that relative paths in it start from. Empty for the folder of this process.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path of the document, seen from this process.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.join(path)
    }
}

/// Reads a value that a program made, with the checks of a document.
pub fn from_json<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Problem> {
    T::deserialize(Reader::new(&Node::from(value), Scalars::Strict))
}

/// Without the content: a secret may stand in the wrong place.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({})", self.file)
    }
}
