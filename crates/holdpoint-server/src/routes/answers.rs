//! What people and programs bring to a paused run.

use std::sync::Arc;

use axum::response::Response;
use holdpoint::{Actor, CallAnswer, Decisions, EditedArguments, RememberRequest, Results, ResumeFrom, RunId};
use holdpoint_api::{AnswersBody, DecisionBody, ResultsBody, RunView};
use holdpoint_codec::result_from_short_text;
use holdpoint_codec::view::DecisionWord;
use holdpoint_core::{BatchId, CallId, Code, ContinuationId, Digest, QuestionKind, Rejection, Run};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Problems, resumed, runs};
use crate::auth::{Caller, Right};
use crate::body::Body;
use crate::limits::{ANSWERS_MAX, REASON_BYTES_MAX};
use crate::params::{Ask, Id, Params, WaitQuery, Wants};
use crate::refusal::{Answer, Refusal};

/// Answer the questions of a run.
///
/// An answer is bound to the question that was shown: it names the digest of that question, and counts for no other. Only
/// who refuses a permission may leave it out. Of any number of answers to one continuation exactly one wins; people who answer different calls use `partial` with `batch_id`. Who may not
/// see the run gets it without `text` and with those `pending` only that they may answer, and no stream.
#[utoipa::path(
    post, path = "/v1/runs/{id}/answers", tag = "answers", operation_id = "answer_run",
    params(("id" = String, Path), WaitQuery), request_body = AnswersBody,
    responses(
        (status = 200, description = "The run", content((RunView = "application/json"), (String = "text/event-stream"))),
        Problems,
    ),
)]
pub(super) async fn answers(
    ask: Ask,
    id: Id,
    Params(wait): Params<WaitQuery>,
    Body(body): Body<AnswersBody>,
) -> Answer<Response> {
    ask.caller.need(Right::Approve)?;
    ask.app.expect_running()?;
    let read = ask.app.run_owned(&ask.caller, &id.run()?).await?;
    let run = read.run();
    if ask.wants == Wants::Events && !ask.caller.sees(run) {
        // What happens in a run is told to those who may see it, and nothing is begun for others who ask for it.
        ask.caller.need(Right::Read)?;
    }
    let from = resume_from(run.id(), body.continuation_id.as_deref(), body.batch_id.as_deref())?;
    expect_few("decisions", body.decisions.len())?;
    let mut decisions = Decisions::new().by(answerer(&ask.caller, run));
    for (index, decision) in body.decisions.into_iter().enumerate() {
        decisions = decide(decisions, run, index, decision)?;
    }
    if body.partial == Some(true) {
        decisions = decisions.partial();
    }
    let segment = ask.app.runner_for(&read)?.resume(from, decisions).as_read(&read);
    resumed::follow(&ask, run.id(), segment, wait).await
}

/// Deliver results of calls that were handed out.
#[utoipa::path(
    post, path = "/v1/runs/{id}/results", tag = "answers", operation_id = "deliver_results",
    params(("id" = String, Path), WaitQuery), request_body = ResultsBody,
    responses(
        (status = 200, description = "The run", content((RunView = "application/json"), (String = "text/event-stream"))),
        Problems,
    ),
)]
pub(super) async fn results(
    ask: Ask,
    id: Id,
    Params(wait): Params<WaitQuery>,
    Body(body): Body<ResultsBody>,
) -> Answer<Response> {
    ask.app.expect_running()?;
    let run = runs::moved_by(&ask.app, &ask.caller, &id.run()?).await?;
    let from = resume_from(run.run_id(), body.continuation_id.as_deref(), body.batch_id.as_deref())?;
    expect_few("results", body.results.len())?;
    let mut results = Results::new();
    for result in &body.results {
        let call = result.call_id.as_str();
        results = results.result(call, result.result().map_err(|_| invalid_result(call))?);
    }
    if body.partial == Some(true) {
        results = results.partial();
    }
    let segment = ask.app.runner_for(&run)?.resume_with_tool_results(from, results).as_read(&run);
    resumed::follow(&ask, run.run_id(), segment, wait).await
}

