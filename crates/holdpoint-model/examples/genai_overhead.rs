//! What a request through `genai` costs over a bare loop of reqwest with the same bodies: wall time of each, in turn, against
//! a server in the same process that answers at once.
//!
//! `cargo run --release -p holdpoint-model --example genai_overhead`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "it measures and prints")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdpoint_core::Message;
use holdpoint_model::{ModelChoice, ModelRequest, NoDeltas};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ROUNDS: usize = 300;
const REPLY: &str = include_str!("../tests/sdk/anthropic_text.sse");

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let body = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&body);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, Arc::clone(&seen)));
        }
    });
    let model = ModelChoice::parse("anthropic:m").unwrap().base_url(&*url).open().unwrap();
    let bare = reqwest::Client::new();
    for history in [10, 1_000] {
        let messages: Vec<Arc<Message>> = (0..history).map(|index| Arc::new(said(index))).collect();
        let request = ModelRequest::new(&messages, &[]);
        model.reply(&request, &NoDeltas).await.unwrap();
        let sent = body.lock().unwrap().clone();
        let (mut through, mut without) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let started = Instant::now();
            model.reply(&request, &NoDeltas).await.unwrap();
            through.push(started.elapsed());
            let started = Instant::now();
            let request = bare.post(format!("{url}/messages")).header("content-type", "application/json");
            request.body(sent.clone()).send().await.unwrap().bytes().await.unwrap();
            without.push(started.elapsed());
        }
        let (through, without) = (median(through), median(without));
        let over = through.saturating_sub(without).as_secs_f64() * 1e3;
        println!(
            "{{\"bench\":\"genai-overhead\",\"history\":{history},\"ms\":{:.3},\"bare_ms\":{:.3},\"over_ms\":{over:.3}}}",
            through.as_secs_f64() * 1e3,
            without.as_secs_f64() * 1e3
        );
    }
}

fn said(index: usize) -> Message {
    let text = format!("This is message number {index}, and it has about as many words as people use.");
    if index.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Answers every request on a connection with the same reply, and keeps the latest body.
async fn serve(mut socket: TcpStream, seen: Arc<Mutex<Vec<u8>>>) {
    socket.set_nodelay(true).unwrap();
    let answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{REPLY}", REPLY.len());
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read) = socket.read(&mut buffer).await {
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&buffer[..read]);
        let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
        if bytes.len() >= head + 4 + length {
            *seen.lock().unwrap() = bytes.split_off(head + 4);
            bytes.clear();
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    }
}
