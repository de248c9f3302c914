//! `holdpoint tools`: what an agent can do, and what its policy says to it.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use holdpoint::Repeat;
use holdpoint_config::printable;
use holdpoint_mcp::ToolStatus;
use holdpoint_policy::{RuleAbout, RulesFile};
use holdpoint_store::{MemoryStore, Store};
use holdpoint_tools::ToolDefinition;
use serde_json::{Value, json};

use crate::accepted_tools::{self, Withheld};
use crate::assemble::{Ready, Shared};
use crate::setup::{ConfigArgs, Setup};
use crate::{columns, problem, stores};

/// List the tools of the configured agents, and what the policy says about each.
///
/// That is: where each comes from, the digest of its definition, whether it may be repeated in doubt, and which rules are about
/// it. MCP servers are started or reached for it.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Only the tools of this agent.
    #[arg(long, value_name = "NAME", global = true)]
    agent: Option<String>,
    /// One JSON object per tool, with its schema.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, Subcommand)]
enum Action {
    Accept(AcceptArgs),
}

/// Accept tools of an MCP server that are new or have changed.
///
/// A tool is offered to the model only as it was accepted. What a server lists when it is first reached is accepted; what appears
/// or changes later is withheld until it is accepted here. Servers and workers offer it from their next start on.
#[derive(Args, Clone, Debug)]
struct AcceptArgs {
    /// The server, as `[agents.AGENT.mcp.SERVER]` names it.
    server: String,
    /// The server's own names of the tools; all that are withheld if none is given.
    tools: Vec<String>,
    /// Accept without asking.
    #[arg(long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint tools
  holdpoint tools accept files read_file
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
    let store = match store(&setup).await {
        Ok(store) => store,
        Err(code) => return code,
    };
    let shared = Shared { store: store.clone(), receipt_key: None };
    let chosen = match setup.agents(&shared, only).await {
        Ok(agents) => agents,
        Err(error) => return problem::config(&error),
    };
    match &args.action {
        Some(Action::Accept(accept)) => self::accept(accept, &chosen, &store).await,
        None => list(args.json, &chosen),
    }
}

/// What was accepted is in the store. Before the first start there is none, and everything is new.
async fn store(setup: &Setup) -> Result<Store, ExitCode> {
    let url = setup.store_url(None);
    let is_new = url.strip_prefix("sqlite:").is_some_and(|path| !std::path::Path::new(path).exists());
    if url == "memory" || is_new || matches!(setup, Setup::Sample) {
        return Ok(Store::from(MemoryStore::new()));
    }
    stores::existing(&url).await
}

fn list(json: bool, chosen: &[Ready]) -> ExitCode {
    let mut out = io::stdout().lock();
    if json {
        for ready in chosen {
            for tool in &ready.tools {
                let _ = writeln!(out, "{}", shown(ready, tool));
            }
            for withheld in &ready.withheld {
                let _ = writeln!(out, "{}", shown_withheld(ready, withheld));
            }
        }
        return ExitCode::SUCCESS;
    }
    let rows = chosen.iter().flat_map(|ready| {
        let offered = ready.tools.iter().map(|tool| row(ready, tool));
        offered.chain(ready.withheld.iter().map(|withheld| withheld_row(ready, withheld)))
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let _ = write!(out, "{}", columns::aligned(&["AGENT", "TOOL", "SOURCE", "REPEAT", "DEFINITION", "POLICY"], &rows));
    ExitCode::SUCCESS
}

/// Shows each tool, asks, and accepts those that the person wants.
async fn accept(args: &AcceptArgs, chosen: &[Ready], store: &Store) -> ExitCode {
    let is_wanted = |withheld: &&Withheld| {
        let named = args.tools.is_empty() || args.tools.contains(&withheld.tool.name);
        let can_be = matches!(withheld.tool.status, ToolStatus::NotAccepted | ToolStatus::Changed { .. });
        withheld.server == args.server && named && can_be
    };
    let mut found = 0;
    for ready in chosen {
        let mut accepted = Vec::new();
        for withheld in ready.withheld.iter().filter(is_wanted) {
            found += 1;
            let tool = &withheld.tool;
            eprintln!("{} of agent {}: {}", printable::line(&tool.registered), ready.name, withheld.why());
            eprintln!("  digest:      {}", tool.digest);
            eprintln!("  description: {}", printable::line(&tool.description));
            if args.yes || agrees() {
                accepted.push(tool);
            }
        }
        if accepted.is_empty() {
            continue;
        }
        match accepted_tools::accept((&ready.name, &args.server), &accepted, store).await {
            Ok(true) => println!(
                "accepted {} of agent {}; restart servers and workers to offer them",
                accepted.len(),
                ready.name
            ),
            Ok(false) => {
                return problem::failure(
                    "another process accepted tools of this server meanwhile",
                    Some("look at them again"),
                );
            }
            Err(error) => return problem::failed(&error),
        }
    }
    if found == 0 {
        return problem::failure(
            "this server has no such tool that is withheld",
            Some("`holdpoint tools` lists all tools"),
        );
    }
    ExitCode::SUCCESS
}

fn agrees() -> bool {
    eprint!("  accept it? [y/N] ");
    let mut line = String::new();
    io::stdin().read_line(&mut line).is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}

fn withheld_row(ready: &Ready, withheld: &Withheld) -> Vec<String> {
    vec![
        ready.name.clone(),
        printable::line(&withheld.tool.registered),
        format!("mcp:{}", printable::line(&withheld.server)),
        String::new(),
        String::new(),
        format!("withheld: {}", withheld.why()),
    ]
}

fn shown_withheld(ready: &Ready, withheld: &Withheld) -> Value {
    json!({
        "agent": ready.name,
        "name": withheld.tool.registered,
        "description": withheld.tool.description,
        "source": format!("mcp:{}", withheld.server),
        "withheld": withheld.why(),
        "digest": withheld.tool.digest.to_string(),
    })
}

fn row(ready: &Ready, tool: &ToolDefinition) -> Vec<String> {
    let definition: String = tool.id().chars().take(DIGEST_CHARS).collect();
    let policy = policy(ready.rules.as_deref(), tool);
    vec![
        ready.name.clone(),
        printable::line(tool.name.as_str()),
        printable::line(&tool.metadata.source),
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
        "definition": &*tool.id(),
        "parameters": &*tool.parameters,
        "policy": policy(ready.rules.as_deref(), tool),
    })
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
