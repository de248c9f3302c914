//! What people decide about the calls that a paused run asks about.

use std::fmt;
use std::sync::Arc;

use holdpoint_codec::{RememberRequest, result_from_short};
use holdpoint_core::{Actor, CallId, Code, Digest, Missing, Rejection, ToolResult};
use serde_json::Value;

use crate::Error;

/// A person's answer about one call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallAnswer {
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

impl From<bool> for CallAnswer {
    fn from(allow: bool) -> Self {
        if allow { CallAnswer::Allow } else { CallAnswer::Deny(None) }
    }
}

/// An answer, what it is bound to, and what is to be remembered of it.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) call: CallId,
    pub(crate) answer: CallAnswer,
    pub(crate) digest: Option<Digest>,
    pub(crate) remember: Option<RememberRequest>,
    pub(crate) reason: Option<Arc<str>>,
}

impl Given {
    fn new(call: CallId, answer: CallAnswer) -> Self {
        Self { call, answer, digest: None, remember: None, reason: None }
    }
}

/// Decisions for a resume after a confirmation.
#[derive(Clone, Debug)]
pub struct Decisions {
    pub(crate) answers: Vec<Given>,
    pub(crate) actor: Actor,
    pub(crate) missing: Missing,
}

impl Default for Decisions {
    fn default() -> Self {
        Self { answers: Vec::new(), actor: Actor::default(), missing: Missing::Reject }
    }
}

impl Decisions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a decision.
    #[must_use]
    pub fn decide(mut self, call: impl Into<CallId>, answer: impl Into<CallAnswer>) -> Self {
        self.answers.push(Given::new(call.into(), answer.into()));
        self
    }

    /// Lets a call run.
    #[must_use]
    pub fn allow(self, call: impl Into<CallId>) -> Self {
        self.decide(call, CallAnswer::Allow)
    }

    /// Lets a call run with other arguments.
    #[must_use]
    pub fn allow_edited(self, call: impl Into<CallId>, arguments: &Value) -> Self {
        self.decide(call, CallAnswer::AllowEdited(arguments.into()))
    }

    /// Refuses a call.
    #[must_use]
    pub fn deny(self, call: impl Into<CallId>, reason: impl Into<Arc<str>>) -> Self {
        self.decide(call, CallAnswer::Deny(Some(reason.into())))
    }

    /// Gives a result in the tool's place.
    #[must_use]
    pub fn answer(self, call: impl Into<CallId>, result: ToolResult) -> Self {
        self.decide(call, CallAnswer::Answer(Arc::new(result)))
    }

    /// Says that a call in doubt happened, with this result.
    #[must_use]
    pub fn happened(self, call: impl Into<CallId>, result: ToolResult) -> Self {
        self.decide(call, CallAnswer::Happened(Arc::new(result)))
    }

    /// Binds the last decision to the digest of what was shown.
    #[must_use]
    pub fn shown(mut self, digest: Digest) -> Self {
        if let Some(last) = self.answers.last_mut() {
            last.digest = Some(digest);
        }
        self
    }

    /// Lets the last decision, which must allow its call, count for calls that are yet to come: a grant.
    #[must_use]
    pub fn remember(mut self, request: RememberRequest) -> Self {
        if let Some(last) = self.answers.last_mut() {
            last.remember = Some(request);
        }
        self
    }

    /// Says why the last decision is as it is: events, the audit log and the inbox show it. The model is told only why a call
    /// was refused.
    #[must_use]
    pub fn because(mut self, reason: impl Into<Arc<str>>) -> Self {
        let reason = Some(reason.into());
        match self.answers.last_mut() {
            Some(Given { answer: CallAnswer::Deny(told), .. }) => *told = reason,
            Some(last) => last.reason = reason,
            None => {}
        }
        self
    }

    /// Says who decides: a name, or an actor with roles. By default the actor of the context.
    #[must_use]
    pub fn by(mut self, actor: impl Into<Actor>) -> Self {
        self.actor = actor.into();
        self
    }

    /// Calls that are not mentioned stay undecided.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.missing = Missing::Wait;
        self
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
            let given = answer_from_json(call, value);
            decisions.answers.push(given.ok_or_else(|| not_accepted(call, Code::InvalidDecision))?);
        }
        Ok(decisions)
    }
}

pub(super) fn not_accepted(call: &str, code: Code) -> Error {
    Error::Rejected(Rejection::Call { call: CallId::new(call), code })
}

fn answer_from_json(call: &str, value: &Value) -> Option<Given> {
    let result = |value: &Value| result_from_short(value).ok().map(Arc::new);
    let answer = match value {
        Value::Bool(allow) => (*allow).into(),
        Value::String(word) if word == "allow" => CallAnswer::Allow,
        Value::String(word) if word == "deny" => CallAnswer::Deny(None),
        Value::Object(entries) if entries.len() == 1 => {
            let (word, value) = entries.iter().next()?;
            match (word.as_str(), value) {
                ("allow", Value::Object(how)) => return allowed_from_json(call, how),
                ("deny", Value::String(reason)) => CallAnswer::Deny(Some(reason.as_str().into())),
                ("answer", value) => CallAnswer::Answer(result(value)?),
                ("happened", value) => CallAnswer::Happened(result(value)?),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Given::new(CallId::new(call), answer))
}

/// How a call is allowed: with other arguments, for other calls too, and why.
fn allowed_from_json(call: &str, how: &serde_json::Map<String, Value>) -> Option<Given> {
    let mut given = Given::new(CallId::new(call), CallAnswer::Allow);
    for (name, value) in how {
        match (name.as_str(), value) {
            ("arguments", arguments) => given.answer = CallAnswer::AllowEdited(arguments.into()),
            ("remember", Value::Bool(false)) | ("reason", Value::Null) => {}
            ("remember", asked) => given.remember = Some(RememberRequest::from_json(asked)?),
            ("reason", Value::String(reason)) => given.reason = Some(reason.as_str().into()),
            _ => return None,
        }
    }
    (!how.is_empty()).then_some(given)
}

impl<K: Into<CallId>, V: Into<CallAnswer>> FromIterator<(K, V)> for Decisions {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(decisions: I) -> Self {
        decisions.into_iter().fold(Self::new(), |all, (call, answer)| all.decide(call, answer))
    }
}

impl<K: Into<CallId>, V: Into<CallAnswer>, const N: usize> From<[(K, V); N]> for Decisions {
    fn from(decisions: [(K, V); N]) -> Self {
        decisions.into_iter().collect()
    }
}
