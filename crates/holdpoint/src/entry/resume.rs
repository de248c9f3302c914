//! What a resume is given: a continuation in any of its forms, decisions or results.

use std::fmt;
use std::sync::Arc;

use holdpoint_codec::{Context, RememberRequest, result_from_short};
use holdpoint_core::{
    Actor, BatchId, CallId, CallKey, Code, ContinuationId, Digest, Missing, Rejection, RunId, ToolResult,
};
use serde::Deserialize;
use serde_json::Value;

use crate::Error;
use crate::entry::result::{Continuation, RunResult};

/// What is resumed. `Debug` shows nothing of a payload but its length.
#[derive(Clone)]
pub enum ResumeFrom {
    /// An object of this process.
    Object(Box<Continuation>),
    /// A result that is not paused: refused when it is resumed.
    Ended(RunId),
    /// An exported payload.
    Json(String),
    /// Only the name of a continuation; the store has the rest.
    Id(ContinuationId),
    /// The batch of a turn, for a partial resume.
    Batch(BatchId),
    /// The batch of a pause, for a partial resume. Decisions without a digest of their own are about the questions that this
    /// pause showed.
    BatchOf(Box<ResumeFrom>),
}

impl ResumeFrom {
    /// Names the batch of a pause instead of its continuation, so that people who answer different calls do not collide.
    #[must_use]
    pub fn by_batch(self) -> Self {
        ResumeFrom::BatchOf(Box::new(self))
    }

    /// The run that it names, as far as it can be told without checking a payload.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        #[derive(Deserialize)]
        struct Named {
            run_id: String,
        }
        match self {
            ResumeFrom::Object(continuation) => Some(continuation.run_id().clone()),
            ResumeFrom::Ended(run) => Some(run.clone()),
            ResumeFrom::Json(text) => serde_json::from_str(text).ok().map(|named: Named| RunId::new(named.run_id)),
            ResumeFrom::Id(id) => Some(id.run.clone()),
            ResumeFrom::Batch(id) => Some(id.run.clone()),
            ResumeFrom::BatchOf(pause) => pause.run_id(),
        }
    }
}

impl fmt::Debug for ResumeFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeFrom::Object(continuation) => write!(f, "Object({})", continuation.id()),
            ResumeFrom::Ended(run) => write!(f, "Ended({run})"),
            ResumeFrom::Json(text) => write!(f, "Json({} bytes)", text.len()),
            ResumeFrom::Id(id) => write!(f, "Id({id})"),
            ResumeFrom::Batch(id) => write!(f, "Batch({id})"),
            ResumeFrom::BatchOf(pause) => write!(f, "BatchOf({pause:?})"),
        }
    }
}

impl From<Continuation> for ResumeFrom {
    fn from(continuation: Continuation) -> Self {
        ResumeFrom::Object(Box::new(continuation))
    }
}

impl From<&Continuation> for ResumeFrom {
    fn from(continuation: &Continuation) -> Self {
        ResumeFrom::Object(Box::new(continuation.clone()))
    }
}

impl From<&RunResult> for ResumeFrom {
    fn from(result: &RunResult) -> Self {
        match result.continuation() {
            Some(continuation) => ResumeFrom::Object(Box::new(continuation)),
            None => ResumeFrom::Ended(result.run_id().clone()),
        }
    }
}

impl From<RunResult> for ResumeFrom {
    fn from(result: RunResult) -> Self {
        ResumeFrom::from(&result)
    }
}

impl From<&str> for ResumeFrom {
    fn from(json: &str) -> Self {
        ResumeFrom::Json(json.to_owned())
    }
}

impl From<String> for ResumeFrom {
    fn from(json: String) -> Self {
        ResumeFrom::Json(json)
    }
}

impl From<&Value> for ResumeFrom {
    fn from(json: &Value) -> Self {
        ResumeFrom::Json(json.to_string())
    }
}

impl From<ContinuationId> for ResumeFrom {
    fn from(id: ContinuationId) -> Self {
        ResumeFrom::Id(id)
    }
}

impl From<BatchId> for ResumeFrom {
    fn from(id: BatchId) -> Self {
        ResumeFrom::Batch(id)
    }
}

