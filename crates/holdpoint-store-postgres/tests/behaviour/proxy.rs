//! Stands between a store and its server, and breaks a connection at a chosen moment.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What gets lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never hears of it.
    Request,
    /// The server does it, and nobody hears that.
    Answer,
}

/// A server's address that leads through here.
pub(crate) struct Proxy {
    pub(crate) url: String,
    plan: Plan,
}

/// What to lose, and the bytes that tell which request it is.
type Plan = Arc<Mutex<Option<(Cut, Vec<u8>)>>>;

impl Proxy {
    pub(crate) async fn start(url: &str) -> Self {
        let (scheme_and_user, rest) = url.split_once('@').unwrap();
        let (server, database) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{scheme_and_user}@{}/{database}?sslmode=disable", listener.local_addr().unwrap());
        let plan = Arc::new(Mutex::new(None));
        let (server, planned) = (server.to_owned(), plan.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(between(client, server, planned.clone()));
            }
        });
        Self { url, plan }
    }

    /// The next request with these bytes in it breaks its connection.
    pub(crate) fn cut(&self, cut: Cut, mark: &str) {
        *self.plan.lock().unwrap() = Some((cut, mark.as_bytes().to_vec()));
    }

    /// Whether it happened.
    pub(crate) fn has_cut(&self) -> bool {
        self.plan.lock().unwrap().is_none()
    }
}

/// Each request of the driver is one write.
async fn between(client: TcpStream, server: TcpStream, plan: Plan) {
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let (deaf, hears) = watch::channel(false);
    let answers = tokio::spawn(answers(from_server, to_client, hears));
    let mut buffer = vec![0; 1 << 20];
    while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
        let request = &buffer[..length];
        let cut = {
            let mut plan = plan.lock().unwrap();
            let hit = plan.as_ref().is_some_and(|(_, mark)| request.windows(mark.len()).any(|part| part == mark));
            if hit { plan.take().map(|(cut, _)| cut) } else { None }
        };
        match cut {
            Some(Cut::Request) => break,
            Some(Cut::Answer) => {
                deaf.send(true).unwrap();
                to_server.write_all(request).await.unwrap();
                // Ends when the answer came, which nobody gets.
                answers.await.unwrap();
                return;
            }
            None => to_server.write_all(request).await.unwrap(),
        }
    }
    answers.abort();
}

async fn answers(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, hears: watch::Receiver<bool>) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(length @ 1..) = server.read(&mut buffer).await {
        if *hears.borrow() || client.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
