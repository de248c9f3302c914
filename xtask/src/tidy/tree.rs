//! The files of the workspace, read once.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::tokens::Code;

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 3] = ["target", "node_modules", "__pycache__"];
/// Hidden folders that are part of the project; the others are not.
const HIDDEN: [&str; 3] = [".cargo", ".ci", ".github"];

/// Every text file of the workspace, by its path from the root with `/` between the parts.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    /// The paths of what is no text: pictures.
    others: Vec<String>,
    pub(super) manifests: Vec<Manifest>,
    pub(super) unreadable: Vec<(String, String)>,
}

/// One text file.
pub(crate) struct File {
    pub(crate) path: String,
    pub(super) text: String,
    /// Its tokens, if it is Rust.
    pub(super) code: Option<Code>,
}

/// The manifest of one crate.
pub(super) struct Manifest {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) table: toml::Table,
}

impl File {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Tree {
    /// Reads everything below `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut paths = Vec::new();
        walk(root, "", &mut paths)?;
        paths.sort();
        let mut tree = Tree::default();
        for path in paths {
            let bytes = fs::read(root.join(&path)).with_context(|| format!("cannot read `{path}`"))?;
            match String::from_utf8(bytes) {
                Ok(text) => tree.add(path, text),
                Err(_) => tree.others.push(path),
            }
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub(crate) fn sample(files: &[(&str, &str)]) -> Self {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add((*path).to_owned(), (*text).to_owned());
        }
        tree
    }

    fn add(&mut self, path: String, text: String) {
        let mut code = None;
        if path.ends_with(".rs") {
            match Code::read(&text) {
                Ok(read) => code = Some(read),
                Err(error) => self.unreadable.push((path.clone(), format!("not Rust: {error}"))),
            }
        }
        if path.ends_with("Cargo.toml") {
            match text.parse::<toml::Table>() {
                Ok(table) => self.manifests.extend(manifest(&path, table)),
                Err(error) => self.unreadable.push((path.clone(), format!("not TOML: {}", error.message()))),
            }
        }
        self.files.push(File { path, text, code });
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| &*file.text)
    }

    /// Whether there is such a file or folder.
    pub(super) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let mut paths = self.files.iter().map(|file| &file.path).chain(&self.others);
        path.is_empty() || paths.any(|held| held == path || held.starts_with(&folder))
    }

    /// Rust files with their tokens.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&File, &Code)> {
        self.files.iter().filter_map(|file| Some((file, file.code.as_ref()?)))
    }

    /// Files whose names end so.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }
}

impl File {
    /// The lines of the file, counted from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The folder below `crates/`, or `xtask`.
    pub(super) fn crate_name(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or(path)
    }

    /// Whether it is compiled for tests only.
    pub(super) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// Whether it is an example for users.
    pub(super) fn is_example(&self) -> bool {
        self.path.contains("/examples/")
    }
}

impl Manifest {
    /// The names in one of the tables of dependencies, for every target.
    pub(super) fn dependencies(&self, kind: &str) -> Vec<&str> {
        let targets = self.table.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(|targets| targets.values()).filter_map(toml::Value::as_table);
        let tables = std::iter::once(&self.table).chain(targets).filter_map(|table| table.get(kind)?.as_table());
        tables.flat_map(|table| table.iter().map(|(key, value)| real_name(key, value))).collect()
    }

    /// Where a word first stands, to point at it.
    pub(super) fn line_of(&self, tree: &Tree, word: &str) -> usize {
        let found = tree.text(&self.path).and_then(|text| text.lines().position(|line| starts_with_key(line, word)));
        found.map_or(1, |index| index + 1)
    }
}

fn real_name<'a>(key: &'a str, value: &'a toml::Value) -> &'a str {
    value.get("package").and_then(toml::Value::as_str).unwrap_or(key)
}

fn starts_with_key(line: &str, word: &str) -> bool {
    line.strip_prefix(word).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
}

fn manifest(path: &str, table: toml::Table) -> Option<Manifest> {
    let name = table.get("package")?.get("name")?.as_str()?.to_owned();
    Some(Manifest { path: path.to_owned(), name, table })
}

fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> Result<()> {
    let folder = root.join(below);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_file() {
            // In a worktree git keeps a file where a clone has its folder.
            if name != ".git" {
                found.push(path);
            }
        } else if kind.is_dir() && is_ours(&name) {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}

fn is_ours(folder: &str) -> bool {
    if folder.starts_with('.') { HIDDEN.contains(&folder) } else { !SKIPPED.contains(&folder) }
}
