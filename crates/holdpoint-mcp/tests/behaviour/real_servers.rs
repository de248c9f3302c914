//! The servers that others wrote: listed and called, over both transports.

use crate::common;

use std::process::Stdio;

use common::{call, connect, node, npm_package, python, tool};
use holdpoint_core::{Block, Outcome};
use holdpoint_mcp::{McpServers, ServerConfig};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

fn everything() -> ServerConfig {
    ServerConfig::stdio([node(), npm_package("server-everything/dist/index.js"), "stdio".to_owned()])
}

/// The same server over HTTP, until it is dropped. It listens already.
async fn everything_on(port: u16) -> Child {
    let mut child = Command::new(node())
        .args([npm_package("server-everything/dist/index.js"), "streamableHttp".to_owned()])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    child
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn reached_on(port: u16) -> ServerConfig {
    ServerConfig::http(format!("http://127.0.0.1:{port}/mcp"))
}

async fn everything_works(servers: &McpServers) {
    let names: Vec<_> = servers.tools().iter().map(|tool| tool.definition().name.as_str().to_owned()).collect();
    assert!(names.contains(&"all__trigger-elicitation-request".to_owned()), "{names:?}");

    let echo = tool(servers, "all__echo");
    assert_eq!(&*echo.definition().metadata.source, "mcp:all");
    let said = call(&echo, json!({ "message": "hello" })).await;
    assert_eq!((said.outcome, said.result.text()), (Outcome::Succeeded, "Echo: hello".to_owned()));

    let image = call(&tool(servers, "all__get-tiny-image"), json!({})).await;
    assert!(
        image.result.blocks.iter().any(|block| matches!(block, Block::Image(blob) if &*blob.media_type == "image/png"))
    );

    let structured = call(&tool(servers, "all__get-structured-content"), json!({ "location": "Chicago" })).await;
    assert!(matches!(&structured.result.blocks[..], [Block::Json(json)] if json.expose().contains("temperature")));

    let links = call(&tool(servers, "all__get-resource-links"), json!({ "count": 2 })).await;
    assert_eq!(links.result.text().matches(" at demo://resource").count(), 2, "{}", links.result.text());

    let resource =
        call(&tool(servers, "all__get-resource-reference"), json!({ "resourceType": "Blob", "resourceId": 1 })).await;
    assert!(resource.result.blocks.len() >= 3, "{:?}", resource.result);

    let refused = call(&tool(servers, "all__get-sum"), json!({ "a": "no number" })).await;
    assert_eq!(refused.outcome, Outcome::Failed, "{:?}", refused.result.text());
}

#[tokio::test]
async fn server_everything_is_listed_and_called_over_its_input_and_output() {
    let servers = connect("all", everything()).await;
    everything_works(&servers).await;
    servers.close().await;
}

#[tokio::test]
async fn server_everything_is_listed_and_called_over_http() {
    let port = free_port();
    let _child = everything_on(port).await;
    let servers = connect("all", reached_on(port)).await;
    everything_works(&servers).await;
    servers.close().await;
}

#[tokio::test]
async fn a_server_over_http_that_was_started_again_is_called_again() {
    let port = free_port();
    let mut child = everything_on(port).await;
    let servers = connect("all", reached_on(port)).await;
    let echo = tool(&servers, "all__echo");
    call(&echo, json!({ "message": "one" })).await;
    child.kill().await.unwrap();
    let gone = call(&echo, json!({ "message": "two" })).await;
    assert_eq!(gone.outcome, Outcome::Failed, "{}", gone.result.text());
    let _again = everything_on(port).await;
    let again = call(&echo, json!({ "message": "three" })).await;
    assert_eq!(again.outcome, Outcome::Succeeded, "{}", again.result.text());
}

#[tokio::test]
async fn several_servers_are_used_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("note.txt"), "what is in it").unwrap();
    let files = [node(), npm_package("server-filesystem/dist/index.js"), root.to_str().unwrap().to_owned()];
    let memory = [node(), npm_package("server-memory/dist/index.js")];
    let servers = McpServers::connect([
        ("files", ServerConfig::stdio(files)),
        ("memory", ServerConfig { cwd: Some(root.clone()), ..ServerConfig::stdio(memory) }),
        ("time", ServerConfig::stdio([python("mcp-server-time")])),
        ("git", ServerConfig::stdio([python("mcp-server-git")])),
    ])
    .await
    .unwrap();

    let read = call(&tool(&servers, "files__read_text_file"), json!({ "path": root.join("note.txt") })).await;
    assert!(read.result.text().contains("what is in it"), "{}", read.result.text());
    let outside = call(&tool(&servers, "files__read_text_file"), json!({ "path": "/etc/passwd" })).await;
    assert_eq!(outside.outcome, Outcome::Failed);

    let entity = json!({ "entities": [{ "name": "ana", "entityType": "person", "observations": ["kind"] }] });
    let made = call(&tool(&servers, "memory__create_entities"), entity).await;
    assert_eq!(made.outcome, Outcome::Succeeded, "{}", made.result.text());
    let graph = call(&tool(&servers, "memory__read_graph"), json!({})).await;
    assert!(graph.result.text().contains("ana"), "{}", graph.result.text());

    let time = call(&tool(&servers, "time__get_current_time"), json!({ "timezone": "Europe/Lisbon" })).await;
    assert!(time.result.text().contains("Europe/Lisbon"), "{}", time.result.text());

    let repository = root.join("repository");
    let init = Command::new("git").args(["init", "-q"]).arg(&repository).status().await.unwrap();
    assert!(init.success());
    let status = call(&tool(&servers, "git__git_status"), json!({ "repo_path": repository })).await;
    assert_eq!(status.outcome, Outcome::Succeeded, "{}", status.result.text());
    assert!(status.result.text().contains("No commits yet"), "{}", status.result.text());
    servers.close().await;
}
