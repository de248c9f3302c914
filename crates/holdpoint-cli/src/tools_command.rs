//! `holdpoint tools`: what an agent can do, and what its policy says to it.

use std::io;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use holdpoint_config::printable;
use holdpoint_mcp::ToolStatus;
use holdpoint_policy::{RuleAbout, RulesFile};
use holdpoint_store::{MemoryStore, Store};
use holdpoint_tools::ToolDefinition;
use serde_json::{Value, json};

use crate::accepted_tools::{self, Withheld};
use crate::assemble::{Ready, Shared};
use crate::failure::{Failure, Outcome};
use crate::setup::{ConfigArgs, Setup};
use crate::{print, stores};

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

const COLUMNS: [(&str, &str); 6] = [
    ("AGENT", "agent"),
    ("TOOL", "name"),
    ("SOURCE", "source"),
    ("REPEAT", "repeat"),
    ("DEFINITION", "definition"),
    ("POLICY", "policy"),
];

/// 0 when they are listed, 2 when the configuration cannot be used.
pub(crate) async fn run(args: ToolsArgs) -> Outcome {
    let setup = Setup::find(&args.config)?;
    let only = args.agent.as_deref();
    if only.is_some_and(|name| !setup.names().contains(&name)) {
        let hint = format!("known are {}", setup.names().join(", "));
        return Err(Failure::usage("there is no such agent").hint(hint));
    }
    let store = store(&setup).await?;
    let chosen = setup.agents(&Shared { store: store.clone(), receipt_key: None }, only).await?;
    if let Some(Action::Accept(accept)) = &args.action {
        return self::accept(accept, &chosen, &store).await;
    }
    let mut tools: Vec<Value> = chosen.iter().flat_map(listed).collect();
    if !args.json {
        tools.iter_mut().for_each(shorten);
    }
    print::list(&tools, &COLUMNS, args.json);
    Ok(ExitCode::SUCCESS)
}

/// What was accepted is in the store. Before the first start there is none, and everything is new.
async fn store(setup: &Setup) -> Outcome<Store> {
    let url = setup.store_url(None);
    let is_new = url.strip_prefix("sqlite:").is_some_and(|path| !std::path::Path::new(path).exists());
    if url == "memory" || is_new || matches!(setup, Setup::Sample) {
        return Ok(Store::from(MemoryStore::new()));
    }
    stores::existing(url).await
}

/// Shows each tool, asks, and accepts those that the person wants.
async fn accept(args: &AcceptArgs, chosen: &[Ready], store: &Store) -> Outcome {
    let is_wanted = |withheld: &&Withheld| {
        let named = args.tools.is_empty() || args.tools.contains(&withheld.tool.name);
        let can_be = matches!(withheld.tool.status, ToolStatus::NotAccepted | ToolStatus::Changed { .. });
        withheld.server == args.server && named && can_be
    };
    let mut is_found = false;
    for ready in chosen {
        let mut accepted = Vec::new();
        for withheld in ready.withheld.iter().filter(is_wanted) {
            is_found = true;
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
        let setting = accepted_tools::setting(&ready.name, &args.server);
        if !accepted_tools::accept(&setting, &accepted, store).await? {
            let failure = Failure::new("another process accepted tools of this server meanwhile");
            return Err(failure.hint("look at them again"));
        }
        let count = accepted.len();
        print::line(format!("accepted {count} of agent {}; restart servers and workers to offer them", ready.name));
    }
    if is_found {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::new("this server has no such tool that is withheld").hint("`holdpoint tools` lists all tools"))
}

fn agrees() -> bool {
    eprint!("  accept it? [y/N] ");
    let mut line = String::new();
    io::stdin().read_line(&mut line).is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}

/// The tools that an agent offers, and those that it withholds.
fn listed(ready: &Ready) -> Vec<Value> {
    let offered = ready.tools.iter().map(|tool| {
        json!({
            "agent": ready.name,
            "name": tool.name.as_str(),
            "description": &*tool.description,
            "source": &*tool.metadata.source,
            "repeat": tool.metadata.repeat.as_str(),
            "parallelizable": tool.metadata.parallelizable,
            "timeout_ms": tool.metadata.timeout.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            "definition": &*tool.id(),
            "parameters": &*tool.parameters,
            "policy": policy(ready.rules.as_deref(), tool),
        })
    });
    let withheld = ready.withheld.iter().map(|withheld| {
        json!({
            "agent": ready.name,
            "name": withheld.tool.registered,
            "description": withheld.tool.description,
            "source": format!("mcp:{}", withheld.server),
            "withheld": withheld.why(),
            "digest": withheld.tool.digest.to_string(),
        })
    });
    offered.chain(withheld).collect()
}

/// For a line of a table.
fn shorten(tool: &mut Value) {
    if let Some(why) = tool["withheld"].as_str() {
        tool["policy"] = format!("withheld: {why}").into();
    } else if tool["policy"] == json!([]) {
        tool["policy"] = "denied: no rule".into();
    }
    let digest = tool["definition"].as_str().map(|digest| digest.chars().take(DIGEST_CHARS).collect::<String>());
    tool["definition"] = digest.into();
}

/// What the rules about a tool decide, in their order.
fn policy(rules: Option<&RulesFile>, tool: &ToolDefinition) -> Vec<String> {
    let decides = |rule: RuleAbout| {
        let decides = if rule.hides { "hide" } else { rule.decides.as_str() };
        if rule.conditional { format!("{decides} if …") } else { decides.to_owned() }
    };
    rules.map(|rules| rules.enforced().about(&tool.name).into_iter().map(decides).collect()).unwrap_or_default()
}
