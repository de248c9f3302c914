//! No file names a place that only one machine has.

use super::{Problem, Tree};

const PLACES: [&str; 4] = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(place) = PLACES.iter().find(|place| names(line, place)) {
                problems.push(Problem::new(&file.path, number, format!("`{place}` is a place on one machine")));
            }
        }
    }
    problems
}

/// Whether a path begins there: inside an address or a longer path it means something else.
fn names(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '.' | '-' | '_' | '}' | '~' | '*'))
    })
}

#[cfg(test)]
mod tests;
