//! Code in the documents is code that runs: a block under `<!-- sample: FILE -->` is that file, word for word.
//!
//! `cargo xtask samples` copies the files into the documents; this rule finds what was not copied. The `//!` and `#![`
//! lines at the head of a file are left out: the document says what the first say, and the others are for lints.

use super::{Problem, Tree};

const MARK: &str = "<!-- sample: ";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for document in tree.ending(".md") {
        let text: String = document.lines().map(|(_, line)| format!("{line}\n")).collect();
        let (filled, missing) = fill(&text, |path| source(tree, path));
        problems.extend(missing.into_iter().map(|(line, path)| {
            Problem::new(&document.path, line, format!("`{path}` is not there, or no code block follows"))
        }));
        if let Some(line) = text.lines().zip(filled.lines()).position(|(is, should)| is != should) {
            let message = "this sample is not what the file says; hint: run `cargo xtask samples`";
            problems.push(Problem::new(&document.path, line + 1, message));
        }
    }
    problems
}

/// The text of a sample without its head.
pub(crate) fn source(tree: &Tree, path: &str) -> Option<String> {
    let file = tree.files.iter().find(|file| file.path == path)?;
    let lines = file
        .lines()
        .map(|(_, line)| line)
        .skip_while(|line| line.starts_with("//!") || line.starts_with("#![") || line.is_empty());
    Some(lines.map(|line| format!("{line}\n")).collect())
}

/// The document with its samples filled in, and the marks that could not be.
pub(crate) fn fill(text: &str, source: impl Fn(&str) -> Option<String>) -> (String, Vec<(usize, String)>) {
    let mut filled = String::new();
    let mut missing = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        filled.push_str(line);
        filled.push('\n');
        let Some(path) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let Some((_, fence)) = lines.next() else {
            missing.push((number + 1, path.to_owned()));
            break;
        };
        filled.push_str(fence);
        filled.push('\n');
        let Some(code) = source(path).filter(|_| fence.starts_with("```")) else {
            missing.push((number + 1, path.to_owned()));
            continue;
        };
        filled.push_str(&code);
        filled.push_str("```\n");
        lines.by_ref().find(|(_, line)| line.starts_with("```"));
    }
    (filled, missing)
}

#[cfg(test)]
mod tests;
