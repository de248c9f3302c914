//! Something that answers on a port of this machine, and a client for it.

use anyhow::Context;
use holdpoint_server::{Limits, Server};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// How long a request asks to wait: longer than any run here takes.
const WAIT_MS: u32 = 30_000;

/// How many runs are posted.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Clients at the same time.
    pub(super) clients: usize,
    /// Runs of each client, one after another.
    pub(super) each: usize,
}

/// A server in this process.
pub(super) struct Front {
    url: String,
    client: Client,
    shutdown: CancellationToken,
    serving: JoinHandle<anyhow::Result<()>>,
}

impl Front {
    /// Serves routes and nothing else.
    pub(super) async fn of_routes(routes: axum::Router) -> anyhow::Result<Self> {
        Self::begin(|listener, until| async move {
            Ok(axum::serve(listener, routes).with_graceful_shutdown(until.cancelled_owned()).await?)
        })
        .await
    }

    /// Serves all that a server does.
    pub(super) async fn of_server(server: Server) -> anyhow::Result<Self> {
        Self::begin(|listener, until| async move { Ok(server.serve(listener, until).await?) }).await
    }

    async fn begin<F>(serve: impl FnOnce(TcpListener, CancellationToken) -> F) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, shutdown.clone()));
        Ok(Self { url, client: client()?, shutdown, serving })
    }

    /// Posts so many runs of an agent, some at once, and waits for the end of each.
    pub(super) async fn post(&self, agent: &str, load: Load) -> anyhow::Result<()> {
        let url = format!("{}/v1/runs?wait_ms={WAIT_MS}", self.url);
        let body = json!({ "agent": agent, "input": "go" });
        let mut under_way = JoinSet::new();
        for _ in 0..load.clients {
            let (client, url, body) = (self.client.clone(), url.clone(), body.clone());
            under_way.spawn(async move {
                for _ in 0..load.each {
                    let run = posted(&client, &url, &body).await?;
                    anyhow::ensure!(run["status"] == "finished", "a run is `{}`", run["status"]);
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = under_way.join_next().await {
            done??;
        }
        Ok(())
    }

    /// Stops it.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        // Its connections would be waited for.
        drop(self.client);
        self.serving.await?
    }
}

/// More than any measurement here sends.
pub(super) fn limits() -> Limits {
    Limits { requests_per_second: 1_000_000, requests_burst: 1_000_000, ..Limits::default() }
}

/// A client without TLS.
pub(super) fn client() -> anyhow::Result<Client> {
    Ok(Client::builder().tls_certs_only([]).no_proxy().build()?)
}

/// What a server says to a POST.
pub(super) async fn posted(client: &Client, url: &str, body: &Value) -> anyhow::Result<Value> {
    let request = client.post(url).header("content-type", "application/json").body(body.to_string());
    let response = request.send().await?;
    let status = response.status();
    let bytes = response.bytes().await?;
    anyhow::ensure!(status.is_success(), "the server says {status}: {}", String::from_utf8_lossy(&bytes));
    serde_json::from_slice(&bytes).context("the server does not answer with JSON")
}
