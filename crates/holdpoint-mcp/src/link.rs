//! One connection to a server.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{PaginatedRequestParams, ProtocolVersion, SubscriptionFilter, Tool};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientCacheConfig, ClientLifecycleMode, Peer, RoleClient, ServiceError, serve_client_with_lifecycle};
use tokio::time::timeout;

use crate::handler::Handler;
use crate::host::Host;
use crate::process::{self, Ending};
use crate::{ConnectProblem, Protocol, ServerConfig, ServerName, http};

/// The most pages of a list that are read.
const PAGES_MAX: usize = 1_000;

/// A connection that is open.
pub(crate) struct Link {
    pub(crate) service: RunningService<RoleClient, Handler>,
    pub(crate) session: Arc<Session>,
}

/// What calls need of a connection.
pub(crate) struct Session {
    peer: Peer<RoleClient>,
    pub(crate) ending: Ending,
}

impl Session {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(crate) async fn ended(&self) {
        self.ending.ended.cancelled().await;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ending.ended.is_cancelled()
    }

    /// What was sent did not arrive: another connection is wanted.
    pub(crate) fn give_up(&self) {
        self.ending.ended.cancel();
    }

    /// Why it ended.
    pub(crate) fn problem(&self) -> ConnectProblem {
        self.ending.problem()
    }
}

impl Link {
    /// Opens a connection. A server that answers the question what it speaks by something that is no answer, or by
    /// leaving, is asked in the older way.
    pub(crate) async fn open(
        host: &Host,
        name: &ServerName,
        config: &ServerConfig,
        handler: Handler,
    ) -> Result<Self, ConnectProblem> {
        match (Self::open_as(config.protocol, host, name, config, handler.clone()).await, config.protocol) {
            (Err(ConnectProblem::Protocol | ConnectProblem::Closed | ConnectProblem::Refused), Protocol::Auto) => {
                Self::open_as(Protocol::Initialize, host, name, config, handler).await
            }
            (opened, Protocol::Auto | Protocol::Initialize | Protocol::Discover) => opened,
        }
    }

    async fn open_as(
        protocol: Protocol,
        host: &Host,
        name: &ServerName,
        config: &ServerConfig,
        handler: Handler,
    ) -> Result<Self, ConnectProblem> {
        let ending = Ending::new();
        let lifecycle = lifecycle(protocol);
        let limit = config.connect_timeout();
        let opened = match &config.url {
            Some(url) => {
                let (client, settings) = http::prepare(config, url, &ending)?;
                let transport = StreamableHttpClientTransport::with_client(client, settings);
                timeout(limit, serve_client_with_lifecycle(handler, transport, lifecycle)).await
            }
            None => {
                let transport = process::start(host, name, config, &ending).await?;
                timeout(limit, serve_client_with_lifecycle(handler, transport, lifecycle)).await
            }
        };
        match opened {
            Ok(Ok(service)) => {
                // A list is read when it is wanted, and then it is wanted as it is.
                service.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
                let session = Arc::new(Session { peer: service.peer().clone(), ending });
                Ok(Self { service, session })
            }
            Ok(Err(error)) => Err(init_problem(&error, &ending)),
            Err(_) => Err(ConnectProblem::TimedOut),
        }
    }

    /// Whether list changes must be asked for.
    pub(crate) fn must_subscribe(&self) -> bool {
        self.service.peer().peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }
}

fn lifecycle(protocol: Protocol) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match protocol {
        Protocol::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Protocol::Initialize => ClientLifecycleMode::Initialize,
        Protocol::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

fn init_problem(error: &ClientInitializeError, ending: &Ending) -> ConnectProblem {
    match error {
        ClientInitializeError::ConnectionClosed(_) => ending.problem(),
        ClientInitializeError::TransportError { .. } => ending.problem(),
        ClientInitializeError::JsonRpcError(_) => ConnectProblem::Refused,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => init_problem(fallback, ending),
        // What is left are ways in which a server did not speak the protocol.
        _ => ConnectProblem::Protocol,
    }
}

/// Lists the tools of a server, up to the limit.
pub(crate) async fn list_tools(session: &Session, config: &ServerConfig) -> Result<Vec<Tool>, ConnectProblem> {
    let listed = timeout(config.connect_timeout(), list_pages(session, config.max_tools)).await;
    listed.unwrap_or(Err(ConnectProblem::TimedOut))
}

async fn list_pages(session: &Session, max_tools: usize) -> Result<Vec<Tool>, ConnectProblem> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = tokio::select! {
            // A page that came before the end counts, also when both are seen at once.
            biased;
            page = session.peer.list_tools(Some(params)) => page.map_err(|error| list_problem(&error, session))?,
            () = session.ended() => return Err(session.problem()),
        };
        if tools.len() + page.tools.len() > max_tools {
            return Err(ConnectProblem::TooManyTools);
        }
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(ConnectProblem::TooManyTools)
}

fn list_problem(error: &ServiceError, session: &Session) -> ConnectProblem {
    match error {
        ServiceError::McpError(_) => ConnectProblem::Refused,
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => session.problem(),
        _ => ConnectProblem::Protocol,
    }
}

/// Listens for changes of the list of a server that tells only those who ask. Ends when the server does not tell.
pub(crate) async fn hear_changes(peer: Peer<RoleClient>, changed: impl Fn()) {
    /// How long a subscription rests before it is made again.
    const REST: Duration = Duration::from_secs(30);
    while let Ok(mut subscription) = peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await {
        while let Ok(Some(_)) = subscription.next().await {
            changed();
        }
        if peer.is_transport_closed() {
            return;
        }
        tokio::time::sleep(REST).await;
        // What happened in between nobody told us.
        changed();
    }
}