/// One decision about one call.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Run it; of a call in doubt: it did not happen, run it.
    Allow,
    /// Run it with these arguments, as JSON text.
    AllowEdited(EditedArguments),
    /// Do not run it; of a call in doubt: give it up.
    Deny(Option<Arc<str>>),
    /// Take this in the tool's place.
    Answer(Arc<ToolResult>),
    /// Of a call in doubt: it happened, with this result.
    Happened(Arc<ToolResult>),
}

/// Arguments as a person typed them: JSON text that nothing shows.
#[derive(Clone, PartialEq, Eq)]
pub struct EditedArguments(pub(crate) String);

impl EditedArguments {
    /// From JSON text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<&Value> for EditedArguments {
    fn from(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl fmt::Debug for EditedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EditedArguments({} bytes)", self.0.len())
    }
}

impl From<bool> for Verdict {
    fn from(allow: bool) -> Self {
        if allow { Verdict::Allow } else { Verdict::Deny(None) }
    }
}

/// One decision, what it is bound to, and what is to be remembered of it.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) call: CallId,
    pub(crate) verdict: Verdict,
    pub(crate) digest: Option<Digest>,
    pub(crate) remember: Option<RememberRequest>,
    pub(crate) reason: Option<Arc<str>>,
}

/// Decisions for a resume after a confirmation.
#[derive(Clone, Debug)]
pub struct Decisions {
    pub(crate) verdicts: Vec<Given>,
    pub(crate) actor: Actor,
    pub(crate) missing: Missing,
    pub(crate) context: Context,
    pub(crate) request: Option<Arc<str>>,
}

impl Default for Decisions {
    fn default() -> Self {
        let (actor, context) = (Actor::default(), Context::new());
        Self { verdicts: Vec::new(), actor, missing: Missing::Reject, context, request: None }
    }
}

impl Decisions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a decision.
    #[must_use]
    pub fn decide(mut self, call: impl Into<CallId>, verdict: impl Into<Verdict>) -> Self {
        let (call, verdict) = (call.into(), verdict.into());
        self.verdicts.push(Given { call, verdict, digest: None, remember: None, reason: None });
        self
    }

    /// Lets a call run.
    #[must_use]
    pub fn allow(self, call: impl Into<CallId>) -> Self {
        self.decide(call, Verdict::Allow)
    }

    /// Lets a call run with other arguments.
    #[must_use]
    pub fn allow_edited(self, call: impl Into<CallId>, arguments: &Value) -> Self {
        self.decide(call, Verdict::AllowEdited(arguments.into()))
    }

    /// Refuses a call.
    #[must_use]
    pub fn deny(self, call: impl Into<CallId>, reason: impl Into<Arc<str>>) -> Self {
        self.decide(call, Verdict::Deny(Some(reason.into())))
    }

    /// Gives a result in the tool's place.
    #[must_use]
    pub fn answer(self, call: impl Into<CallId>, result: ToolResult) -> Self {
        self.decide(call, Verdict::Answer(Arc::new(result)))
    }

    /// Says that a call in doubt happened, with this result.
    #[must_use]
    pub fn happened(self, call: impl Into<CallId>, result: ToolResult) -> Self {
        self.decide(call, Verdict::Happened(Arc::new(result)))
    }

    /// Binds the last decision to the digest of what was shown.
    #[must_use]
    pub fn shown(mut self, digest: Digest) -> Self {
        if let Some(last) = self.verdicts.last_mut() {
            last.digest = Some(digest);
        }
        self
    }

    /// Lets the last decision, which must allow its call, count for calls that are yet to come: a grant.
    #[must_use]
    pub fn remember(mut self, request: RememberRequest) -> Self {
        if let Some(last) = self.verdicts.last_mut() {
            last.remember = Some(request);
        }
        self
    }

    /// Says why the last decision is as it is: events, the audit log and the inbox show it. The model is told only why a call
    /// was refused.
    #[must_use]
    pub fn because(mut self, reason: impl Into<Arc<str>>) -> Self {
        let reason = Some(reason.into());
        match self.verdicts.last_mut() {
            Some(Given { verdict: Verdict::Deny(told), .. }) => *told = reason,
            Some(last) => last.reason = reason,
            None => {}
        }
        self
    }

    /// Says who decides.
    #[must_use]
    pub fn by(mut self, actor: impl Into<Person>) -> Self {
        self.actor = actor.into().0;
        self
    }

    /// Calls that are not mentioned stay undecided.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.missing = Missing::Wait;
        self
    }

    /// Context attributes that replace stored ones of the same name.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }

    /// Names the request that brings them. The event `resumed` keeps the name, so that a server that gets the same request
    /// again can tell that it was accepted.
    #[must_use]
    pub fn requested_by(mut self, request: impl Into<Arc<str>>) -> Self {
        self.request = Some(request.into());
        self
    }

    /// Who answers: whoever [`Decisions::by`] names, else the actor of the context.
    pub(crate) fn answerer(&self) -> &Actor {
        if self.actor == Actor::default() { self.context.actor() } else { &self.actor }
    }

    /// Reads a JSON object of call ids and decisions: `"allow"`, `"deny"`, `true`, `false`, `{"allow": {"arguments": …}}`,
    /// `{"deny": REASON}`, `{"answer": RESULT}`, `{"happened": RESULT}`. Beside or instead of `arguments`, `allow` may have
    /// `reason`, and `remember`: see [`RememberRequest::from_json`].
    ///
    /// # Errors
    /// `invalid_decision` for anything else, naming the call.
    pub fn from_json(value: &Value) -> Result<Self, Error> {
        let entries = value.as_object().ok_or_else(|| not_accepted("decisions", Code::InvalidDecision))?;
        let mut decisions = Self::new();
        for (call, value) in entries {
            let (verdict, remember, reason) =
                verdict_from_json(value).ok_or_else(|| not_accepted(call, Code::InvalidDecision))?;
            let call = CallId::new(call.as_str());
            decisions.verdicts.push(Given { call, verdict, digest: None, remember, reason });
        }
        Ok(decisions)
    }
}

