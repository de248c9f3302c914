//! A server that answers each request with the next of its answers and keeps what it was asked.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Server {
    url: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A whole answer, as bytes.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// A stream that ends when the connection does.
pub(crate) fn streamed(body: &str) -> String {
    answer("200 OK", "content-type: text/event-stream\r\n", body)
}

/// A stream of these chunks, with the last word.
pub(crate) fn chunks(chunks: &[&str]) -> String {
    let events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    streamed(&format!("{}data: [DONE]\n\n", events.concat()))
}

impl Server {
    pub(crate) async fn answering(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                kept.lock().unwrap().push(request);
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self { url, asked }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The head and the body of each request.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }

    /// The body of the last request.
    pub(crate) fn body(&self) -> Value {
        self.asked().pop().unwrap().1
    }
}

async fn read(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.unwrap();
    while bytes.len() < end + length {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
    }
    (head, serde_json::from_slice(&bytes[end..]).unwrap())
}
