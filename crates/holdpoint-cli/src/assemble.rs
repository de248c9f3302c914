//! Makes agents of what a configuration says: the only place where parts are chosen.

use std::sync::Arc;
use std::time::Duration;

use holdpoint::{Agent, ReceiptKey};
use holdpoint_endpoints::Surroundings;
use holdpoint_mcp::{McpError, McpServers};
use holdpoint_policy::{KnownTools, Policy as _, RulesFile};
use holdpoint_skills::Skills;
use holdpoint_store::Store;
use holdpoint_tools::{Registry, Tool, ToolDefinition};

use crate::accepted_tools::{self, AcceptError, Withheld};
use crate::config::{AgentTable, Config, ConfigError, Source, split_hint};

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
    let surroundings = Surroundings::default().with_folder(&config.source.folder);
    let mut ready = Vec::new();
    for table in config.agents.iter().filter(|table| only.is_none_or(|name| name == table.name.value)) {
        let mut tools = local_tools(&config.source, table, &surroundings)?;
        let servers = mcp_servers(&config.source, table, &shared.store).await?;
        tools.extend(servers.iter().flat_map(McpServers::tools));
        let mut kit = Kit::new(&config.source, table, tools)?;
        kit.unregistered = servers.as_ref().map(accepted_tools::unregistered).unwrap_or_default();
        let withheld = servers.as_ref().map(accepted_tools::withheld).unwrap_or_default();
        ready.push(Ready { withheld, ..kit.build(&config.source, table, shared)? });
    }
    Ok(ready)
}

/// The tools of an agent that are there without asking anybody: those of its tables and of its skills.
pub(crate) fn local_tools(
    source: &Source,
    table: &AgentTable,
    surroundings: &Surroundings,
) -> Result<Vec<Arc<dyn Tool>>, ConfigError> {
    let mut tools =
        table.tools.iter().map(|tool| tool.build(source, surroundings)).collect::<Result<Vec<_>, ConfigError>>()?;
    if let Some(first) = table.skills.first() {
        let folders = table.skills.iter().map(|folder| folder.value.clone());
        let skills = Skills::open(folders)
            .map_err(|error| source.wrong(&first.span, format!("`skills` cannot be used: {error}")))?;
        tools.extend(skills.tools());
    }
    Ok(tools)
}

/// The MCP servers of an agent, with their tools as they were accepted on this store.
async fn mcp_servers(source: &Source, table: &AgentTable, store: &Store) -> Result<Option<McpServers>, ConfigError> {
    if table.mcp.is_empty() {
        return Ok(None);
    }
    let agent = table.name.value.as_str();
    let configs = table.mcp.iter().map(|server| (server.name.value.clone(), server.config.clone())).collect();
    let connected = accepted_tools::connect(agent, configs, store).await;
    connected.map(Some).map_err(|error| match error {
        AcceptError::Mcp(error) => mcp_problem(source, table, &error),
        AcceptError::Store(error) => {
            source.wrong(&table.span, format!("the accepted tools of MCP servers cannot be read: {error}"))
        }
    })
}

fn mcp_problem(source: &Source, table: &AgentTable, error: &McpError) -> ConfigError {
    let name = match error {
        McpError::Config { server, .. } | McpError::UnknownServer { server } => Some(server.as_str()),
        McpError::Connect { server, .. } | McpError::UnknownTool { server } => Some(server.as_str()),
        McpError::DigestMismatch { .. } | McpError::Unusable { .. } | McpError::NoThread => None,
    };
    match table.mcp.iter().find(|server| Some(server.name.value.as_str()) == name) {
        Some(server) => server.wrong(source, error.to_string()),
        None => source.wrong(&table.span, error.to_string()),
    }
}

/// Tools, hooks and policy of an agent, checked against each other. No model and no store yet.
pub(crate) struct Kit {
    pub(crate) registry: Registry,
    pub(crate) rules: Option<Arc<RulesFile>>,
    hooks: Vec<Arc<dyn holdpoint_tools::Around>>,
    /// Tools that the policy may name although they are not registered.
    unregistered: KnownTools,
}

impl Kit {
    /// With these tools.
    pub(crate) fn new(source: &Source, table: &AgentTable, tools: Vec<Arc<dyn Tool>>) -> Result<Self, ConfigError> {
        let mut registry = Registry::new();
        for tool in tools {
            let name = tool.definition().name.clone();
            registry.register_shared(tool).map_err(|error| {
                match table.tools.iter().find(|known| known.name == name.as_str()) {
                    Some(known) => known.wrong_as_a_whole(source, error.to_string()),
                    None => source.wrong(&table.span, error.to_string()),
                }
            })?;
        }
        let hooks = table.hooks.iter().map(|hook| hook.build(source, &registry)).collect::<Result<_, _>>()?;
        Ok(Self { rules: rules(source, table)?, registry, hooks, unregistered: KnownTools::default() })
    }

    /// Whether the policy names only tools that are there and context attributes that are kept.
    pub(crate) fn check_policy(&self, source: &Source, table: &AgentTable) -> Result<(), ConfigError> {
        let (Some(rules), Some(policy)) = (&self.rules, &table.policy) else { return Ok(()) };
        let mut tools = self.unregistered.clone();
        tools.names.extend(self.registry.tools().map(|tool| tool.name().clone()));
        let accepts = rules.accepts_context_keys(&table.settings.context_keys);
        accepts.and_then(|()| rules.accepts_tools(&tools)).map_err(|error| {
            let (message, hint) = split_hint(&error.to_string());
            ConfigError { hint, ..source.wrong(&policy.span, format!("the policy does not fit: {message}")) }
        })
    }

    fn build(self, source: &Source, table: &AgentTable, shared: &Shared) -> Result<Ready, ConfigError> {
        self.check_policy(source, table)?;
        let Self { registry, rules, hooks, unregistered } = self;
        let tools = registry.definitions();
        let mut builder = Agent::builder()
            .name(table.name.value.as_str())
            .shared_model(table.model.open(source)?)
            .model_options(table.model.options.clone())
            .tool_choice(table.model.tool_choice.clone())
            .settings(table.settings.clone())
            .unregistered_tools(unregistered)
            .tools(registry.tools().map(|tool| Arc::clone(tool.tool())))
            .store(shared.store.clone());
        if let Some(prompt) = &table.system_prompt {
            builder = builder.system_prompt(prompt.as_str());
        }
        if let Some(lease_ms) = table.lease_ms {
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
        let agent = builder.build().map_err(|error| source.wrong(&table.span, error.to_string()))?;
        let (name, description) = (table.name.value.clone(), table.description.clone());
        Ok(Ready { name, description, agent, rules, tools, withheld: Vec::new() })
    }
}

fn rules(source: &Source, table: &AgentTable) -> Result<Option<Arc<RulesFile>>, ConfigError> {
    let Some(policy) = &table.policy else { return Ok(None) };
    match RulesFile::load(&policy.value) {
        Ok(rules) => Ok(Some(Arc::new(rules))),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            let wrong = source.wrong(&policy.span, format!("the policy cannot be used: {error}{cause}"));
            Err(ConfigError { hint: error.hint(), ..wrong })
        }
    }
}
