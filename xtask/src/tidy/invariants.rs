//! The invariants that code and reviews cite by number are explained, and no other number is cited.

use super::{Problem, Tree};

const MAP: &str = "ARCHITECTURE.md";
const COUNT: u32 = 16;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let map = tree.text(MAP).unwrap_or_default();
    let unexplained = (1..=COUNT).filter(|number| !map.contains(&format!("**I{number}**")));
    let mut problems: Vec<Problem> =
        unexplained.map(|number| Problem::new(MAP, 1, format!("the invariant `I{number}` is not explained"))).collect();
    for (file, _) in tree.rust() {
        for (line, text) in file.lines() {
            let unknown = cited(text).filter(|number| !(1..=COUNT).contains(number));
            problems.extend(unknown.map(|number| Problem::new(&file.path, line, format!("there is no `I{number}`"))));
        }
    }
    problems
}

/// The numbers that a comment cites as `(I4)` or `I4:`.
fn cited(line: &str) -> impl Iterator<Item = u32> {
    let comment = line.split_once("//").map_or("", |(_, comment)| comment);
    comment.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(|word| word.strip_prefix('I')?.parse().ok())
}

#[cfg(test)]
mod tests;
