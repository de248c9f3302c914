use super::check;
use crate::tidy::{Tree, messages};

fn problems(name: &str, dependencies: &str) -> Vec<String> {
    let text = format!("[package]\nname = \"{name}\"\n\n{dependencies}");
    messages(&check(&Tree::sample(&[("crates/x/Cargo.toml", &text)])))
}

#[test]
fn a_crate_may_name_what_is_above_it() {
    let dependencies = "[dependencies]\nholdpoint-core.workspace = true\nserde.workspace = true\n";
    assert_eq!(problems("holdpoint-codec", dependencies), Vec::<String>::new());
}

#[test]
fn a_dependency_downwards_is_a_problem_at_its_line() {
    let found = problems("holdpoint-codec", "[dependencies]\nholdpoint-tools.workspace = true\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("crates/x/Cargo.toml:5: "), "{found:?}");
}

#[test]
fn crates_of_one_row_do_not_name_each_other() {
    let dependencies = "[dependencies]\nholdpoint-store-sqlite = { path = \"y\" }\n";
    assert_eq!(problems("holdpoint-store-postgres", dependencies).len(), 1);
}

#[test]
fn tests_and_renamed_and_target_dependencies_count() {
    assert_eq!(problems("holdpoint-store", "[dev-dependencies]\nholdpoint.workspace = true\n").len(), 1);
    let renamed = "[dependencies]\nkit = { package = \"holdpoint-testkit\", path = \"y\" }\n";
    assert_eq!(problems("holdpoint-store", renamed).len(), 1);
    let target = "[target.'cfg(unix)'.dependencies]\nholdpoint.workspace = true\n";
    assert_eq!(problems("holdpoint-store", target).len(), 1);
}

#[test]
fn a_crate_without_a_row_is_a_problem() {
    assert_eq!(problems("holdpoint-surprise", "").len(), 1);
}
