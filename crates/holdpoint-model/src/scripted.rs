//! A model that says what a script tells it to: offline, exact, the same every time.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_core::{Message, ModelStop, Usage};

use crate::error::ModelError;
use crate::model::{Delta, DeltaSink, Model, ModelCall, ModelReply, ModelRequest};

/// Gives the nth reply to the nth request. Clones share their place in the script.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    name: Option<Arc<str>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    script: Vec<ScriptedReply>,
    when_out: WhenOut,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    requests: usize,
    overran: bool,
    latest: Option<SeenRequest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenOut {
    Fail,
    StartAgain,
}

/// What the model was asked last.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// The names of the tools offered, in order.
    pub tools: Vec<Arc<str>>,
}

/// One entry of a script.
#[derive(Clone, Debug)]
pub enum ScriptedReply {
    /// A message.
    Say(ModelReply),
    /// The provider fails.
    Fail(Arc<str>),
    /// No message at all.
    Nothing,
}

impl ScriptedReply {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Say(ModelReply { text: text.into(), ..ModelReply::default() })
    }

    /// One call with its arguments as JSON text.
    pub fn call(id: &str, tool: &str, arguments: &str) -> Self {
        Self::calls(&[(id, tool, arguments)])
    }

    /// Several calls: id, tool, arguments as JSON text.
    pub fn calls(calls: &[(&str, &str, &str)]) -> Self {
        let call = |(id, tool, arguments): &(&str, &str, &str)| ModelCall {
            id: Some((*id).into()),
            name: (*tool).into(),
            arguments: Some((*arguments).into()),
        };
        Self::Say(ModelReply { calls: calls.iter().map(call).collect(), ..ModelReply::default() })
    }

    /// The same entry with what it cost.
    #[must_use]
    pub fn costing(mut self, input: u64, output: u64) -> Self {
        if let Self::Say(reply) = &mut self {
            reply.usage = Usage { input, output, ..Usage::default() };
        }
        self
    }

    /// The same entry with another reason to stop.
    #[must_use]
    pub fn stopping(mut self, stop: ModelStop) -> Self {
        if let Self::Say(reply) = &mut self {
            reply.stop = Some(stop);
        }
        self
    }
}

impl ScriptedModel {
    /// A model with a script. Asked beyond its end it fails.
    pub fn new(script: Vec<ScriptedReply>) -> Self {
        Self::with(script, WhenOut::Fail)
    }

    /// A model that starts its script again when it is through.
    pub fn repeating(script: Vec<ScriptedReply>) -> Self {
        Self::with(script, WhenOut::StartAgain)
    }

    fn with(script: Vec<ScriptedReply>, when_out: WhenOut) -> Self {
        Self { name: None, shared: Arc::new(Shared { script, when_out, state: Mutex::default() }) }
    }

    /// The same model with a name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How often it was asked.
    pub fn requests(&self) -> usize {
        self.state().requests
    }

    /// Whether it was asked more often than the script has entries.
    pub fn overran(&self) -> bool {
        self.state().overran
    }

    /// What it was asked last.
    pub fn latest(&self) -> Option<SeenRequest> {
        self.state().latest.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, request: &ModelRequest<'_>) -> Option<ScriptedReply> {
        let mut state = self.state();
        let position = match self.shared.when_out {
            WhenOut::Fail => state.requests,
            WhenOut::StartAgain => state.requests % self.shared.script.len().max(1),
        };
        state.requests += 1;
        state.latest = Some(SeenRequest {
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.as_str().into()).collect(),
        });
        let entry = self.shared.script.get(position).cloned();
        state.overran |= entry.is_none();
        entry
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    async fn reply(
        &self,
        request: &ModelRequest<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<Option<ModelReply>, ModelError> {
        match self.take(request) {
            Some(ScriptedReply::Say(reply)) => {
                if deltas.listens() {
                    stream(&reply, deltas);
                }
                Ok(Some(reply))
            }
            Some(ScriptedReply::Nothing) => Ok(None),
            Some(ScriptedReply::Fail(message)) => Err(ModelError::new(message)),
            None => Err(ModelError::new("the script has no more replies")),
        }
    }
}

/// Cuts a reply into pieces as a provider would.
fn stream(reply: &ModelReply, deltas: &dyn DeltaSink) {
    if let Some(thinking) = &reply.thinking {
        pieces(thinking).for_each(|piece| deltas.take(Delta::Thinking(piece)));
    }
    pieces(&reply.text).for_each(|piece| deltas.take(Delta::Text(piece)));
    for (position, call) in reply.calls.iter().enumerate() {
        deltas.take(Delta::CallStarted { position, name: &call.name });
        let arguments = call.arguments.as_deref().unwrap_or_default();
        pieces(arguments).for_each(|text| deltas.take(Delta::CallArguments { position, text }));
        deltas.take(Delta::CallEnded { position });
    }
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ').filter(|piece| !piece.is_empty())
}