fn not_accepted(call: &str, code: Code) -> Error {
    Error::Rejected(Rejection::Call { call: CallId::new(call), code })
}

/// A verdict, what is to be remembered of it, and why.
type Read = (Verdict, Option<RememberRequest>, Option<Arc<str>>);

fn verdict_from_json(value: &Value) -> Option<Read> {
    match value {
        Value::Object(entries) if entries.len() == 1 => match entries.get("allow") {
            Some(Value::Object(how)) => allowed_from_json(how),
            Some(_) | None => plain_verdict(value).map(|verdict| (verdict, None, None)),
        },
        value => plain_verdict(value).map(|verdict| (verdict, None, None)),
    }
}

/// How a call is allowed: with other arguments, for other calls too, and why.
fn allowed_from_json(how: &serde_json::Map<String, Value>) -> Option<Read> {
    let known = |name: &String| matches!(name.as_str(), "arguments" | "remember" | "reason");
    if how.is_empty() || !how.keys().all(known) {
        return None;
    }
    let verdict = how.get("arguments").map_or(Verdict::Allow, |arguments| Verdict::AllowEdited(arguments.into()));
    let remember = match how.get("remember") {
        None | Some(Value::Bool(false)) => None,
        Some(asked) => Some(RememberRequest::from_json(asked)?),
    };
    let reason = match how.get("reason") {
        None | Some(Value::Null) => None,
        Some(reason) => Some(reason.as_str()?.into()),
    };
    Some((verdict, remember, reason))
}

fn plain_verdict(value: &Value) -> Option<Verdict> {
    match value {
        Value::Bool(allow) => Some((*allow).into()),
        Value::String(word) if word == "allow" => Some(Verdict::Allow),
        Value::String(word) if word == "deny" => Some(Verdict::Deny(None)),
        Value::Object(entries) if entries.len() == 1 => {
            let (word, value) = entries.iter().next()?;
            match (word.as_str(), value) {
                ("deny", Value::String(reason)) => Some(Verdict::Deny(Some(reason.as_str().into()))),
                ("answer", result) => Some(Verdict::Answer(Arc::new(result_from_short(result).ok()?))),
                ("happened", result) => Some(Verdict::Happened(Arc::new(result_from_short(result).ok()?))),
                _ => None,
            }
        }
        _ => None,
    }
}

impl<K: Into<CallId>, V: Into<Verdict>> FromIterator<(K, V)> for Decisions {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(decisions: I) -> Self {
        decisions.into_iter().fold(Self::new(), |all, (call, verdict)| all.decide(call, verdict))
    }
}

