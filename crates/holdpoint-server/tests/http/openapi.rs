//! The document of the API is a file: whoever changes the API changes it, and sees it.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const TYPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/console/api-types.d.ts");
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/openapi.json");

#[test]
fn the_document_is_as_it_was_agreed() {
    let mut text = serde_json::to_string_pretty(&holdpoint_server::openapi()).unwrap();
    text.push('\n');
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(Path::new(GOLDEN).parent().unwrap()).unwrap();
        std::fs::write(GOLDEN, &text).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    assert!(text == golden, "the API changed; if that is meant, run the test with UPDATE_GOLDEN=1");
}

/// `./scripts/clients run` compares every letter; this needs no generator.
#[test]
fn types_of_the_console_are_written_for_this_document() {
    let types = std::fs::read_to_string(TYPES).unwrap();
    let digest = Sha256::digest(std::fs::read(GOLDEN).unwrap());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let first = types.lines().next().unwrap_or_default();
    assert!(first.contains(&digest), "the types of the console are stale; run `./scripts/clients types`");
}

/// Only what users write themselves has no fields in the document.
#[test]
fn every_object_has_fields_unless_it_is_the_users_own_json() {
    fn bare(at: &str, value: &Value, found: &mut Vec<String>) {
        let Value::Object(members) = value else {
            let items = value.as_array().into_iter().flatten();
            return items.for_each(|item| bare(at, item, found));
        };
        let kind = &value["type"];
        let is_object = kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")));
        if is_object && !members.contains_key("properties") {
            found.push(at.to_owned());
        }
        for (name, member) in members {
            bare(&format!("{at}/{name}"), member, found);
        }
    }

    let document = serde_json::to_value(holdpoint_server::openapi()).unwrap();
    let mut found = Vec::new();
    bare("", &document["components"]["schemas"], &mut found);
    bare("", &document["paths"], &mut found);
    let own = [
        "/ApprovalView/properties/arguments",
        "/DecisionBody/properties/arguments",
        "/ExplainBody/properties/arguments",
        "/ExplainBody/properties/context",
        "/ExplainedCondition/properties/wants",
        "/LeasedTaskView/properties/arguments",
        "/LeasedTaskView/properties/context",
        "/Members",
        "/RunBody/properties/context",
        "/ToolView/properties/parameters",
    ];
    assert_eq!(found, own);
}

#[test]
fn every_operation_is_described_and_may_refuse() {
    let document = serde_json::to_value(holdpoint_server::openapi()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{method} {path}");
            assert!(operation["operationId"].is_string(), "{method} {path}");
            let problem = &operation["responses"]["default"]["content"]["application/problem+json"];
            assert!(problem.is_object(), "{method} {path}");
        }
    }
}
