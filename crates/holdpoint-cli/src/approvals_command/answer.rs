//! `holdpoint approvals allow` and `deny`.

use std::process::ExitCode;

use clap::Args;
use holdpoint_codec::Shown;
use holdpoint_config::printable;
use holdpoint_core::Digest;

use super::show::shown;
use crate::desk::{Desk, DeskArgs, Said, Word, text};
use crate::person::PersonArgs;
use crate::problem;

/// Let a call run, exactly as it is shown.
///
/// The answer counts for the question whose digest you name. Without `--digest` it counts for the question that this command
/// shows before it answers, if that is the first one about the call. The agent must be in the configuration: its policy is asked again.
#[derive(Args, Clone, Debug)]
#[command(after_help = ALLOW_EXAMPLES)]
pub(super) struct AllowArgs {
    /// The approval.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    desk: DeskArgs,
    #[command(flatten)]
    person: PersonArgs,
    #[command(flatten)]
    seen: SeenArgs,
    /// Why: the audit log and the list of approvals keep it.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

const ALLOW_EXAMPLES: &str = "\
Examples:
  holdpoint approvals allow 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0
  holdpoint approvals allow 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --as ana --role finance
  holdpoint approvals allow 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --digest \"$DIGEST\"";

/// Refuse a call. The model is told the reason, and the run goes on without it.
#[derive(Args, Clone, Debug)]
#[command(after_help = DENY_EXAMPLES)]
pub(super) struct DenyArgs {
    /// The approval.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    desk: DeskArgs,
    #[command(flatten)]
    person: PersonArgs,
    #[command(flatten)]
    seen: SeenArgs,
    /// Why: the model and the audit log get it.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

const DENY_EXAMPLES: &str = "\
Examples:
  holdpoint approvals deny 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --reason \"not this order\"";

/// Which question is answered.
#[derive(Args, Clone, Debug)]
struct SeenArgs {
    /// The digest of the question that you saw: the answer is refused if another one waits now. Needed for a question that is
    /// asked again, and for one about a call that was started.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
}

impl SeenArgs {
    fn digest(&self, question: &Shown, word: Word) -> Result<Digest, ExitCode> {
        // Whoever types an id may have read an earlier question about the call.
        let is_permission = text(question, "kind") == "permission";
        let is_first = is_permission && question.value("again").as_bool() != Some(true);
        let may_guess = is_first || (is_permission && word == Word::Deny);
        if self.digest.is_none() && !may_guess {
            problem::failure(
                "this is not the first question about this call, so the answer must say which one it is for",
                Some("read the question above, then pass its digest with `--digest`"),
            );
            return Err(ExitCode::from(problem::BAD_USAGE));
        }
        let digest = self.digest.clone().unwrap_or_else(|| text(question, "digest"));
        Digest::parse(&digest).ok_or_else(|| {
            problem::failure("that is not a digest", Some("`holdpoint approvals show` has it: 64 hexadecimal digits"));
            ExitCode::from(problem::BAD_USAGE)
        })
    }
}

pub(super) async fn allow(args: &AllowArgs) -> Result<(), ExitCode> {
    let desk = args.desk.open().await?;
    let question = asked(&*desk, &args.id).await?;
    let said =
        Said { word: Word::Allow, digest: args.seen.digest(&question, Word::Allow)?, reason: args.reason.clone() };
    desk.answer(&question, &said, &args.person).await?;
    eprintln!("allowed");
    Ok(())
}

pub(super) async fn deny(args: &DenyArgs) -> Result<(), ExitCode> {
    let desk = args.desk.open().await?;
    let question = asked(&*desk, &args.id).await?;
    let said =
        Said { word: Word::Deny, digest: args.seen.digest(&question, Word::Deny)?, reason: Some(args.reason.clone()) };
    desk.answer(&question, &said, &args.person).await?;
    eprintln!("denied");
    Ok(())
}

/// The question, which is shown before it is answered.
async fn asked(desk: &dyn Desk, id: &str) -> Result<Shown, ExitCode> {
    let question = desk.question(id).await?;
    eprint!("{}", shown(&question));
    match &*text(&question, "status") {
        "pending" => Ok(question),
        other => Err(problem::failure(&format!("nothing to answer: it is {}", printable::line(other)), None)),
    }
}
