//! `holdpoint approvals allow` and `deny`.

use std::process::ExitCode;

use clap::Args;
use holdpoint_api::ApprovalView;
use holdpoint_core::{Digest, QuestionKind};
use holdpoint_store::QuestionStatus;

use super::details;
use crate::backend::{AnswerGiven, GivenDecision, ItemArgs};
use crate::failure::{Failure, Outcome};
use crate::person::PersonArgs;
use crate::print::Fields;

/// Let a call run, exactly as it is shown.
///
/// The answer counts for the question whose digest you name. Without `--digest` it counts for the question that this command
/// shows before it answers, if that is the first one about the call. The agent must be in the configuration: its policy is asked again.
#[derive(Args, Clone, Debug)]
#[command(after_help = ALLOW_EXAMPLES)]
pub(super) struct AllowArgs {
    #[command(flatten)]
    answer: AnswerArgs,
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
    #[command(flatten)]
    answer: AnswerArgs,
    /// Why: the model and the audit log get it.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

const DENY_EXAMPLES: &str = "\
Examples:
  holdpoint approvals deny 0199f0c1-2b3c-7d4e-8f50-1234567890ab.b1.c0 --reason \"not this order\"";

/// Which question is answered, and by whom.
#[derive(Args, Clone, Debug)]
struct AnswerArgs {
    #[command(flatten)]
    item: ItemArgs,
    #[command(flatten)]
    person: PersonArgs,
    /// The digest of the question that you saw: the answer is refused if another one waits now. Needed for a question that is
    /// asked again, and for one about a call that was started.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
}

pub(super) async fn allow(args: AllowArgs) -> Outcome {
    args.answer.give(GivenDecision::Allow, args.reason).await?;
    eprintln!("allowed");
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn deny(args: DenyArgs) -> Outcome {
    args.answer.give(GivenDecision::Deny, Some(args.reason)).await?;
    eprintln!("denied");
    Ok(ExitCode::SUCCESS)
}

impl AnswerArgs {
    /// Shows the approval, and answers it.
    async fn give(&self, decision: GivenDecision, reason: Option<String>) -> Outcome<()> {
        let backend = self.item.backend.open().await?;
        let approval = backend.approval(&self.item.id).await?;
        eprint!("{}", details(&approval));
        if approval.status.0 != QuestionStatus::Pending {
            return Err(Failure::new(format!("nothing to answer: it is {}", Fields::of(&approval).text("status"))));
        }
        let digest = self.digest(&approval, decision)?;
        backend.answer(&approval, AnswerGiven { decision, digest, reason }, &self.person).await
    }

    fn digest(&self, approval: &ApprovalView, decision: GivenDecision) -> Outcome<Digest> {
        let Some(given) = &self.digest else {
            // A person who types an id may have read an earlier question about the call.
            let is_permission = approval.kind.0 == QuestionKind::Permission;
            if is_permission && (!approval.again || decision == GivenDecision::Deny) {
                return Ok(approval.digest.0);
            }
            let message = "this is not the first question about this call, so the answer must say which one it is for";
            return Err(Failure::usage(message).hint("read the question above, then pass its digest with `--digest`"));
        };
        Digest::parse(given).ok_or_else(|| {
            Failure::usage("that is not a digest").hint("`holdpoint approvals show` has it: 64 hexadecimal digits")
        })
    }
}
