use super::check;
use crate::tidy::{Tree, messages};

const GOOD: &str = "[package]
name = \"x\"
description = \"What it is\"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
authors.workspace = true
readme.workspace = true
keywords.workspace = true
categories.workspace = true
publish.workspace = true

[lints]
workspace = true

[dependencies]
serde.workspace = true
toml = { workspace = true, features = [\"parse\"] }
";

fn problems(text: &str) -> Vec<String> {
    messages(&check(&Tree::sample(&[("crates/x/Cargo.toml", text)])))
}

#[test]
fn a_complete_manifest_is_fine() {
    assert_eq!(problems(GOOD), Vec::<String>::new());
}

#[test]
fn each_missing_part_is_a_problem() {
    for (part, other) in [
        ("[lints]\nworkspace = true\n", ""),
        ("description = \"What it is\"\n", ""),
        ("What it is", " "),
        ("edition.workspace = true", "edition = \"2024\""),
        ("keywords.workspace = true\n", ""),
        ("serde.workspace = true", "serde = \"1\""),
    ] {
        assert!(GOOD.contains(part));
        assert_eq!(problems(&GOOD.replace(part, other)).len(), 1, "{part}");
    }
}
