//! What never reaches a log, however much is logged. In a file of its own: the subscriber is the whole process's.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

#[path = "behaviour/common.rs"]
mod common;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};

use common::{call, connect, faulty, node, npm_package, over_http, tool, until};
use holdpoint_mcp::{McpServers, SecretSource, ServerConfig};
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One subscriber for the process, which takes everything.
fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false);
        subscriber.with_writer(move || writer.clone()).init();
        log
    })
}

#[tokio::test]
async fn secrets_of_headers_are_in_no_error_no_log_and_no_debug() {
    const SECRETS: [&str; 2] = ["hunter3", "hunter_4"];
    let folder = tempfile::tempdir().unwrap();
    let secret = |name: &str| {
        let path = folder.path().join(name.len().to_string());
        std::fs::write(&path, name).unwrap();
        SecretSource::File(path)
    };
    log();
    let mut seen = Vec::new();
    for mode in ["plain", "private", "broken"] {
        let (_server, config) = over_http(mode);
        let headers = [("X-Key".to_owned(), secret("hunter3"))].into();
        let config = ServerConfig { headers, bearer: Some(secret("hunter_4")), required: mode != "plain", ..config };
        seen.push(format!("{config:?}"));
        match McpServers::connect([("s", config)]).await {
            Ok(servers) => {
                let got = call(&tool(&servers, "s__headers"), json!({})).await.result.text();
                assert_eq!(got, format!("{} {}", "hunter3".len(), "Bearer hunter_4".len()), "the server got them");
                // It tells in its answer which headers it got.
                let rude = call(&tool(&servers, "s__rude"), json!({})).await;
                seen.push(format!("{servers:?} {:?} {:?} {}", servers.report(), rude, rude.result.text()));
                servers.close().await;
            }
            Err(error) => seen.push(format!("{error} {error:?}")),
        }
    }
    assert_eq!(seen.len(), 6);
    seen.push(log().text());
    for secret in SECRETS {
        assert!(seen.iter().all(|text| !text.contains(secret)), "{secret}: {seen:#?}");
    }
}

#[tokio::test]
async fn neither_arguments_nor_results_nor_what_a_program_says_reach_the_log() {
    let log = log();
    let everything = [node(), npm_package("server-everything/dist/index.js"), "stdio".to_owned()];
    let servers = connect("all", ServerConfig::stdio(everything)).await;
    let said = call(&tool(&servers, "all__echo"), json!({ "message": "hunter2" })).await;
    assert_eq!(said.result.text(), "Echo: hunter2");
    servers.close().await;

    // It says `hunter2` in each of the hundred lines of its error output.
    let servers = connect("loud", faulty("plain")).await;
    call(&tool(&servers, "loud__work"), json!({ "secret": "hunter2" })).await;
    servers.close().await;
    until("the lines are counted", || log.text().contains("lines=100")).await;
    let text = log.text();
    assert!(text.contains("an MCP server listed its tools"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(!text.contains("rmcp"), "{text}");
}
