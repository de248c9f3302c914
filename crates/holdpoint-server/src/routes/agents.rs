//! The agents and their tools.

use axum::Json;
use holdpoint_api::{AgentList, AgentView, ToolList, ToolView};
use holdpoint_codec::view::Name;

use super::Problems;
use crate::auth::Right;
use crate::params::Ask;
use crate::refusal::Answer;

/// List the agents that this server runs.
#[utoipa::path(
    get, path = "/v1/agents", tag = "insight", operation_id = "list_agents",
    responses((status = 200, description = "By name", body = AgentList), Problems),
)]
pub(super) async fn list(ask: Ask) -> Answer<Json<AgentList>> {
    ask.caller.need(Right::Look)?;
    let agents = ask.app.agents.iter().map(|(name, served)| AgentView {
        name: name.to_string(),
        description: served.description.as_ref().map(ToString::to_string),
        model: served.runner().model_name().map(str::to_owned),
        tools: served.runner().definitions().iter().map(|tool| tool.name.as_str().to_owned()).collect(),
        context_keys: served.runner().settings().context_keys.iter().map(ToString::to_string).collect(),
        policy: served.rules.as_ref().map(|rules| rules.enforced().version().to_string()),
    });
    Ok(Json(AgentList { agents: agents.collect() }))
}

/// List the tools of all agents, with what became of their calls in this process.
#[utoipa::path(
    get, path = "/v1/tools", tag = "insight", operation_id = "list_tools",
    responses((status = 200, description = "By agent and name", body = ToolList), Problems),
)]
pub(super) async fn tools(ask: Ask) -> Answer<Json<ToolList>> {
    ask.caller.need(Right::Look)?;
    let mut tools = Vec::new();
    for (agent, served) in &ask.app.agents {
        for tool in served.runner().definitions() {
            tools.push(ToolView {
                name: tool.name.as_str().to_owned(),
                agent: agent.to_string(),
                description: tool.description.to_string(),
                source: tool.metadata.source.to_string(),
                repeat: Name(tool.metadata.repeat),
                parameters: (*tool.parameters).clone(),
                statistics: ask.app.metrics.tool(&ask.caller.scope, agent, tool.name.as_str()),
            });
        }
    }
    Ok(Json(ToolList { tools }))
}
