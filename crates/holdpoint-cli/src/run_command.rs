//! `holdpoint run`: one run in the terminal.

mod ask;
mod show;

use std::process::ExitCode;

use clap::Args;
use holdpoint::{Actor, Agent, Context, Error, RunRequest, RunResult, RunStream, Status, open_store};
use holdpoint_config::printable;
use holdpoint_store::{MemoryStore, Store};

use crate::assemble::Shared;
use crate::log::{self, LogForm};
use crate::person::PersonArgs;
use crate::setup::{ConfigArgs, Setup};
use crate::{problem, sample};

use ask::Answering;
use show::Screen;

/// Run an agent once in the terminal.
///
/// What it says goes to standard output as it says it, the rest to standard error. At each call that needs a person it shows what would run and asks. An answer is bound to exactly what was shown. With a
/// configuration the run is kept in its store; the sample's runs end with the command, unless `--store` names one.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// What to say to the agent. The sample agent knows something itself.
    #[arg(value_name = "INPUT")]
    input: Option<String>,
    /// Which agent; may be left out if there is one only.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Where the run is kept.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Let every call run that needs a permission. What a tool asks, and what became of a call in doubt, it does not answer.
    #[arg(long, conflicts_with = "ask")]
    yes: bool,
    /// Ask at each of them. So it is without `--yes`.
    #[arg(long)]
    ask: bool,
    #[command(flatten)]
    person: PersonArgs,
    /// The tenant that the run belongs to.
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// A context attribute; what is not JSON is a text. May be given several times.
    #[arg(long = "context", value_name = "KEY=VALUE")]
    context: Vec<String>,
    /// One JSON object per event to standard output, in place of the text.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint run --agent sample
  holdpoint run --agent support \"refund order 42\"
  holdpoint run --agent support \"refund order 42\" --yes --as ana --role finance
  holdpoint run --agent support \"hello\" --context user_id=7 --json

Exit codes: 0 it ended or waits for somebody else, 1 it failed, 2 it could not begin.";

/// 0 when the run ended or waits, 1 when it failed, 2 when it could not begin.
pub(crate) async fn run(args: RunArgs) -> ExitCode {
    match begin(&args).await {
        Ok(code) | Err(code) => code,
    }
}

async fn begin(args: &RunArgs) -> Result<ExitCode, ExitCode> {
    let setup = Setup::find(&args.config).map_err(|error| problem::config(&error))?;
    let name = chosen(args, &setup.names())?;
    let input = input(args, &name)?;
    log::to_stderr(LogForm::Human);
    let store = store(args, &setup).await?;
    let receipt_key = setup.receipt_key_of(&store).await?;
    let agents = setup.agents(&Shared { store, receipt_key }, Some(&name)).await;
    let agents = agents.map_err(|error| problem::config(&error))?;
    let ready = agents.into_iter().find(|ready| ready.name == name).ok_or(ExitCode::FAILURE)?;
    let context = context(args, &ready.agent)?;
    let actor = args.person.actor(args.tenant.as_deref());
    let request = RunRequest::new(input).with_context(context).by(actor.clone());
    converse(args, &ready.agent, (request, actor)).await.map_err(|error| problem::rejected(&error))
}

async fn store(args: &RunArgs, setup: &Setup) -> Result<Store, ExitCode> {
    let url = match (&args.store, setup) {
        (Some(url), _) => url.clone(),
        (None, Setup::File(_)) => setup.store_url(None),
        (None, Setup::Sample) => return Ok(Store::from(MemoryStore::new())),
    };
    if url == "memory" {
        return Ok(Store::from(MemoryStore::new()));
    }
    open_store(&url).await.map_err(|error| problem::cannot_open(&error))
}

fn chosen(args: &RunArgs, names: &[&str]) -> Result<String, ExitCode> {
    let message = match (&args.agent, names) {
        (Some(wanted), _) if names.contains(&wanted.as_str()) => return Ok(wanted.clone()),
        (None, [only]) => return Ok((*only).to_owned()),
        (Some(wanted), _) => format!("there is no agent `{}`", printable::line(wanted)),
        (None, _) => "there are several agents".to_owned(),
    };
    problem::failure(&message, Some(&format!("name one with --agent: {}", names.join(", "))));
    Err(ExitCode::from(problem::BAD_USAGE))
}

fn input(args: &RunArgs, agent: &str) -> Result<String, ExitCode> {
    match &args.input {
        Some(input) => Ok(input.clone()),
        None if agent == sample::NAME => {
            eprintln!("you:   {}", sample::INPUT);
            Ok(sample::INPUT.to_owned())
        }
        None => {
            problem::failure("there is nothing to say to the agent", Some("write it after the command, in quotes"));
            Err(ExitCode::from(problem::BAD_USAGE))
        }
    }
}

fn context(args: &RunArgs, agent: &Agent) -> Result<Context, ExitCode> {
    let mut context = Context::new();
    let refuse = |message: String, hint: &str| {
        problem::failure(&message, Some(hint));
        ExitCode::from(problem::BAD_USAGE)
    };
    for given in &args.context {
        let Some((key, value)) = given.split_once('=') else {
            return Err(refuse("a --context has no `=`".to_owned(), "write it as in `--context user_id=7`"));
        };
        if !agent.runner().settings().context_keys.contains(key) {
            let message = format!("the agent does not keep the context attribute `{}`", printable::line(key));
            return Err(refuse(message, "list it in `context_keys` of the agent"));
        }
        let value: serde_json::Value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        context = context.with(key, value);
    }
    Ok(context)
}

async fn converse(args: &RunArgs, agent: &Agent, (request, actor): (RunRequest, Actor)) -> Result<ExitCode, Error> {
    let mut screen = Screen::new(args.json);
    let answering = if args.yes { Answering::Yes } else { Answering::Ask };
    let mut result = followed(agent.chat(request).stream(), &mut screen).await?;
    while result.is_awaiting_confirmation() {
        let Some(decisions) = ask::decisions(&result, answering) else {
            eprintln!("\nNobody answered: the run {} stays paused.", result.run_id());
            return Ok(ExitCode::SUCCESS);
        };
        let before = result.revision();
        result = followed(agent.resume(&result, decisions.by(actor.clone())).stream(), &mut screen).await?;
        // A quorum wants other people: asking the same one again would never end.
        if result.revision() == before || (result.is_awaiting_confirmation() && already_approved(&result, &actor)) {
            eprintln!("\nThe run {} waits for somebody else to answer.", result.run_id());
            return Ok(ExitCode::SUCCESS);
        }
    }
    screen.end(&result);
    Ok(match result.status() {
        Status::Failed | Status::Cancelled => ExitCode::FAILURE,
        Status::Finished | Status::Running | Status::AwaitingToolConfirmation | Status::AwaitingToolResults => {
            ExitCode::SUCCESS
        }
    })
}

/// Whether everything that waits has this person's approval.
fn already_approved(paused: &RunResult, actor: &Actor) -> bool {
    paused
        .pending_confirmations()
        .iter()
        .all(|question| question.answers.iter().any(|answer| answer.actor.id == actor.id))
}

async fn followed(mut stream: RunStream, screen: &mut Screen) -> Result<RunResult, Error> {
    while let Some(event) = stream.next().await {
        screen.take(&event);
    }
    stream.result().await
}
