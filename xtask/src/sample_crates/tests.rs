use std::path::Path;

use super::{beside, listed, rust_samples};

const PAGE: &str = "# Page\n\n<!-- sample: crates/x/examples/one.rs -->\n```rust\n```\n<!-- dependencies -->\n```toml\n[dependencies]\ntower = \"0.5\"\nholdpoint = { path = \"../elsewhere\", features = [\"mcp\"] }\n```\n<!-- sample: docs/a.toml -->\n";

#[test]
fn dependencies_come_from_the_marked_block() {
    let table = listed(PAGE).unwrap();
    assert_eq!(table["tower"].as_str(), Some("0.5"));
    assert!(listed("no mark").unwrap().is_empty());
    assert!(listed("<!-- dependencies -->\nno block").is_err());
    assert!(listed("<!-- dependencies -->\n```toml\n[other]\n```").is_err());
}

#[test]
fn only_rust_samples_are_compiled() {
    assert_eq!(rust_samples(PAGE), ["crates/x/examples/one.rs"]);
}

#[test]
fn crates_of_the_workspace_are_taken_from_it_with_their_features() {
    let table = listed(PAGE).unwrap();
    let dependency = beside(&table["holdpoint"], Path::new("here"));
    assert_eq!(dependency["path"].as_str(), Some("here"));
    assert_eq!(dependency["features"][0].as_str(), Some("mcp"));
}
