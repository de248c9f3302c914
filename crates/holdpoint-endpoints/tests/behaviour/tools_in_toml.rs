//! The tools that a configuration lists are built as the guide's sample shows them, or refused with the line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holdpoint_config::{ConfigError, Document};
use holdpoint_endpoints::{Surroundings, ToolSpec};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct File {
    agents: BTreeMap<String, AgentTable>,
}

#[derive(Debug, Deserialize)]
struct AgentTable {
    tools: BTreeMap<String, ToolSpec>,
}

fn read(text: &str) -> Result<File, ConfigError> {
    Document::toml(text, "f.toml")?.read()
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/samples")
}

#[test]
fn the_sample_of_the_guide_is_built() {
    let text = std::fs::read_to_string(samples().join("tools.toml")).unwrap();
    let mut file = read(&text).unwrap();
    let surroundings = Surroundings::default().with_folder(samples()).with_environment(|name| match name {
        "SHOP_TOKEN" => Some("t0ken".to_owned()),
        name => std::env::var(name).ok(),
    });
    let tools = file.agents.remove("support").unwrap().tools;
    let built: Vec<String> = tools
        .iter()
        .map(|(name, spec)| {
            let tool = spec.build_in(name, &surroundings).unwrap();
            format!("{} {}", tool.definition().name, tool.definition().metadata.source)
        })
        .collect();
    assert_eq!(built, ["inspect worker", "label command", "order http", "refund http"]);
}

fn refused(tool: &str) -> String {
    read(&format!("[agents.support.tools.a]\n{tool}\n")).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_names_its_place_and_the_nearest_key() {
    assert_eq!(
        refused("timeout_ms = 3\nkind = \"http\"\nurll = \"http://a.example\""),
        "f.toml:4:1: `agents.support.tools.a.urll` is an unknown key\nhint: did you mean `url`?"
    );
}

#[test]
fn a_key_of_another_kind_and_a_wrong_type_name_their_place() {
    assert_eq!(
        refused("kind = \"worker\"\nurl = \"http://a.example\""),
        "f.toml:3:1: `agents.support.tools.a.url` is an unknown key\nhint: known are `kind`, `description`, \
         `parameters`, `parallelizable`, `repeat`, `timeout_ms`"
    );
    assert_eq!(
        refused("kind = \"http\"\nurl = 3"),
        "f.toml:3:7: `agents.support.tools.a.url` must be a string, but is a number"
    );
}
