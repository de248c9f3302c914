//! The official conformance suite, in client mode: every scenario about tools.

use crate::common;

use common::{node, npm_package};
use tokio::process::Command;

/// The example that the suite starts; `cargo test` builds it.
fn client() -> String {
    let test = std::env::current_exe().unwrap();
    let client = test.parent().unwrap().parent().unwrap().join("examples/conformance_client");
    assert!(client.exists(), "the client is missing: run `cargo build -p holdpoint-mcp --examples`");
    client.to_str().unwrap().to_owned()
}

async fn scenario(name: &str) {
    let results = tempfile::tempdir().unwrap();
    let output = Command::new(node())
        .arg(npm_package("conformance/dist/index.js"))
        .args(["client", "--command", &client(), "--scenario", name, "--timeout", "60000", "--output-dir"])
        .arg(results.path())
        .output()
        .await
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {said}");
    assert!(said.contains("Passed:"), "{name}: {said}");
}

#[tokio::test]
async fn a_connection_is_opened_as_the_suite_wants() {
    scenario("initialize").await;
}

#[tokio::test]
async fn tools_are_called_as_the_suite_wants() {
    scenario("tools_call").await;
}

#[tokio::test]
async fn what_a_person_leaves_out_is_filled_as_the_suite_wants() {
    scenario("elicitation-sep1034-client-defaults").await;
}

#[tokio::test]
async fn a_stream_that_ends_is_taken_up_as_the_suite_wants() {
    scenario("sse-retry").await;
}
