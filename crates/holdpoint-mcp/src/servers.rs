//! All MCP servers of a process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use holdpoint_config::Problem;
use holdpoint_tools::Tool;
use tokio::sync::oneshot;

use crate::catalog::ListedTool;
use crate::host::HostGuard;
use crate::server::{Server, State};
use crate::tool::McpTool;
use crate::{ConnectProblem, McpError, ServerConfig, ServerName, ToolDigest};

/// MCP servers that are started or reached, and kept so until this and every tool of theirs is dropped, or
/// [`close`](Self::close) is called. Cheap to clone.
#[derive(Clone)]
pub struct McpServers {
    servers: Arc<BTreeMap<ServerName, Arc<Server>>>,
    guard: Arc<HostGuard>,
}

/// How a server is, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerReport {
    /// Its name.
    pub server: ServerName,
    /// Whether it can be called now, and if not, why.
    pub reached: Result<(), ConnectProblem>,
    /// What it lists.
    pub tools: Vec<ListedTool>,
}

impl McpServers {
    /// Starts or reaches all of these servers at once, and waits until each was reached or could not be. What cannot be
    /// reached is in the [`report`](Self::report), is tried again, and keeps no other from working.
    ///
    /// # Errors
    /// When a configuration cannot be, or a server that is `required` cannot be used. Then none is kept.
    pub async fn connect<N: AsRef<str>>(
        servers: impl IntoIterator<Item = (N, ServerConfig)>,
    ) -> Result<Self, McpError> {
        let guard = HostGuard::start()?;
        let mut known = BTreeMap::new();
        for (name, config) in servers {
            let given = name.as_ref();
            let rejected = |problem: Problem| McpError::Config(problem.below(given));
            let name = ServerName::new(given).map_err(rejected)?;
            config.check().map_err(rejected)?;
            let server = Arc::new(Server::new(name.clone(), config, guard.host().clone()));
            if known.insert(name.clone(), server).is_some() {
                return Err(McpError::Config(Problem::at(name.as_str(), "is the name of two servers")));
            }
        }
        let waits: Vec<_> = known
            .values()
            .map(|server| {
                let (first, outcome) = oneshot::channel();
                guard.host().spawn(Arc::clone(server).run(first));
                (server, outcome)
            })
            .collect();
        for (server, outcome) in waits {
            let outcome = outcome.await.unwrap_or(Err(ConnectProblem::Closed));
            match outcome {
                Err(problem) if server.config.required => {
                    return Err(McpError::Connect { server: server.name.clone(), problem });
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(Self { servers: Arc::new(known), guard })
    }

    /// The tools that are offered now, for [`Builder::tools`] of an agent. A tool that is not offered any more does not
    /// run, whoever holds it; one that is offered later is in a later list. A server that was left alone is tried again.
    ///
    /// [`Builder::tools`]: https://docs.rs/holdpoint
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.servers.values().flat_map(|server| {
            // Nobody can call what was never listed, so whoever wants tools wants the server.
            server.wake();
            let slots = server.catalog().offered();
            slots.into_iter().map(|slot| McpTool::new(Arc::clone(server), slot, Arc::clone(&self.guard)))
        });
        tools.map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
    }

    /// Accepts a tool, by the server's own name for it, exactly as somebody saw it. From now on [`tools`](Self::tools)
    /// has it, until it changes.
    ///
    /// # Errors
    /// When the server or the tool is not there, or is not what was seen.
    pub fn accept(&self, server: &str, tool: &str, digest: ToolDigest) -> Result<(), McpError> {
        let known = ServerName::new(server).ok().and_then(|name| self.servers.get(&name));
        let known = known.ok_or_else(|| McpError::UnknownServer { server: server.escape_debug().to_string() })?;
        known.catalog().accept(tool, digest)
    }

    /// The tools of a server that are accepted, each with the digest of what was accepted. Nothing for a server that has not
    /// listed its tools yet, unless its configuration says which they are. Stored and given as
    /// [`ServerConfig::accepted`] to the next process, it keeps a tool that changed meanwhile from being offered.
    pub fn accepted(&self, server: &str) -> Option<BTreeMap<String, ToolDigest>> {
        let name = ServerName::new(server).ok()?;
        self.servers.get(&name)?.catalog().accepted().cloned()
    }

    /// How every server is, and what it lists, whether it is offered or not.
    pub fn report(&self) -> Vec<ServerReport> {
        let report = |server: &Arc<Server>| ServerReport {
            server: server.name.clone(),
            reached: match server.state() {
                State::Up(session) if !session.has_ended() => Ok(()),
                State::Up(_) | State::Connecting | State::Closed => Err(ConnectProblem::Closed),
                State::Down(problem) => Err(problem),
            },
            tools: server.catalog().listed(),
        };
        self.servers.values().map(report).collect()
    }

    /// Ends all connections, and all programs that were started, and waits for it. Calls that run fail.
    pub async fn close(&self) {
        self.guard.close().await;
    }
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.servers.keys().map(ServerName::as_str)).finish()
    }
}
