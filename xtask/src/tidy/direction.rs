//! Crates depend only on those above them.

use super::tree::Manifest;
use super::{Problem, Tree};

/// The crates from the core outwards. A crate may name those of the rows above its own, in tests too.
const ROWS: [&[&str]; 16] = [
    &["holdpoint-core", "holdpoint-programs"],
    &["holdpoint-config"],
    &["holdpoint-codec"],
    &["holdpoint-tools"],
    &["holdpoint-policy"],
    &["holdpoint-model"],
    &["holdpoint-mcp", "holdpoint-skills", "holdpoint-endpoints"],
    &["holdpoint-store"],
    &["holdpoint-store-sqlite", "holdpoint-store-postgres"],
    &["holdpoint"],
    &["holdpoint-testkit"],
    &["holdpoint-api"],
    &["holdpoint-server"],
    &["holdpoint-cli"],
    &["holdpoint-sim", "holdpoint-bench", "holdpoint-fuzz", "holdpoint-crash"],
    &["xtask"],
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.manifests.iter().flat_map(|manifest| check_crate(tree, manifest)).collect()
}

fn check_crate(tree: &Tree, manifest: &Manifest) -> Vec<Problem> {
    let Some(own) = row(&manifest.name) else {
        let message =
            format!("`{}` has no row in xtask/src/tidy/direction.rs: say what it may depend on", manifest.name);
        return vec![Problem::new(&manifest.path, 1, message)];
    };
    let mut problems = Vec::new();
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for dependency in manifest.dependencies(kind) {
            if row(dependency).is_some_and(|row| row >= own) && dependency != manifest.name {
                let line = manifest.line_of(tree, dependency);
                let message = format!("`{}` must not depend on `{dependency}`: it is not above it", manifest.name);
                problems.push(Problem::new(&manifest.path, line, message));
            }
        }
    }
    problems
}

fn row(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&name))
}

#[cfg(test)]
mod tests;
