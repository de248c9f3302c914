//! One convention for module files: `foo.rs` beside `foo/`.

use super::{Problem, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let old = tree.ending("/mod.rs");
    old.map(|file| Problem::new(&file.path, 1, "a module file stands beside its folder: `foo.rs` and `foo/`")).collect()
}

#[cfg(test)]
mod tests;