impl<K: Into<CallId>, V: Into<Verdict>, const N: usize> From<[(K, V); N]> for Decisions {
    fn from(decisions: [(K, V); N]) -> Self {
        decisions.into_iter().collect()
    }
}

/// Who decides: a name, or an actor with roles.
#[derive(Clone, Debug)]
pub struct Person(pub(crate) Actor);

impl From<&str> for Person {
    fn from(id: &str) -> Self {
        Person(Actor { id: Some(id.into()), ..Actor::default() })
    }
}

impl From<Actor> for Person {
    fn from(actor: Actor) -> Self {
        Person(actor)
    }
}

/// A run that failed and is to go on.
#[derive(Clone, Debug)]
pub struct Retry {
    pub(crate) run: RunId,
    pub(crate) request: Option<Arc<str>>,
}

impl Retry {
    /// Names the request that asks for it, as [`Decisions::requested_by`] does.
    #[must_use]
    pub fn requested_by(mut self, request: impl Into<Arc<str>>) -> Self {
        self.request = Some(request.into());
        self
    }
}

impl From<&RunId> for Retry {
    fn from(run: &RunId) -> Self {
        Self { run: run.clone(), request: None }
    }
}

/// A task that was given up and is to be done again.
#[derive(Clone, Debug)]
pub struct Requeue {
    pub(crate) key: CallKey,
    pub(crate) digest: Digest,
    pub(crate) actor: Actor,
    pub(crate) request: Option<Arc<str>>,
}

impl Requeue {
    /// This person says that the call did not happen. The digest is that of the question that they saw.
    pub fn new(key: CallKey, digest: Digest, actor: Actor) -> Self {
        Self { key, digest, actor, request: None }
    }

    /// Names the request that asks for it, as [`Decisions::requested_by`] does.
    #[must_use]
    pub fn requested_by(mut self, request: impl Into<Arc<str>>) -> Self {
        self.request = Some(request.into());
        self
    }
}

/// Results for a resume of calls that were handed out.
#[derive(Clone, Debug)]
pub struct Results {
    pub(crate) results: Vec<(CallId, Arc<ToolResult>)>,
    pub(crate) missing: Missing,
    pub(crate) context: Context,
    pub(crate) request: Option<Arc<str>>,
}

impl Default for Results {
    fn default() -> Self {
        Self { results: Vec::new(), missing: Missing::Reject, context: Context::new(), request: None }
    }
}

impl Results {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a result.
    #[must_use]
    pub fn result(mut self, call: impl Into<CallId>, result: ToolResult) -> Self {
        self.results.push((call.into(), Arc::new(result)));
        self
    }

    /// Calls that are not mentioned stay pending.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.missing = Missing::Wait;
        self
    }

    /// Context attributes that replace stored ones of the same name.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }

    /// Names the request that brings them, as [`Decisions::requested_by`] does.
    #[must_use]
    pub fn requested_by(mut self, request: impl Into<Arc<str>>) -> Self {
        self.request = Some(request.into());
        self
    }

    /// Reads a JSON object of call ids and results: `{"text": …}`, `{"json": …}`, `{"error": …}`, `{"content": …}`.
    ///
    /// # Errors
    /// `invalid_result` for anything else, naming the call.
    pub fn from_json(value: &Value) -> Result<Self, Error> {
        let entries = value.as_object().ok_or_else(|| not_accepted("results", Code::InvalidResult))?;
        let mut results = Self::new();
        for (call, value) in entries {
            let result = result_from_short(value).map_err(|_| not_accepted(call, Code::InvalidResult))?;
            if call.trim().is_empty() {
                return Err(not_accepted(call, Code::InvalidResult));
            }
            results = results.result(call.as_str(), result);
        }
        Ok(results)
    }
}

impl<K: Into<CallId>> FromIterator<(K, ToolResult)> for Results {
    fn from_iter<I: IntoIterator<Item = (K, ToolResult)>>(results: I) -> Self {
        results.into_iter().fold(Self::new(), |all, (call, result)| all.result(call, result))
    }
}

impl<K: Into<CallId>, const N: usize> From<[(K, ToolResult); N]> for Results {
    fn from(results: [(K, ToolResult); N]) -> Self {
        results.into_iter().collect()
    }
}
