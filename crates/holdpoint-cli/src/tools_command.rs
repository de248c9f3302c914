//! `holdpoint tools`: what an agent can do, and what its policy says to it.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use holdpoint::Repeat;
use holdpoint::policy::{RuleAbout, RulesFile};
use holdpoint::store::MemoryStore;
use holdpoint::tools::ToolDefinition;
use serde_json::{Value, json};

use crate::assemble::{Ready, Shared};
use crate::setup::{ConfigArgs, Setup};
use crate::{columns, problem, visible};

/// List the tools of the configured agents, and what the policy says about each.
///
/// That is: where each comes from, the digest of its definition, whether it may be repeated in doubt, and which rules are about
/// it. MCP servers are started or reached for it.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Only the tools of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// One JSON object per tool, with its schema.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint tools
  holdpoint tools --config holdpoint.toml --agent support
  holdpoint tools --json | jq 'select(.policy == [])'";

/// How much of a definition's digest a line shows.
const DIGEST_CHARS: usize = 12;

/// 0 when they are listed, 2 when the configuration cannot be used.
pub(crate) async fn run(args: ToolsArgs) -> ExitCode {
    let setup = match Setup::find(&args.config) {
        Ok(setup) => setup,
        Err(error) => return problem::config(&error),
    };
    let only = args.agent.as_deref();
    if only.is_some_and(|name| !setup.names().contains(&name)) {
        problem::failure("there is no such agent", Some(&format!("known are {}", setup.names().join(", "))));
        return ExitCode::from(problem::BAD_USAGE);
    }
    let shared = Shared { store: Arc::new(MemoryStore::new()), receipt_key: None };
    let chosen = match setup.agents(&shared, only).await {
        Ok(agents) => agents,
        Err(error) => return problem::config(&error),
    };
    let mut out = io::stdout().lock();
    if args.json {
        for ready in &chosen {
            for tool in &ready.tools {
                let _ = writeln!(out, "{}", shown(ready, tool));
            }
        }
        return ExitCode::SUCCESS;
    }
    let rows: Vec<Vec<String>> =
        chosen.iter().flat_map(|ready| ready.tools.iter().map(|tool| row(ready, tool))).collect();
    let _ = write!(out, "{}", columns::aligned(&["AGENT", "TOOL", "SOURCE", "REPEAT", "DEFINITION", "POLICY"], &rows));
    ExitCode::SUCCESS
}

fn row(ready: &Ready, tool: &ToolDefinition) -> Vec<String> {
    let definition: String = definition_id(tool).chars().take(DIGEST_CHARS).collect();
    let policy = policy(ready.rules.as_deref(), tool);
    vec![
        ready.name.clone(),
        visible::line(tool.name.as_str()),
        visible::line(&tool.metadata.source),
        repeat(tool.metadata.repeat).to_owned(),
        definition,
        if policy.is_empty() { "denied: no rule".to_owned() } else { policy.join(", ") },
    ]
}

fn shown(ready: &Ready, tool: &ToolDefinition) -> Value {
    json!({
        "agent": ready.name,
        "name": tool.name.as_str(),
        "description": &*tool.description,
        "source": &*tool.metadata.source,
        "repeat": repeat(tool.metadata.repeat),
        "parallelizable": tool.metadata.parallelizable,
        "timeout_ms": tool.metadata.timeout.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        "definition": definition_id(tool),
        "parameters": &*tool.parameters,
        "policy": policy(ready.rules.as_deref(), tool),
    })
}

fn definition_id(tool: &ToolDefinition) -> String {
    tool.facts().definition.map(|definition| definition.to_string()).unwrap_or_default()
}

fn repeat(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Never => "never",
        Repeat::Safe => "safe",
        Repeat::WithKey => "with_key",
    }
}

/// What the rules about a tool decide, in their order.
fn policy(rules: Option<&RulesFile>, tool: &ToolDefinition) -> Vec<String> {
    let told = |rule: RuleAbout| {
        let decides = if rule.hides { "hide" } else { rule.decides.as_str() };
        if rule.conditional { format!("{decides} if …") } else { decides.to_owned() }
    };
    rules.map(|rules| rules.enforced().about(&tool.name).into_iter().map(told).collect()).unwrap_or_default()
}
