//! Files and functions stay small enough to be read at once.

use super::{Problem, Tree};

const FILE_LINES_MAX: usize = 600;
const FILE_LINES_COMFORTABLE: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, code) in tree.rust() {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            let message = format!("{lines} lines: a file has at most {FILE_LINES_MAX}");
            problems.push(Problem::new(&file.path, lines, message));
        }
        for function in code.functions.iter().filter(|function| function.lines > FUNCTION_LINES_MAX) {
            let (name, lines) = (&function.name, function.lines);
            let message = format!("`{name}` has {lines} lines: a function has at most {FUNCTION_LINES_MAX}");
            problems.push(Problem::new(&file.path, function.line, message));
        }
    }
    problems
}

/// Files in which two may hide.
pub(super) fn notes(tree: &Tree) -> Vec<Problem> {
    let sizes = tree.rust().map(|(file, _)| (file, file.text.lines().count()));
    let long = sizes.filter(|(_, lines)| (FILE_LINES_COMFORTABLE + 1..=FILE_LINES_MAX).contains(lines));
    long.map(|(file, lines)| Problem::new(&file.path, lines, format!("{lines} lines: look for the two files inside")))
        .collect()
}

#[cfg(test)]
mod tests;
