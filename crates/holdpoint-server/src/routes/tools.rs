//! The tools of all agents.

use axum::Json;
use holdpoint_api::{ToolList, ToolView};

use super::Problems;
use crate::auth::Right;
use crate::params::Ask;
use crate::refusal::Answer;

/// List the tools of all agents, with what became of their calls in this process.
#[utoipa::path(
    get, path = "/v1/tools", tag = "insight", operation_id = "list_tools",
    responses((status = 200, description = "By agent and name", body = ToolList), Problems),
)]
pub(super) async fn list(ask: Ask) -> Answer<Json<ToolList>> {
    ask.caller.need(Right::Look)?;
    let mut tools = Vec::new();
    for (agent, served) in ask.app.agents.iter() {
        for tool in served.runner().definitions() {
            tools.push(ToolView {
                name: tool.name.as_str().to_owned(),
                agent: agent.to_string(),
                description: tool.description.to_string(),
                source: tool.metadata.source.to_string(),
                repeat: tool.metadata.repeat.as_str().to_owned(),
                parameters: (*tool.parameters).clone(),
                statistics: ask.app.metrics.tool(&ask.caller.scope, agent, tool.name.as_str()),
            });
        }
    }
    Ok(Json(ToolList { tools }))
}
