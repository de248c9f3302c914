//! Stands between a process and PostgreSQL: passes on, holds answers back, or cuts every connection.

use std::sync::Arc;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Open,
    /// Requests reach the server, answers do not come back.
    HoldAnswers,
    /// Nothing passes, and connections are closed.
    Cut,
}

pub(super) struct Proxy {
    /// The address of the database through it.
    pub(super) url: String,
    mode: watch::Sender<Mode>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub(super) async fn open(url: &str) -> anyhow::Result<Self> {
        let mut url = Url::parse(url).context("the address of the database")?;
        let host = url.host_str().context("a host")?.to_owned();
        let server: Arc<str> = format!("{host}:{}", url.port().unwrap_or(5432)).into();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        url.set_host(Some("127.0.0.1")).context("a host")?;
        url.set_port(Some(port)).ok().context("a port")?;
        let (mode, seen) = watch::channel(Mode::Open);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, Arc::clone(&server), seen.clone()));
            }
        });
        Ok(Self { url: url.into(), mode, accepting })
    }

    pub(super) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn pass(client: TcpStream, server: Arc<str>, mode: watch::Receiver<Mode>) {
    if *mode.borrow() == Mode::Cut {
        return;
    }
    let Ok(server) = TcpStream::connect(&*server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let mut cut = mode.clone();
    tokio::select! {
        () = copy(from_client, to_server, None) => {}
        () = copy(from_server, to_client, Some(mode)) => {}
        // The sender lives as long as the case.
        _ = cut.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

/// Copies until one side ends. With a mode, only while it is open.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut mode: Option<watch::Receiver<Mode>>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if let Some(mode) = &mut mode
            && mode.wait_for(|mode| *mode == Mode::Open).await.is_err()
        {
            return;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
