//! Why a call gets its decision.

use axum::Json;
use holdpoint::RunId;
use holdpoint_api::{ApiCode, ExplainBody};
use holdpoint_codec::{arguments_for, parse_arguments};
use holdpoint_core::{ToolName, Turn};
use holdpoint_policy::{AuthorizeRequest, Explanation, RunFacts, Show};

use super::{Problems, runs};
use crate::auth::Right;
use crate::body::Body;
use crate::params::Ask;
use crate::refusal::{Answer, Refusal};

/// Say which rule decides about a call, and why. Nothing runs, and nothing is recorded.
#[utoipa::path(
    post, path = "/v1/policy/explain", tag = "insight", operation_id = "explain_policy", request_body = ExplainBody,
    responses((status = 200, description = "The decision and its reasons", body = Explanation), Problems),
)]
pub(super) async fn explain(ask: Ask, Body(body): Body<ExplainBody>) -> Answer<Json<Explanation>> {
    ask.caller.need(Right::Look)?;
    let served = runs::served(&ask.app, &body.agent)?;
    let rules = served.rules.as_ref().ok_or_else(|| {
        let detail = "the policy of this agent is not made of rules, so nothing can be said about it";
        Refusal::new(ApiCode::NotFound, detail)
    })?;
    let canonical = parse_arguments(body.arguments.as_ref().map(|raw| raw.get()))
        .map_err(|problem| Refusal::new(problem.code(), problem.to_string()).with("field", "arguments"))?;
    let context = runs::context(served, &body.context.unwrap_or_default())?.by(ask.caller.actor());
    let request = AuthorizeRequest {
        tool: &ToolName::new(body.tool.as_str()),
        arguments: &arguments_for(&body.tool, &canonical),
        context: &context,
        run: &RunFacts::new(RunId::new("explain"), Turn(1)).with_past(Vec::new),
    };
    let show = if body.values == Some(true) { Show::Values } else { Show::Types };
    Ok(Json(rules.written().explain(&request, show)))
}
