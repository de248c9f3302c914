//! From what a model wrote to what could run: arguments, name, schema, in this order.

use std::sync::Arc;

use holdpoint_codec::{arguments_for, parse_arguments};
use holdpoint_core::{Arguments, CallArguments, CallId, Code, Problem, ProposedCall, RequestedName, ToolName};
use holdpoint_model::ModelCall;
use holdpoint_tools::{RegisteredTool, Registry, SchemaProblem, ToolDefinition};

use crate::Error;

/// Reads one call. What cannot run carries a problem that the model can correct.
pub(super) fn understand(call: ModelCall, registry: &Registry, visible: &[Arc<ToolDefinition>]) -> ProposedCall {
    let name = RequestedName::new(call.name);
    let tool = registry.resolve(&name).map(|tool| &**tool).filter(|tool| is_visible(tool, visible));
    let mut proposed = ProposedCall {
        provider_id: call.id,
        tool: tool.map(|tool| tool.facts().clone()),
        arguments: CallArguments::Dropped { len_bytes: 0 },
        problem: None,
        name,
    };
    let raw = call.arguments.as_deref();
    match parse_arguments(raw) {
        Ok(text) => {
            let registered = tool.map_or_else(|| ToolName::new(proposed.name.as_str()), |tool| tool.name().clone());
            let arguments = arguments_for(registered.as_str(), &text);
            proposed.problem = match tool {
                Some(tool) => schema_problem(tool, &arguments),
                None => Some(not_found(&proposed.name)),
            };
            proposed.arguments = CallArguments::Canonical(arguments);
        }
        Err(problem) => {
            proposed.problem = Some(Problem { code: problem.code(), text: problem.to_string().into() });
            proposed.arguments = match (problem.code(), call.arguments) {
                (Code::ArgumentsTooLarge, text) => {
                    CallArguments::Dropped { len_bytes: text.map_or(0, |text| text.len() as u64) }
                }
                (_, text) => CallArguments::Unusable(text.unwrap_or_default()),
            };
        }
    }
    proposed
}

fn is_visible(tool: &RegisteredTool, visible: &[Arc<ToolDefinition>]) -> bool {
    visible.iter().any(|definition| definition.name == *tool.name())
}

fn not_found(name: &RequestedName) -> Problem {
    tracing::warn!(target: "holdpoint", tool = %printable(name.as_str()), "security: a tool that is not registered was asked for");
    let text = format!("There is no tool `{}`. Use one of the tools you were given.", printable(name.as_str()));
    Problem { code: Code::ToolNotFound, text: text.into() }
}

/// A name that the model made up may hold anything.
fn printable(name: &str) -> String {
    const NAME_CHARS_MAX: usize = 64;
    name.chars().take(NAME_CHARS_MAX).flat_map(char::escape_debug).collect()
}

pub(super) fn schema_problem(tool: &RegisteredTool, arguments: &Arguments) -> Option<Problem> {
    let problems = tool.validate(arguments).err()?;
    let text = format!("The arguments are not valid: {}. Correct them and call again.", listed(&problems));
    Some(Problem { code: Code::InvalidArguments, text: text.into() })
}

/// Problems, one after another.
pub(crate) fn listed(problems: &[SchemaProblem]) -> String {
    let problems: Vec<String> =
        problems.iter().map(|problem| format!("{} {}", problem.path, problem.message)).collect();
    problems.join("; ")
}

/// Reads arguments that a person edited: whatever is wrong with them rejects the resume.
pub(crate) fn understand_edit(
    registry: &Registry,
    call: &CallId,
    tool: &ToolName,
    text: &str,
) -> Result<Arguments, Error> {
    let invalid = |code, problems| Error::InvalidArguments { call: call.clone(), problems, code };
    let canonical = parse_arguments(Some(text)).map_err(|problem| invalid(problem.code(), problem.to_string()))?;
    let arguments = arguments_for(tool.as_str(), &canonical);
    match registry.find(tool.as_str()).map(|registered| registered.validate(&arguments)) {
        Some(Err(problems)) => Err(invalid(Code::InvalidArguments, listed(&problems))),
        Some(Ok(())) | None => Ok(arguments),
    }
}
