//! Answers of people, checked and taken to the policy, before the run is told.

use std::sync::Arc;

use holdpoint_codec::Context;
use holdpoint_core::{
    Actor, Answer, Answered, Arguments, Block, CallId, CallIndex, Code, Decision, GivenAnswer, Recheck, Rejection, Run,
    ToolName, ToolResult,
};
use holdpoint_policy::AuthorizeRequest;
use holdpoint_tools::{Inquiry, limit_output};

use super::decisions::Given;
use super::found::{Found, index_of};
use super::point::Entry;
use crate::driver::{listed, run_facts, understand_edit};
use crate::parts::Parts;
use crate::{CallAnswer, Decisions, Error};

/// Turns what a person decided into what the run is told.
pub(super) struct Answerer<'a> {
    parts: &'a Parts,
    found: &'a Found,
    entry: &'a Entry,
    /// What the policy sees.
    context: Context,
}

/// The recipient of a person's answer.
enum AnswerTo {
    /// The tool that asked.
    Tool,
    /// The model, in the place of a result.
    Model,
}

impl<'a> Answerer<'a> {
    pub(super) fn new(parts: &'a Parts, found: &'a Found, entry: &'a Entry) -> Self {
        let run = found.seen();
        let context = found.context.merged(&entry.context).by(run.actor().clone()).with_run_id(run.id().clone());
        Self { parts, found, entry, context }
    }

    fn run(&self) -> &'a Run {
        self.found.seen()
    }

    /// Checks all answers and asks the policy about them.
    pub(super) async fn answered(&self, decisions: &Decisions) -> Result<Answered, Error> {
        let (run, target) = (self.run(), &self.found.target);
        // What is wrong with the continuation is told before anything is looked at that it is to resume.
        run.expect_answers(target, decisions.missing)?;
        let now = self.parts.store.runs.now();
        let mut answers = Vec::with_capacity(decisions.answers.len());
        for Given { call, answer, digest, remember, reason } in &decisions.answers {
            let digest = digest.or_else(|| self.found.shown_digest(call));
            let (answer, decision) = self.answer(call, answer).await?;
            let remember = remember.as_ref().map(|remember| remember.said_at(now));
            answers.push((call.clone(), GivenAnswer { answer, digest, decision, remember, reason: reason.clone() }));
        }
        let is_named = decisions.actor != Actor::default();
        let actor = if is_named { &decisions.actor } else { self.entry.context.actor() };
        Ok(Answered {
            target: target.clone(),
            actor: actor.clone(),
            answers,
            missing: decisions.missing,
            context: self.entry.context.stored(&run.settings().context_keys)?,
            request: self.entry.request.clone(),
        })
    }

    async fn answer(&self, call: &CallId, given: &CallAnswer) -> Result<(Answer, Option<Decision>), Error> {
        Ok(match given {
            CallAnswer::Allow => {
                self.expect_answer(call, None)?;
                (Answer::Approve, self.ask_again(call).await)
            }
            CallAnswer::Deny(reason) => (Answer::Refuse { reason: reason.clone() }, None),
            CallAnswer::Answer(result) => match self.expect_answer(call, Some(result))? {
                // What goes to a tool goes there whole, and lets it go on.
                AnswerTo::Tool => (Answer::Supply(Arc::clone(result)), self.ask_again(call).await),
                AnswerTo::Model => (Answer::Supply(self.limited(result)), self.ask_for_terms(call).await),
            },
            CallAnswer::Happened(result) => (Answer::Happened(self.limited(result)), self.ask_for_terms(call).await),
            // Whatever is decided for an expired call does not count, so its arguments are not looked at.
            CallAnswer::AllowEdited(_) if self.has_expired(call) => (Answer::Approve, None),
            CallAnswer::AllowEdited(edited) => {
                let (arguments, decision) = self.edit(call, &edited.0).await?;
                (Answer::ApproveEdited(arguments), Some(decision))
            }
        })
    }

    /// A tool's question is answered in the shape that the tool wants, and within the limit of a result.
    fn expect_answer(&self, id: &CallId, answer: Option<&ToolResult>) -> Result<AnswerTo, Error> {
        let call = index_of(self.run(), id).and_then(|index| self.run().call(index));
        let Some(asks) = call.and_then(|call| call.asks()).and_then(|asks| Inquiry::from_result(asks)) else {
            return Ok(AnswerTo::Model);
        };
        let refuse = |problems: String, code| Error::InvalidArguments { call: id.clone(), problems, code };
        let bytes_max = self.run().settings().max_tool_output_bytes;
        let bytes: usize = answer.iter().flat_map(|answer| &answer.blocks).map(Block::len_bytes).sum();
        if u64::try_from(bytes).unwrap_or(u64::MAX) > bytes_max {
            let problem = format!("the answer has {bytes} bytes, and {bytes_max} is the limit");
            return Err(refuse(problem, Code::ArgumentsTooLarge));
        }
        let read = asks.read_answer(answer);
        read.map(|_| AnswerTo::Tool).map_err(|problems| refuse(listed(&problems), Code::InvalidArguments))
    }

    fn has_expired(&self, call: &CallId) -> bool {
        let call = index_of(self.run(), call).and_then(|index| self.run().call(index));
        let deadline = call.and_then(|call| call.question()).and_then(|question| question.deadline);
        deadline.is_some_and(|deadline| deadline <= self.parts.store.runs.now())
    }

    fn limited(&self, result: &Arc<ToolResult>) -> Arc<ToolResult> {
        Arc::new(limit_output(ToolResult::clone(result), self.run().settings().max_tool_output_bytes))
    }

    /// Asks the policy again about a call that an answer lets run. Nothing for a call that no person is asked about.
    async fn ask_again(&self, id: &CallId) -> Option<Decision> {
        if self.run().settings().recheck_policy == Recheck::Off {
            return None;
        }
        let index = index_of(self.run(), id)?;
        let call = self.run().call(index).filter(|call| call.question().is_some())?;
        let (tool, arguments) = (call.tool.as_ref()?, call.canonical()?);
        Some(self.ask_policy(index, &tool.name, arguments).await)
    }

    /// Asks the policy who may say so by now. An answer that lets nothing run cannot be denied.
    async fn ask_for_terms(&self, id: &CallId) -> Option<Decision> {
        match self.ask_again(id).await? {
            decision @ Decision::Confirm(..) => Some(decision),
            Decision::Allow(_) | Decision::Deny(_) => None,
        }
    }

    /// Parses and validates edited arguments, and asks the policy about them.
    async fn edit(&self, id: &CallId, text: &str) -> Result<(Arguments, Decision), Error> {
        let unknown = || Error::from(Rejection::Call { call: id.clone(), code: Code::UnknownToolCall });
        let index = index_of(self.run(), id).ok_or_else(unknown)?;
        let facts = self.run().call(index).and_then(|call| call.tool.as_ref()).ok_or_else(unknown)?;
        let arguments = understand_edit(&self.parts.registry, id, &facts.name, text)?;
        let decision = self.ask_policy(index, &facts.name, &arguments).await;
        Ok((arguments, decision))
    }

    async fn ask_policy(&self, index: CallIndex, tool: &ToolName, arguments: &Arguments) -> Decision {
        let facts = run_facts(self.parts, self.run(), index, &[]);
        let request = AuthorizeRequest { tool, arguments, context: &self.context, run: &facts };
        self.parts.policy.authorize(&request).await.0
    }
}
