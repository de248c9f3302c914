//! The tools of MCP servers as they were accepted, kept in the store: a tool whose definition changed between two processes
//! is withheld until an operator accepts it.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::ToolName;
use holdpoint_mcp::{ListedTool, McpError, McpServers, ServerConfig, ToolDigest, ToolStatus};
use holdpoint_policy::KnownTools;
use holdpoint_store::{Store, StoreError};
use thiserror::Error;

/// Accepted tools by the server's own names for them.
pub(crate) type Accepted = BTreeMap<String, ToolDigest>;

/// Why servers cannot be used.
#[derive(Debug, Error)]
pub(crate) enum AcceptError {
    #[error(transparent)]
    Mcp(#[from] McpError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A tool of a server that is not offered.
#[derive(Clone, Debug)]
pub(crate) struct Withheld {
    pub(crate) server: String,
    pub(crate) tool: ListedTool,
}

impl Withheld {
    /// Why, in a few words.
    pub(crate) fn why(&self) -> &'static str {
        match self.tool.status {
            ToolStatus::Offered => "offered",
            ToolStatus::NotAccepted => "new and not accepted",
            ToolStatus::Changed { .. } => "changed since it was accepted",
            ToolStatus::Unusable(reason) => reason,
        }
    }
}

/// The name under which the store keeps the accepted tools of a server.
pub(crate) fn setting(agent: &str, server: &str) -> String {
    // The length first, so that no two agents and servers have one name.
    format!("mcp_tools:{}:{agent}:{server}", agent.len())
}

/// Starts or reaches the servers of an agent. Those that the configuration accepts no tools of by itself offer what was
/// accepted on this store, and all that they list if they are new to it.
pub(crate) async fn connect(
    agent: &str,
    mut configs: BTreeMap<String, ServerConfig>,
    store: &Store,
) -> Result<McpServers, AcceptError> {
    let mut new = Vec::new();
    for (server, config) in configs.iter_mut().filter(|(_, config)| config.accepted.is_none()) {
        match store.state.setting(&setting(agent, server)).await? {
            Some(stored) => config.accepted = Some(parse(&stored)),
            None => new.push(server.clone()),
        }
    }
    loop {
        let servers = McpServers::connect(configs.clone()).await?;
        let mut is_settled = true;
        for server in &new {
            let Some(listed) = servers.accepted(server) else { continue };
            let stored = store.state.first_setting(&setting(agent, server), &to_text(&listed)).await?;
            // Another process was faster, and saw something else.
            if parse(&stored) != listed
                && let Some(config) = configs.get_mut(server)
            {
                config.accepted = Some(parse(&stored));
                is_settled = false;
            }
        }
        if is_settled {
            report(agent, &servers);
            return Ok(servers);
        }
        servers.close().await;
    }
}

/// Accepts tools of a server as they are listed now. Returns whether no other process accepted tools of it meanwhile.
pub(crate) async fn accept(setting: &str, tools: &[&ListedTool], store: &Store) -> Result<bool, StoreError> {
    let before = store.state.first_setting(setting, &to_text(&Accepted::new())).await?;
    let mut accepted = parse(&before);
    accepted.extend(tools.iter().map(|tool| (tool.name.clone(), tool.digest)));
    store.state.change_setting(setting, &before, &to_text(&accepted)).await
}

/// The tools that are listed and not offered.
pub(crate) fn withheld(servers: &McpServers) -> Vec<Withheld> {
    let of_server = |report: holdpoint_mcp::ServerReport| {
        let server = report.server.to_string();
        let tools = report.tools.into_iter().filter(|tool| tool.status != ToolStatus::Offered);
        tools.map(move |tool| Withheld { server: server.clone(), tool }).collect::<Vec<_>>()
    };
    servers.report().into_iter().flat_map(of_server).collect()
}

/// The tools that rules may name although no model is offered them: those that are withheld, and all of a server that is not
/// reached.
pub(crate) fn unregistered(servers: &McpServers) -> KnownTools {
    let mut known = KnownTools::default();
    for report in servers.report() {
        if report.reached.is_err() {
            known.open_prefixes.push(format!("{}__", report.server).into());
        }
        known.names.extend(report.tools.iter().map(|tool| ToolName::new(tool.registered.as_str())));
    }
    known
}

fn report(agent: &str, servers: &McpServers) {
    for withheld in withheld(servers) {
        let Withheld { server, tool } = &withheld;
        if matches!(tool.status, ToolStatus::Changed { .. }) {
            tracing::warn!(
                target: "holdpoint", agent, server, tool = %tool.registered, digest = %tool.digest,
                "MCP tool withheld: its definition changed since it was accepted; see `holdpoint tools accept`"
            );
        } else {
            tracing::info!(target: "holdpoint", agent, server, tool = %tool.registered, why = withheld.why(), "MCP tool withheld");
        }
    }
}

/// What cannot be read accepts nothing.
fn parse(text: &str) -> Accepted {
    serde_json::from_str(text).unwrap_or_default()
}

fn to_text(accepted: &Accepted) -> Arc<str> {
    serde_json::to_string(accepted).unwrap_or_default().into()
}
