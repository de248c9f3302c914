//! The tools that a configuration lists are built as the guide's sample shows them, or refused with the line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/samples")
}

#[test]
fn the_sample_of_the_guide_is_built() {
    let text = std::fs::read_to_string(samples().join("tools.toml")).unwrap();
    let mut file: File = toml::from_str(&text).unwrap();
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
    let text = format!("[agents.support.tools.a]\n{tool}\n");
    toml::from_str::<File>(&text).unwrap_err().to_string()
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_key() {
    let error = refused("timeout_ms = 3\nkind = \"http\"\nurll = \"http://a.example\"");
    assert!(error.contains("line 4"), "{error}");
    assert!(error.contains("unknown key `urll`; hint: did you mean `url`?"), "{error}");
}

#[test]
fn a_key_of_another_kind_and_a_wrong_type_name_the_table() {
    let error = refused("kind = \"worker\"\nurl = \"http://a.example\"");
    assert!(error.contains("line 1") && error.contains("`url` is not a key of tools of kind `worker`"), "{error}");
    let error = refused("kind = \"http\"\nurl = 3");
    assert!(error.contains("line 1") && error.contains("invalid type: integer `3`, expected a string"), "{error}");
}
