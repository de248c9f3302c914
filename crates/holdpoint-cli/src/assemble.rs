//! Makes agents of what a configuration says: the only place where parts are chosen.

use std::sync::Arc;
use std::time::Duration;

use holdpoint::{Agent, ReceiptKey};
use holdpoint_config::{ConfigError, KeyPath, Problem};
use holdpoint_endpoints::Surroundings;
use holdpoint_mcp::{McpError, McpServers, ServerConfig};
use holdpoint_policy::{KnownTools, Policy as _, RulesFile};
use holdpoint_skills::Skills;
use holdpoint_store::Store;
use holdpoint_tools::hooks::system_time;
use holdpoint_tools::{Around, Registry, Tool, ToolDefinition};

use crate::accepted_tools::{self, AcceptError, Withheld};
use crate::config::{AgentTable, Config};

/// An agent, ready to be asked.
pub(crate) struct Ready {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) agent: Agent,
    /// What explains its decisions, if it has a policy.
    pub(crate) rules: Option<Arc<RulesFile>>,
    pub(crate) tools: Vec<Arc<ToolDefinition>>,
    /// Tools of MCP servers that are not offered.
    pub(crate) withheld: Vec<Withheld>,
}

/// What every agent of a process shares.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) receipt_key: Option<ReceiptKey>,
}

/// Builds the agents of a configuration, or only the one of this name. MCP servers are started or reached.
pub(crate) async fn agents(config: &Config, shared: &Shared, only: Option<&str>) -> Result<Vec<Ready>, ConfigError> {
    let surroundings = Surroundings::default().with_folder(config.document.folder());
    let mut ready = Vec::new();
    for agent in config.agents.iter().filter(|agent| only.is_none_or(|name| name == agent.name)) {
        let mut tools = local_tools(agent, &surroundings)?;
        let servers = mcp_servers(agent, &shared.store).await?;
        tools.extend(servers.iter().flat_map(McpServers::tools));
        let mut kit = Kit::new(agent, tools)?;
        kit.unregistered = servers.as_ref().map(accepted_tools::unregistered).unwrap_or_default();
        let withheld = servers.as_ref().map(accepted_tools::withheld).unwrap_or_default();
        ready.push(Ready { withheld, ..kit.build(shared)? });
    }
    Ok(ready)
}

/// The tools of an agent that need no server: those of its tables and of its skills.
pub(crate) fn local_tools(agent: &AgentTable, surroundings: &Surroundings) -> Result<Vec<Arc<dyn Tool>>, ConfigError> {
    let mut tools = Vec::new();
    for (name, spec) in &agent.keys.tools.0 {
        let tool = spec.build_in(name, surroundings);
        tools.push(tool.map_err(|problem| agent.error(problem.below("tools")))?);
    }
    if !agent.keys.skills.is_empty() {
        let skills = Skills::open(agent.keys.skills.iter().map(|folder| agent.folder().join(folder)));
        let unusable = |error| agent.error(Problem::at("skills", format_args!("cannot be used: {error}")));
        tools.extend(skills.map_err(unusable)?.tools());
    }
    Ok(tools)
}

/// The MCP servers of an agent, with their tools as they were accepted on this store.
async fn mcp_servers(agent: &AgentTable, store: &Store) -> Result<Option<McpServers>, ConfigError> {
    if agent.keys.mcp.0.is_empty() {
        return Ok(None);
    }
    let in_folder = |server: &ServerConfig| server.clone().in_folder(agent.folder());
    let configs = agent.keys.mcp.0.iter().map(|(name, server)| (name.clone(), in_folder(server))).collect();
    let connected = accepted_tools::connect(&agent.name, configs, store).await;
    connected.map(Some).map_err(|error| {
        agent.error(match error {
            AcceptError::Mcp(McpError::Config(problem)) => problem.below("mcp"),
            AcceptError::Mcp(McpError::Connect { server, problem }) => {
                Problem::at_key(["mcp", server.as_str()], format_args!("cannot be used: {problem}"))
            }
            AcceptError::Mcp(error) => Problem::at("mcp", format_args!("cannot be used: {error}")),
            AcceptError::Store(error) => {
                Problem::at("mcp", format_args!("cannot be used: the accepted tools cannot be read: {error}"))
            }
        })
    })
}

