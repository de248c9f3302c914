//! What a crate may name.

use super::tokens::Code;
use super::tree::{File, Manifest};
use super::{Problem, Tree};

/// Crates that nobody depends on and that may name anything.
const FREE: [&str; 5] = ["holdpoint-crash", "holdpoint-sim", "holdpoint-bench", "holdpoint-fuzz", "xtask"];
/// Beside the free ones, the only crate that prints.
const PRINTS: &str = "holdpoint-cli";
const PRINTING: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];

/// Where a library may be used.
enum Reach {
    Only(&'static [&'static str]),
    Except(&'static [&'static str]),
}

const LIBRARIES: [(&str, Reach); 11] = [
    ("tokio", Reach::Except(&["holdpoint-core", "holdpoint-codec"])),
    ("sqlx", Reach::Only(&["holdpoint-store-sqlite", "holdpoint-store-postgres"])),
    ("axum", Reach::Only(&["holdpoint-server"])),
    ("utoipa", Reach::Only(&["holdpoint-api", "holdpoint-codec", "holdpoint-policy", "holdpoint-server"])),
    ("clap", Reach::Only(&["holdpoint-cli"])),
    ("anyhow", Reach::Only(&["holdpoint-cli"])),
    ("genai", Reach::Only(&["holdpoint-model"])),
    ("rmcp", Reach::Only(&["holdpoint-mcp"])),
    ("jsonschema", Reach::Only(&["holdpoint-tools"])),
    ("holdpoint-store-sqlite", Reach::Only(&["holdpoint", "holdpoint-server", "holdpoint-cli", "holdpoint-testkit"])),
    ("holdpoint-store-postgres", Reach::Only(&["holdpoint", "holdpoint-server", "holdpoint-cli", "holdpoint-testkit"])),
];

/// Modules and types of `std` that the core must not name (I1). A whole module hides what is taken from it.
const CORE_PATHS: [&[&str]; 11] = [
    &["std", "fs"],
    &["std", "io"],
    &["std", "net"],
    &["std", "os"],
    &["std", "thread"],
    &["std", "process"],
    &["std", "env"],
    &["std", "future"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["std", "time", "*"],
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let manifests = tree.manifests.iter().flat_map(|manifest| check_libraries(tree, manifest));
    let printing = tree.rust().flat_map(|(file, code)| check_printing(file, code));
    let core = tree.rust().filter(|(file, _)| file.path.starts_with("crates/holdpoint-core/src/"));
    let core = core.flat_map(|(file, code)| check_core(file, code));
    manifests.chain(printing).chain(core).collect()
}

fn check_libraries(tree: &Tree, manifest: &Manifest) -> Vec<Problem> {
    let name = &*manifest.name;
    if FREE.contains(&name) {
        return Vec::new();
    }
    let problem = |library: &str, why: &str| {
        Problem::new(
            &manifest.path,
            manifest.line_of(tree, library),
            format!("`{name}` must not use `{library}`: {why}"),
        )
    };
    let mut problems = Vec::new();
    for library in manifest.dependencies("dependencies").into_iter().chain(manifest.dependencies("build-dependencies"))
    {
        let allowed = LIBRARIES.iter().find(|(known, _)| *known == library).is_none_or(|(_, reach)| match reach {
            Reach::Only(crates) => crates.contains(&name),
            Reach::Except(crates) => !crates.contains(&name),
        });
        if name == "holdpoint-core" {
            problems.push(problem(library, "the core names nothing but `std` (I1)"));
        } else if !allowed {
            problems.push(problem(library, "see the table of crates in ARCHITECTURE.md"));
        }
    }
    problems
}

fn check_printing(file: &File, code: &Code) -> Vec<Problem> {
    let name = file.crate_name();
    if FREE.contains(&name) || name == PRINTS || file.is_test() || file.is_example() {
        return Vec::new();
    }
    let calls = code.macros.iter().filter(|(name, _)| PRINTING.contains(&&**name));
    calls.map(|(call, line)| Problem::new(&file.path, *line, format!("`{call}!` outside the command line"))).collect()
}

fn check_core(file: &File, code: &Code) -> Vec<Problem> {
    let problem = |line, what: &str| Problem::new(&file.path, line, format!("the core must not name `{what}` (I1)"));
    let mut problems = Vec::new();
    for (path, line) in &code.paths {
        let banned = CORE_PATHS.iter().any(|banned| path.iter().zip(*banned).all(|(one, other)| one == other));
        // `std::time::Duration` is a number; a shorter path than the banned one imports all of it.
        if banned && path[0] == "std" && path.len() > 1 {
            problems.push(problem(*line, &path.join("::")));
        }
    }
    for (word, line) in &code.words {
        if word == "async" || word == "await" {
            problems.push(problem(*line, word));
        }
    }
    problems
}

#[cfg(test)]
mod tests;
