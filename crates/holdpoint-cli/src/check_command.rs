//! `holdpoint check`: everything about a configuration that can be checked without a network.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use holdpoint_config::{ConfigError, Problem};
use holdpoint_endpoints::Surroundings;
use holdpoint_testkit::{RunOptions, StoreChoice, Summary, run_each};
use serde_json::json;

use crate::assemble::{Kit, local_tools};
use crate::config::{AgentTable, Config, FILE, NotOpened};
use crate::failure::{BAD_USAGE, Failure};
use crate::print::{self, counted};

/// Check a configuration without starting anything.
///
/// That is: keys, values, tools and their schemas, policies and their own examples, hooks, scripted models, skills, and the
/// scenarios beside it. Nothing is reached over a network and no program is started. Secrets that are not there are warnings: they may be set
/// where it will run.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// The configuration.
    #[arg(long, value_name = "FILE", default_value = FILE)]
    config: PathBuf,
    /// Scenario files or folders; the folder `scenarios` beside the configuration if absent and there.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    scenarios: Vec<PathBuf>,
    /// Warnings count as errors.
    #[arg(long)]
    strict: bool,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint check
  holdpoint check --config prod/holdpoint.toml --strict
  holdpoint check --scenarios scenarios more/refund.yaml --json

Exit codes: 0 it can be used, 1 a scenario failed, or there is a warning and --strict; 2 it cannot be used.";

/// What was found.
#[derive(Default)]
struct Findings {
    agents: usize,
    tools: usize,
    policies: usize,
    warnings: Vec<String>,
    error: Option<ConfigError>,
    scenarios: Option<Summary>,
}

/// 0 when it can be used, 1 when a scenario fails, 2 when it cannot be used.
pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    let mut findings = Findings::default();
    if let Err(error) = examine(args, &mut findings) {
        findings.error = Some(error);
    } else {
        scenarios(args, &mut findings);
    }
    let code = findings.exit_code(args.strict);
    findings.tell(args);
    code
}

fn examine(args: &CheckArgs, findings: &mut Findings) -> Result<(), ConfigError> {
    let config = Config::load(&args.config)?;
    for (index, token) in config.tokens.iter().enumerate() {
        let source = token.secret(config.document.folder()).map_err(|problem| config.token_error(index, problem))?;
        if let Err(missing) = source.read() {
            findings.warnings.push(format!("the token `{}` has no secret yet: {missing}", token.name));
        }
    }
    for agent in &config.agents {
        examine_agent(agent, findings)?;
        findings.agents += 1;
    }
    Ok(())
}

fn examine_agent(agent: &AgentTable, findings: &mut Findings) -> Result<(), ConfigError> {
    let unset: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let noted = Arc::clone(&unset);
    let surroundings = Surroundings::default().with_folder(agent.folder()).with_environment(move |name| {
        std::env::var(name).ok().or_else(|| {
            noted.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
            // Any text will do: nothing is sent.
            Some("unset".to_owned())
        })
    });
    let tools = local_tools(agent, &surroundings)?;
    findings.tools += tools.len();
    findings.check_policy(agent, &Kit::new(agent, tools)?)?;
    let name = &agent.name;
    for variable in unset.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        findings.warnings.push(format!("a tool of `{name}` wants the variable `{variable}`, which is not set"));
    }
    for (server, config) in &agent.keys.mcp.0 {
        let config = config.clone().in_folder(agent.folder());
        let missing = config.secrets().filter_map(|secret| secret.read().err());
        let warn = |why| format!("the MCP server `{server}` of `{name}` has no secret yet: {why}");
        findings.warnings.extend(missing.map(warn));
    }
    match agent.model.open(agent.folder()) {
        Ok(_) => Ok(()),
        // A key that is not here may be where the agent will run; anything else is wrong everywhere.
        Err(NotOpened::NoKey(problem)) => {
            let hint = problem.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            findings.warnings.push(format!("the agent `{name}` has no key yet: {}{hint}", problem.sentence()));
            Ok(())
        }
        Err(error) => Err(agent.error(error)),
    }
}

fn scenarios(args: &CheckArgs, findings: &mut Findings) {
    let beside = args.config.parent().unwrap_or(Path::new("")).join("scenarios");
    let paths = match args.scenarios.as_slice() {
        [] if beside.is_dir() => vec![beside],
        [] => return,
        given => given.to_vec(),
    };
    let Ok(store) = StoreChoice::parse("memory") else { return };
    let options = RunOptions { store, jobs: std::num::NonZeroUsize::MIN };
    let mut told = |report: &holdpoint_testkit::Report| {
        if !args.json {
            print::line(report);
        }
    };
    findings.scenarios = Some(Summary::of(&run_each(&paths, &options, &mut told)));
}

impl Findings {
    fn check_policy(&mut self, agent: &AgentTable, kit: &Kit<'_>) -> Result<(), ConfigError> {
        let name = &agent.name;
        let Some(rules) = &kit.rules else {
            self.warnings.push(format!("the agent `{name}` has no `policy`: everything is denied"));
            return Ok(());
        };
        self.policies += 1;
        self.warnings.extend(rules.written().warnings().iter().map(ToString::to_string));
        if agent.keys.mcp.0.is_empty() {
            return kit.check_policy();
        }
        self.warnings.push(format!(
            "the tools of the MCP servers of `{name}` are not known here: that its policy names tools which are there is not checked"
        ));
        Ok(())
    }

    fn exit_code(&self, strict: bool) -> ExitCode {
        let scenarios = self.scenarios.as_ref().map_or(0, |summary| summary.exit_code());
        match (&self.error, scenarios) {
            (Some(_), _) => ExitCode::from(BAD_USAGE),
            (None, 0) if strict && !self.warnings.is_empty() => ExitCode::FAILURE,
            (None, code) => ExitCode::from(code),
        }
    }

    fn tell(&self, args: &CheckArgs) {
        if args.json {
            return print::json(&self.to_json(&args.config));
        }
        for warning in &self.warnings {
            eprintln!("warning: {warning}");
        }
        if let Some(error) = &self.error {
            eprint!("{}", Failure::from(error));
            return;
        }
        let policies = if self.policies == 1 { "policy" } else { "policies" };
        let (agents, tools) = (counted(self.agents as u64, "agent"), counted(self.tools as u64, "tool"));
        print::line(format!("ok {}: {agents}, {tools}, {} {policies}", args.config.display(), self.policies));
    }

    fn to_json(&self, file: &Path) -> serde_json::Value {
        let error = self.error.as_ref().map(|error| {
            json!({
                "code": error.code().as_str(),
                "file": error.file(),
                "line": error.place().map(|place| place.line),
                "column": error.place().map(|place| place.column),
                "message": error.problem().map(Problem::sentence),
                "hint": error.problem().and_then(Problem::hint),
            })
        });
        let scenarios = self.scenarios.as_ref().map(
            |summary| json!({ "held": summary.held, "failed": summary.failed, "unreadable": summary.not_scenarios }),
        );
        json!({
            "file": file.display().to_string(),
            "ok": self.error.is_none() && self.scenarios.as_ref().is_none_or(|summary| summary.exit_code() == 0),
            "agents": self.agents,
            "tools": self.tools,
            "policies": self.policies,
            "warnings": self.warnings,
            "error": error,
            "scenarios": scenarios,
        })
    }
}