/// The pause or the batch that the client names. One of another run is none of this run.
fn resume_from(run: &RunId, continuation: Option<&str>, batch: Option<&str>) -> Answer<ResumeFrom> {
    let found = match (continuation, batch) {
        (Some(text), None) => ContinuationId::parse(text).filter(|id| id.run == *run).map(ResumeFrom::Id),
        (None, Some(text)) => BatchId::parse(text).filter(|id| id.run == *run).map(ResumeFrom::Batch),
        _ => return Err(Refusal::value("continuation_id", "name either `continuation_id` or `batch_id`")),
    };
    found.ok_or_else(Refusal::no_run)
}

fn expect_few(field: &str, count: usize) -> Answer<()> {
    if count > ANSWERS_MAX {
        return Err(Refusal::field(field, format!("at most {ANSWERS_MAX} {field} at once")));
    }
    Ok(())
}

/// Who answers what a run asks.
fn answerer(caller: &Caller, run: &Run) -> Actor {
    caller.answerer(holdpoint_codec::pending(run).into_iter().flat_map(|pending| pending.approvers))
}

/// The digest that a field holds.
pub(super) fn expect_digest(field: &str, text: &str) -> Answer<Digest> {
    Digest::parse(text).ok_or_else(|| Refusal::value(field, "a digest has 64 hexadecimal digits"))
}

/// Whether nothing but a permission can be refused for this call: a call in doubt is given up only by somebody who saw that
/// it was started.
fn asks_permission(run: &Run, call: &str) -> bool {
    let question = run.calls().iter().find(|known| known.id.as_str() == call).and_then(|known| known.question());
    question.is_none_or(|question| question.kind() == QuestionKind::Permission)
}

fn decide(decisions: Decisions, run: &Run, index: usize, body: DecisionBody) -> Answer<Decisions> {
    let at = |field: &str| format!("decisions[{index}].{field}");
    let invalid =
        || Refusal::from(Rejection::Call { call: CallId::new(body.call_id.as_str()), code: Code::InvalidDecision });
    // Another word is no malformed request, but not a decision.
    let word: DecisionWord = serde_json::from_str(body.decision.get()).map_err(|_| invalid())?;
    if body.reason.as_ref().is_some_and(|reason| reason.len() > REASON_BYTES_MAX) {
        return Err(Refusal::value(&at("reason"), format!("a reason has at most {REASON_BYTES_MAX} bytes")));
    }
    let allows = word == DecisionWord::Allow;
    if (body.arguments.is_some() || body.remember.is_some()) && !allows {
        return Err(invalid());
    }
    let digest = match (&body.digest, word) {
        (Some(text), _) => Some(expect_digest(&at("digest"), text)?),
        (None, DecisionWord::Deny) if asks_permission(run, &body.call_id) => None,
        (None, DecisionWord::Deny | DecisionWord::Allow | DecisionWord::Answer | DecisionWord::Happened) => {
            let detail = "`digest` is required: send the one that was shown";
            return Err(Refusal::value(&at("digest"), detail));
        }
    };
    let given = |result: Option<&RawValue>| match result.map(|raw| result_from_short_text(raw.get())) {
        Some(Ok(result)) => Ok(Arc::new(result)),
        Some(Err(_)) | None => Err(invalid()),
    };
    let answer = match word {
        DecisionWord::Allow | DecisionWord::Deny if body.result.is_some() => return Err(invalid()),
        DecisionWord::Allow => match &body.arguments {
            Some(arguments) => CallAnswer::AllowEdited(EditedArguments::from_text(arguments.get())),
            None => CallAnswer::Allow,
        },
        DecisionWord::Deny => CallAnswer::Deny(body.reason.as_deref().map(Arc::from)),
        DecisionWord::Answer => CallAnswer::Answer(given(body.result.as_deref())?),
        DecisionWord::Happened => CallAnswer::Happened(given(body.result.as_deref())?),
    };
    let mut decisions = decisions.decide(body.call_id.as_str(), answer);
    if let Some(reason) = body.reason.as_deref() {
        decisions = decisions.because(reason);
    }
    if let Some(digest) = digest {
        decisions = decisions.shown(digest);
    }
    match body.remember {
        None | Some(Value::Null | Value::Bool(false)) => Ok(decisions),
        Some(asked) => {
            let remember = RememberRequest::from_json(&asked);
            let detail = "`remember` is neither `true` nor what is to be remembered";
            Ok(decisions.remember(remember.ok_or_else(|| Refusal::value(&at("remember"), detail))?))
        }
    }
}

pub(super) fn invalid_result(call: &str) -> Refusal {
    Rejection::Call { call: CallId::new(call), code: Code::InvalidResult }.into()
}
