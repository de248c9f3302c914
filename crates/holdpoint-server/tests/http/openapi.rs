//! The document of the API is a file: whoever changes the API changes it, and sees it.

use std::path::Path;

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
