//! Every crate takes the shared lints and versions and says what it is.

use super::tree::Manifest;
use super::{Problem, Tree};

const SHARED: [&str; 9] =
    ["version", "edition", "rust-version", "license", "authors", "readme", "keywords", "categories", "publish"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.manifests.iter().flat_map(check_crate).collect()
}

fn check_crate(manifest: &Manifest) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |message: String| problems.push(Problem::new(&manifest.path, 1, message));
    if !is_workspace(manifest.table.get("lints")) {
        add("`[lints] workspace = true` is missing".to_owned());
    }
    let package = manifest.table.get("package");
    let field = |name: &str| package.and_then(|package| package.get(name));
    if field("description").and_then(toml::Value::as_str).is_none_or(|text| text.trim().is_empty()) {
        add("the description is missing".to_owned());
    }
    for name in SHARED.iter().filter(|name| !is_workspace(field(name))) {
        add(format!("`{name}.workspace = true` is missing"));
    }
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let table = manifest.table.get(kind).and_then(toml::Value::as_table);
        for (library, value) in table.into_iter().flatten() {
            if !is_workspace(Some(value)) {
                add(format!("`{library}` must come from the workspace, so that all crates use one version"));
            }
        }
    }
    problems
}

fn is_workspace(value: Option<&toml::Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests;
