//! The rules that hold for the whole workspace. One file per rule, each a function from the tree to its problems, so
//! that a test can hand it a bad tree and see it fail.

use std::fmt;

mod bans;
mod codes;
mod direction;
mod invariants;
mod links;
mod manifests;
mod modules;
mod paths;
pub(crate) mod samples;
mod scenarios;
mod sizes;
mod stubs;
mod tokens;
mod tree;

pub(crate) use tree::Tree;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    path: String,
    line: usize,
    message: String,
}

impl Problem {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// What the rules found.
pub(crate) struct Findings {
    /// What must be mended, in the order of the files.
    pub(crate) problems: Vec<Problem>,
    /// What is worth a look.
    pub(crate) notes: Vec<Problem>,
}

/// Applies every rule.
pub(crate) fn check(tree: &Tree) -> Findings {
    let rules: [fn(&Tree) -> Vec<Problem>; 13] = [
        unreadable,
        direction::check,
        bans::check,
        sizes::check,
        stubs::check,
        modules::check,
        paths::check,
        manifests::check,
        links::check,
        codes::check,
        scenarios::check,
        invariants::check,
        samples::check,
    ];
    let mut problems: Vec<Problem> = rules.iter().flat_map(|rule| rule(tree)).collect();
    problems.sort();
    problems.dedup();
    Findings { problems, notes: sizes::notes(tree) }
}

/// What could not be read cannot be checked.
fn unreadable(tree: &Tree) -> Vec<Problem> {
    tree.unreadable.iter().map(|(path, why)| Problem::new(path, 1, why)).collect()
}

#[cfg(test)]
fn messages(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}
