//! Files, functions, signatures and traits stay small enough to be read at once.

use super::{Problem, Tree};

const FILE_LINES_MAX: usize = 500;
const FILE_LINES_COMFORTABLE: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;
const TRAIT_METHODS_MAX: usize = 12;

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
        for found in code.traits.iter().filter(|found| found.methods > TRAIT_METHODS_MAX) {
            let message =
                format!("`{}` has {} methods: a trait has at most {TRAIT_METHODS_MAX}", found.name, found.methods);
            problems.push(Problem::new(&file.path, found.line, message));
        }
    }
    problems.extend(tuples(tree));
    problems
}

/// Functions that take a tuple: a struct says what its parts are.
fn tuples(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, code) in tree.rust() {
        for function in code.functions.iter().filter(|function| !function.tuples.is_empty()) {
            let message = format!("`{}` takes a tuple: use a struct or more parameters", function.name);
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