/// Tools, hooks and policy of an agent, checked against each other. No model and no store yet.
pub(crate) struct Kit<'c> {
    table: &'c AgentTable,
    registry: Registry,
    pub(crate) rules: Option<Arc<RulesFile>>,
    hooks: Vec<Arc<dyn Around>>,
    /// Tools that the policy may name although they are not registered.
    unregistered: KnownTools,
}

impl<'c> Kit<'c> {
    /// With these tools.
    pub(crate) fn new(table: &'c AgentTable, tools: Vec<Arc<dyn Tool>>) -> Result<Self, ConfigError> {
        let mut registry = Registry::new();
        for tool in tools {
            let name = tool.definition().name.clone();
            let registered = registry.register_shared(tool);
            registered.map_err(|error| {
                table.error(Problem::at(["tools", name.as_str()], format_args!("cannot be used: {error}")))
            })?;
        }
        let mut hooks = Vec::new();
        for (index, hook) in table.keys.hooks.iter().enumerate() {
            let hook = hook.build(&registry, &system_time()).map_err(|error| {
                let path = KeyPath::from("hooks").index(index).key(error.hook).key(error.field);
                table.error(Problem::at(path, error.problem))
            })?;
            hooks.push(hook);
        }
        Ok(Self { table, rules: rules(table)?, registry, hooks, unregistered: KnownTools::default() })
    }

    /// Whether the policy names only tools that are there and context attributes that are kept.
    pub(crate) fn check_policy(&self) -> Result<(), ConfigError> {
        let Some(rules) = &self.rules else { return Ok(()) };
        let mut tools = self.unregistered.clone();
        tools.names.extend(self.registry.tools().map(|tool| tool.name().clone()));
        let accepts = rules.accepts_context_keys(&self.table.settings.context_keys);
        accepts
            .and_then(|()| rules.accepts_tools(&tools))
            .map_err(|error| self.table.error(Problem::at("policy", format_args!("does not fit: {error}"))))
    }

    fn build(self, shared: &Shared) -> Result<Ready, ConfigError> {
        self.check_policy()?;
        let Self { table, registry, rules, hooks, unregistered } = self;
        let tools = registry.definitions();
        let mut builder = Agent::builder()
            .name(table.name.as_str())
            .shared_model(table.model.open(table.folder()).map_err(|error| table.error(error))?)
            .model_options(table.model.options())
            .tool_choice(table.model.tool_choice())
            .settings(table.settings.clone())
            .unregistered_tools(unregistered)
            .tools(registry.tools().map(|tool| Arc::clone(tool.tool())))
            .store(shared.store.clone());
        if let Some(prompt) = &table.keys.system_prompt {
            builder = builder.system_prompt(prompt.as_str());
        }
        if let Some(lease_ms) = table.keys.lease_ms {
            builder = builder.lease(Duration::from_millis(lease_ms));
        }
        if let Some(rules) = &rules {
            builder = builder.shared_policy(Some(Arc::clone(rules) as _));
        }
        if let Some(key) = &shared.receipt_key {
            builder = builder.receipt_key(key.clone());
        }
        for hook in hooks {
            builder = builder.around(hook);
        }
        let unusable = |error| table.error(Problem::new(format_args!("cannot be built: {error}")));
        let agent = builder.build().map_err(unusable)?;
        let (name, description) = (table.name.clone(), table.keys.description.clone());
        Ok(Ready { name, description, agent, rules, tools, withheld: Vec::new() })
    }
}

fn rules(table: &AgentTable) -> Result<Option<Arc<RulesFile>>, ConfigError> {
    let Some(policy) = &table.keys.policy else { return Ok(None) };
    let rules = RulesFile::load(table.folder().join(policy));
    // Its hint, on a line of its own, becomes the hint of the problem.
    let problem = |error| table.error(Problem::at("policy", format_args!("cannot be used: {error}")));
    Ok(Some(Arc::new(rules.map_err(problem)?)))
}
