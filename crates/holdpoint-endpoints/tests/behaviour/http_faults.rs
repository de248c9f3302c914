//! Services that stall, cut, lie and flood: every one ends in one result, within its limits.

use crate::support;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use holdpoint_core::{Code, Outcome};
use holdpoint_tools::Tool;
use serde_json::{Value, json};
use support::{Server, call, serve_raw, settle, text, tool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Reads the head of a request.
async fn head(stream: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut byte = [0; 512];
    while !seen.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut byte).await {
            Ok(read) if read > 0 => seen.extend_from_slice(&byte[..read]),
            _ => return,
        }
    }
}

/// A service that reads a request, says these bytes, and closes the connection.
async fn saying(bytes: Vec<u8>) -> Server {
    let bytes = Arc::new(bytes);
    serve_raw("127.0.0.1:0", move |mut stream| {
        let bytes = Arc::clone(&bytes);
        async move {
            head(&mut stream).await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

fn table(server: &Server, more: &Value) -> Value {
    let mut table = json!({ "kind": "http", "method": "GET", "url": server.url("/"), "allow_private": true });
    table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    table
}

async fn answer_to(bytes: impl Into<Vec<u8>>, more: Value) -> String {
    let server = saying(bytes.into()).await;
    text(&tool(table(&server, &more)), json!({})).await
}

const BROKEN: &str = "failed: The connection to the service broke. It may have taken effect.";

#[tokio::test]
async fn broken_answers_are_failed_results() {
    for bytes in [
        "",
        "H",
        "nonsense\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nab",
    ] {
        assert_eq!(answer_to(bytes, json!({})).await, BROKEN, "{bytes:?}");
    }
    assert_eq!(
        answer_to("", json!({ "repeat": "safe" })).await,
        "failed: The connection to the service broke.",
        "what may be repeated leaves no doubt"
    );
}

#[tokio::test]
async fn an_answer_that_is_longer_than_it_says_is_read_as_long_as_it_says() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok and much more";
    assert_eq!(answer_to(bytes, json!({})).await, "ok");
}

#[tokio::test]
async fn an_answer_without_a_length_ends_with_its_connection() {
    assert_eq!(answer_to("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it", json!({})).await, "all of it");
}

#[tokio::test]
async fn heads_without_an_end_are_not_kept() {
    let mut bytes = b"HTTP/1.1 200 OK\r\n".to_vec();
    for number in 0..200_000 {
        bytes.extend_from_slice(format!("X-{number}: {number}\r\n").as_bytes());
    }
    assert_eq!(answer_to(bytes, json!({})).await, BROKEN);
}

#[tokio::test]
async fn a_service_that_is_not_there_took_no_effect() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let tool = tool(json!({ "kind": "http", "url": url, "allow_private": true }));
    assert_eq!(text(&tool, json!({})).await, "failed: The service cannot be reached.");
    let tool = support::tool_in(
        json!({ "kind": "http", "url": "http://nowhere.test/" }),
        &support::Names::default().surroundings(),
    );
    assert_eq!(text(&tool, json!({})).await, "failed: The service cannot be reached.");
}

/// Stalls at one of several places and notes when its client is gone.
async fn stalling(bytes: &'static [u8]) -> (Server, tokio::sync::mpsc::UnboundedReceiver<()>) {
    let (gone, is_gone) = tokio::sync::mpsc::unbounded_channel();
    let server = serve_raw("127.0.0.1:0", move |mut stream| {
        let gone = gone.clone();
        async move {
            head(&mut stream).await;
            let _ = stream.write_all(bytes).await;
            let mut rest = [0; 1];
            // Ends when the other side closes.
            let _ = stream.read(&mut rest).await;
            let _ = gone.send(());
        }
    })
    .await;
    (server, is_gone)
}

#[tokio::test]
async fn a_service_that_stalls_times_out_and_its_connection_is_closed() {
    for bytes in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ] {
        let (server, mut is_gone) = stalling(bytes).await;
        let tool = tool(table(&server, &json!({ "timeout_ms": 200 })));
        let settled = settle(&tool, call(&json!({}))).await;
        assert_eq!((settled.outcome, settled.code), (Outcome::TimedOut, Some(Code::TimedOut)));
        is_gone.recv().await.unwrap();
        // Without a caller that has a limit, the tool has its own.
        let said = text(&tool, json!({})).await;
        assert_eq!(said, "failed: The service did not answer in time. It may have taken effect.");
        is_gone.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_cancelled_call_closes_its_connection() {
    let (server, mut is_gone) = stalling(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
    let tool = tool(table(&server, &json!({})));
    let call = call(&json!({}));
    let cancel = call.cancellation().clone();
    let running = tokio::spawn(async move { settle(&tool, call).await });
    while server.connections() == 0 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    assert_eq!(running.await.unwrap().outcome, Outcome::Cancelled);
    is_gone.recv().await.unwrap();
}

/// Sends a gigabyte and counts how much of it was taken.
async fn flooding(head_text: &'static str) -> (Server, Arc<AtomicU64>) {
    const GIGABYTE: u64 = 1 << 30;
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&taken);
    let server = serve_raw("127.0.0.1:0", move |mut stream| {
        let taken = Arc::clone(&counted);
        async move {
            head(&mut stream).await;
            let _ = stream.write_all(head_text.as_bytes()).await;
            let chunk = vec![b'a'; 64 * 1024];
            let mut sent = 0;
            while sent < GIGABYTE && stream.write_all(&chunk).await.is_ok() {
                sent += chunk.len() as u64;
                taken.store(sent, Ordering::SeqCst);
            }
        }
    })
    .await;
    (server, taken)
}

#[tokio::test]
async fn a_gigabyte_is_cut_at_the_limit_and_not_received() {
    const RECEIVED_MAX: u64 = 32 * 1024 * 1024;
    for head in [
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1073741824\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
    ] {
        let (server, taken) = flooding(head).await;
        let flood = tool(table(&server, &json!({ "max_response_bytes": 1000 })));
        let said = text(&flood, json!({})).await;
        assert_eq!(said, format!("{}[truncated]", "a".repeat(1000)));
        drop(flood);
        assert!(taken.load(Ordering::SeqCst) < RECEIVED_MAX);
    }
    let (server, _) = flooding("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n").await;
    let said = text(&tool(table(&server, &json!({ "max_response_bytes": 1000 }))), json!({})).await;
    assert_eq!(
        said,
        "failed: The service answered with status 200, but with more than 1000 bytes. It may have taken effect."
    );
}

fn gzip(bytes: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..times {
        encoder.write_all(bytes).unwrap();
    }
    encoder.finish().unwrap()
}

fn packed(encoding: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn a_packed_answer_is_unpacked() {
    assert_eq!(answer_to(packed("gzip", &gzip(b"hello", 2)), json!({})).await, "hellohello");
    assert_eq!(answer_to(packed("identity", b"plain"), json!({})).await, "plain");
}

#[tokio::test]
async fn an_answer_that_grows_when_it_is_unpacked_is_cut_at_the_limit() {
    // 256 MB in about 250 kB.
    let bomb = gzip(&vec![b'a'; 1 << 20], 256);
    assert!(bomb.len() < 1 << 20);
    let said = answer_to(packed("gzip", &bomb), json!({ "max_response_bytes": 5000 })).await;
    assert_eq!(said, format!("{}[truncated]", "a".repeat(5000)));
}

#[tokio::test]
async fn packed_bytes_that_stand_for_nothing_end_too() {
    let nothing = gzip(b"", 0).repeat(20_000);
    let said = answer_to(packed("gzip", &nothing), json!({ "max_response_bytes": 1000 })).await;
    assert_eq!(said, "[truncated]");
}

#[tokio::test]
async fn an_answer_that_cannot_be_unpacked_is_a_failed_result() {
    let cut = &gzip(b"hello", 1000)[..20];
    for bytes in [packed("gzip", b"not gzip"), packed("gzip", cut), packed("br", b"x"), packed("gzip, gzip", b"x")] {
        let said = answer_to(bytes, json!({})).await;
        assert_eq!(said, "failed: The service gave an answer that cannot be unpacked. It may have taken effect.");
    }
}

#[tokio::test]
async fn nothing_of_a_fault_names_the_address_or_the_arguments() {
    let server = saying(Vec::new()).await;
    let table = json!({
        "kind": "http", "url": server.url("/{a}"), "allow_private": true,
        "parameters": { "type": "object", "properties": { "a": {} } },
    });
    let tool: Arc<dyn Tool> = tool(table);
    let said = text(&tool, json!({ "a": "s3cret" })).await;
    assert!(!said.contains("s3cret") && !said.contains(&server.port().to_string()), "{said}");
}
