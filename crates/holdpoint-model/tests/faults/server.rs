//! A provider that misbehaves exactly as told, down to the bytes on the socket.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The longest request that a test sends.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// What the server does next on a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes again and again, until the client has gone.
    Forever(Vec<u8>),
    /// Says nothing more, and keeps the connection until the client has gone.
    Hang,
    /// Waits until what was sent is likely to have arrived.
    Pause,
    /// Ends the connection with a reset instead of a proper end.
    Reset,
}

/// What it does on one connection, after it has read the request.
pub(crate) type Answer = Vec<Act>;

pub(crate) struct FaultServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl FaultServer {
    /// The nth request gets the nth answer, and later ones the last.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, answers.clone(), Arc::clone(&seen)));
            }
        });
        Self { url, requests, task }
    }

    /// The requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut socket: TcpStream, answers: Vec<Answer>, seen: Arc<Mutex<Vec<String>>>) {
    let Some(request) = request(&mut socket).await else { return };
    let answer = {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(request);
        answers[(seen.len() - 1).min(answers.len() - 1)].clone()
    };
    for act in answer {
        match act {
            Act::Send(bytes) => {
                if socket.write_all(&bytes).await.is_err() {
                    return;
                }
                // Each piece is a read of its own on the other side, as far as that can be had.
                let _ = socket.flush().await;
                tokio::task::yield_now().await;
            }
            Act::Forever(bytes) => while socket.write_all(&bytes).await.is_ok() {},
            Act::Hang => while matches!(socket.read(&mut [0; 64]).await, Ok(read) if read > 0) {},
            // tidy: sleeps because a reset overtakes what the other side has not read yet.
            Act::Pause => tokio::time::sleep(Duration::from_millis(50)).await,
            Act::Reset => {
                socket.set_zero_linger().unwrap();
                return;
            }
        }
    }
    let _ = socket.shutdown().await;
    // The client reads what is on its way before it learns of the end.
    let _ = tokio::time::timeout(Duration::from_millis(500), socket.read(&mut [0; 64])).await;
}

/// Reads one request with a length.
async fn request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16_384];
    loop {
        if let Some(head) = find(&bytes, b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
            if bytes.len() >= head + 4 + length {
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        match socket.read(&mut buffer).await {
            Ok(read) if read > 0 && bytes.len() < REQUEST_BYTES_MAX => bytes.extend_from_slice(&buffer[..read]),
            Ok(_) | Err(_) => return None,
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// An answer with a status and a whole body.
pub(crate) fn status(line: &str, headers: &str, body: &str) -> Answer {
    let head = format!("HTTP/1.1 {line}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    vec![Act::Send(format!("{head}{body}").into_bytes())]
}

/// The head of an event stream that ends with the connection.
pub(crate) fn stream_head() -> Act {
    Act::Send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

/// An event stream of these pieces.
pub(crate) fn stream(frames: &[String]) -> Answer {
    let mut acts = vec![stream_head()];
    acts.extend(frames.iter().map(|frame| Act::Send(frame.clone().into_bytes())));
    acts
}
