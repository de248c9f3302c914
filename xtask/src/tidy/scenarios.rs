//! Every scenario has a name of its own, so that a line of the report means one file.

use std::collections::HashMap;

use super::{Problem, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for file in tree.ending(".yaml").filter(|file| file.path.starts_with("scenarios/")) {
        let named = file.lines().find_map(|(number, line)| Some((number, line.strip_prefix("name:")?)));
        let Some((line, name)) = named else {
            problems.push(Problem::new(&file.path, 1, "a scenario needs a `name`"));
            continue;
        };
        let name = name.trim().trim_matches(['"', '\'']);
        if name.is_empty() || name.starts_with(['>', '|']) {
            problems.push(Problem::new(&file.path, line, "say the name on one line"));
        } else if let Some(other) = seen.insert(name, &file.path) {
            problems.push(Problem::new(&file.path, line, format!("`{other}` has the same name")));
        }
    }
    problems
}

#[cfg(test)]
mod tests;
