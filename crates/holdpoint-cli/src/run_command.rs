//! `holdpoint run`: one run in the terminal.

mod ask;
mod show;

use std::process::ExitCode;

use clap::Args;
use holdpoint::{Agent, RunRequest, RunResult, RunStream};
use holdpoint_config::printable;
use holdpoint_core::{Actor, Status};

use crate::assemble::Shared;
use crate::context::ContextArgs;
use crate::failure::{Failure, Outcome};
use crate::log::{self, LogForm};
use crate::person::PersonArgs;
use crate::sample;
use crate::setup::Setup;
use crate::stores::{self, StoreArgs};

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
    store: StoreArgs,
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
    #[command(flatten)]
    context: ContextArgs,
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
pub(crate) async fn run(args: RunArgs) -> Outcome {
    let setup = Setup::find(&args.store.config)?;
    let name = chosen(args.agent.as_deref(), &setup.names())?;
    let input = input(args.input.as_deref(), &name)?;
    log::to_stderr(LogForm::Human);
    let url = match (&args.store.store, &setup) {
        (None, Setup::Sample) => "memory".to_owned(),
        (given, _) => setup.store_url(given.as_deref()),
    };
    let store = stores::open(&url).await?;
    let receipt_key = setup.receipt_key_of(&store).await?;
    let agents = setup.agents(&Shared { store, receipt_key }, Some(&name)).await?;
    let ready = agents.into_iter().find(|ready| ready.name == name);
    let agent = ready.ok_or_else(|| Failure::new("the agent was not built"))?.agent;
    let context = args.context.read()?;
    let keys = &agent.runner().settings().context_keys;
    if let Some(unknown) = context.attributes().keys().find(|key| !keys.contains(key.as_str())) {
        let message = format!("the agent does not keep the context attribute `{}`", printable::line(unknown));
        return Err(Failure::usage(message).hint("list it in `context_keys` of the agent"));
    }
    let actor = args.person.actor(args.tenant.as_deref());
    let request = RunRequest::new(input).with_context(context).by(actor.clone());
    let conversation = Conversation { agent, actor, answering: if args.yes { Answering::Yes } else { Answering::Ask } };
    conversation.hold(request, Screen::new(args.json)).await
}

fn chosen(wanted: Option<&str>, names: &[&str]) -> Outcome<String> {
    let message = match (wanted, names) {
        (Some(wanted), _) if names.contains(&wanted) => return Ok(wanted.to_owned()),
        (None, [only]) => return Ok((*only).to_owned()),
        (Some(wanted), _) => format!("there is no agent `{}`", printable::line(wanted)),
        (None, _) => "there are several agents".to_owned(),
    };
    Err(Failure::usage(message).hint(format!("name one with --agent: {}", names.join(", "))))
}

fn input(given: Option<&str>, agent: &str) -> Outcome<String> {
    match given {
        Some(input) => Ok(input.to_owned()),
        None if agent == sample::NAME => {
            eprintln!("you:   {}", sample::INPUT);
            Ok(sample::INPUT.to_owned())
        }
        None => {
            let failure = Failure::usage("there is nothing to say to the agent");
            Err(failure.hint("write it after the command, in quotes"))
        }
    }
}

/// One run, and the person who answers its questions.
struct Conversation {
    agent: Agent,
    actor: Actor,
    answering: Answering,
}

impl Conversation {
    async fn hold(&self, request: RunRequest, mut screen: Screen) -> Outcome {
        let mut result = followed(self.agent.chat(request).stream(), &mut screen).await?;
        while result.is_awaiting_confirmation() {
            let Some(decisions) = ask::decisions(&result, self.answering) else {
                eprintln!("\nNobody answered: the run {} stays paused.", result.run_id());
                return Ok(ExitCode::SUCCESS);
            };
            let before = result.revision();
            let resumed = self.agent.resume(&result, decisions.by(self.actor.clone()));
            result = followed(resumed.stream(), &mut screen).await?;
            // A quorum wants other people: asking the same one again would never end.
            let asks_others = result.is_awaiting_confirmation() && already_approved(&result, &self.actor);
            if result.revision() == before || asks_others {
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
}

/// Whether everything that waits has this person's approval.
fn already_approved(paused: &RunResult, actor: &Actor) -> bool {
    paused
        .pending_confirmations()
        .iter()
        .all(|question| question.answers.iter().any(|answer| answer.actor.id == actor.id))
}

async fn followed(mut stream: RunStream, screen: &mut Screen) -> Outcome<RunResult> {
    while let Some(event) = stream.next().await {
        screen.take(&event);
    }
    Ok(stream.result().await?)
}
