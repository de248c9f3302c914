//! Puts a streamed reply together.
//!
//! What a provider sends in pieces becomes one reply, or one error. A reply counts only when its end was seen: nothing
//! that was cut off half-way ever reaches the driver, so that no tool runs from a half-received message.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use holdpoint_core::{Limits, Message, ModelStop, ProviderState, Usage};

use crate::error::{ModelError, ModelErrorKind};
use crate::model::{Delta, DeltaSink, ModelCall, ModelReply};
use crate::providers::names::Names;

/// What a whole reply may have: text, reasoning, names, arguments and state together.
pub(crate) const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What the arguments of one call may have before the whole reply is given up. Far above what a call may have to run.
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many calls one reply may have.
pub(crate) const CALLS_MAX: usize = Limits::TOOL_CALLS_PER_TURN_MAX as usize;
/// No count of tokens is above this: what a JSON number holds exactly.
const TOKENS_MAX: u64 = 1 << 53;

/// A reply that is on its way.
pub(crate) struct Assembly<'a> {
    deltas: &'a dyn DeltaSink,
    names: &'a Names,
    history: &'a [Arc<Message>],
    calls: Vec<OpenCall>,
    said: Said,
}

/// What came so far beside the calls.
#[derive(Default)]
struct Said {
    text: String,
    thinking: String,
    usage: Usage,
    stop: Option<ModelStop>,
    state: Option<ProviderState>,
    bytes: usize,
    begun: bool,
    refused: bool,
    ended: bool,
}

#[derive(Default)]
struct OpenCall {
    id: Option<Arc<str>>,
    name: String,
    /// The registered name, once the call was shown.
    shown: Option<Arc<str>>,
    arguments: Option<String>,
    ended: bool,
}

impl<'a> Assembly<'a> {
    pub(crate) fn new(names: &'a Names, history: &'a [Arc<Message>], deltas: &'a dyn DeltaSink) -> Self {
        Self { deltas, names, history, calls: Vec::new(), said: Said::default() }
    }

    /// There is a message, perhaps an empty one.
    pub(crate) fn begin(&mut self) {
        self.said.begun = true;
    }

    /// More text.
    pub(crate) fn text(&mut self, piece: &str) -> Result<(), ModelError> {
        self.said.begun = true;
        if !piece.is_empty() {
            self.count(piece.len())?;
            self.said.text.push_str(piece);
            self.show(Delta::Text(piece));
        }
        Ok(())
    }

    /// More of a text that says why the model will not answer.
    pub(crate) fn refusal(&mut self, piece: &str) -> Result<(), ModelError> {
        self.said.refused |= !piece.is_empty();
        self.text(piece)
    }

    /// More reasoning.
    pub(crate) fn thinking(&mut self, piece: &str) -> Result<(), ModelError> {
        self.said.begun = true;
        if !piece.is_empty() {
            self.count(piece.len())?;
            self.said.thinking.push_str(piece);
            self.show(Delta::Thinking(piece));
        }
        Ok(())
    }

    /// How many calls there are so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// The id of a call, if it has one.
    pub(crate) fn call_id(&self, position: usize) -> Option<&str> {
        self.calls.get(position).and_then(|call| call.id.as_deref())
    }

    /// The id and the name of a call, as far as a piece has them. A name may come in pieces or again and again.
    pub(crate) fn call(&mut self, position: usize, id: Option<&str>, name: Option<&str>) -> Result<(), ModelError> {
        self.said.begun = true;
        self.count(id.map_or(0, str::len) + name.map_or(0, str::len))?;
        let call = self.open(position)?;
        if call.id.is_none() {
            call.id = id.filter(|id| !id.is_empty()).map(Arc::from);
        }
        if let Some(name) = name
            && call.shown.is_none()
            && call.name != name
        {
            call.name.push_str(name);
        }
        Ok(())
    }

    /// More of a call's arguments.
    pub(crate) fn arguments(&mut self, position: usize, piece: &str) -> Result<(), ModelError> {
        self.count(piece.len())?;
        self.show_call(position)?;
        let call = self.open(position)?;
        let arguments = call.arguments.get_or_insert_default();
        if arguments.len() + piece.len() > ARGUMENTS_BYTES_MAX {
            return Err(too_large("the arguments of one call are"));
        }
        arguments.push_str(piece);
        if !piece.is_empty() {
            self.show(Delta::CallArguments { position, text: piece });
        }
        Ok(())
    }

    /// All of a call's arguments, as far as they are there: for providers that send the whole each time.
    pub(crate) fn arguments_so_far(&mut self, position: usize, whole: &str) -> Result<(), ModelError> {
        let known = self.open(position)?.arguments.as_deref().unwrap_or_default();
        match whole.strip_prefix(known) {
            Some("") if !known.is_empty() => Ok(()),
            Some(more) => {
                let more = more.to_owned();
                self.arguments(position, &more)
            }
            // The provider changed its mind about what it had sent; the last word counts.
            None => {
                self.count(whole.len())?;
                if whole.len() > ARGUMENTS_BYTES_MAX {
                    return Err(too_large("the arguments of one call are"));
                }
                self.open(position)?.arguments = Some(whole.to_owned());
                Ok(())
            }
        }
    }

    /// A call is complete.
    pub(crate) fn call_ended(&mut self, position: usize) -> Result<(), ModelError> {
        self.show_call(position)?;
        let call = self.open(position)?;
        if !std::mem::replace(&mut call.ended, true) {
            self.show(Delta::CallEnded { position });
        }
        Ok(())
    }

    /// Why the model stopped.
    pub(crate) fn stop(&mut self, stop: ModelStop) {
        self.said.begun = true;
        self.said.stop = Some(stop);
    }

    /// What it cost; the last word counts.
    pub(crate) fn usage(&mut self, usage: Usage) {
        let Usage { input, output, cache_read, cache_write, reasoning } = usage;
        self.said.usage = Usage {
            input: input.min(TOKENS_MAX),
            output: output.min(TOKENS_MAX),
            cache_read: cache_read.min(TOKENS_MAX),
            cache_write: cache_write.min(TOKENS_MAX),
            reasoning: reasoning.min(TOKENS_MAX),
        };
    }

    /// What the provider wants back.
    pub(crate) fn state(&mut self, state: ProviderState) -> Result<(), ModelError> {
        self.count(state.data.expose().len())?;
        self.said.state = Some(state);
        Ok(())
    }

    /// The end was seen: what is there is all there is.
    pub(crate) fn end(&mut self) {
        self.said.ended = true;
    }

    /// Whether the end was seen.
    pub(crate) fn has_ended(&self) -> bool {
        self.said.ended
    }

    /// Whether a reason to stop was seen.
    pub(crate) fn has_stopped(&self) -> bool {
        self.said.stop.is_some()
    }

    /// The reply; `None` when there was no message in it.
    pub(crate) fn finish(mut self) -> Result<Option<ModelReply>, ModelError> {
        if !self.said.ended {
            return Err(ModelError::of(ModelErrorKind::Cut, "the reply ended before its end"));
        }
        if self.said.refused {
            self.said.stop = Some(ModelStop::ContentFilter);
        }
        self.drop_unfinished_call();
        for position in 0..self.calls.len() {
            self.call_ended(position)?;
        }
        if !self.said.begun {
            return Ok(None);
        }
        let names = self.names;
        let history = self.history;
        let call = |call: OpenCall| ModelCall {
            id: call.id,
            name: call.shown.unwrap_or_else(|| names.to_registered(&call.name, history)),
            arguments: call.arguments.map(Arc::from),
        };
        Ok(Some(ModelReply {
            text: self.said.text.into(),
            thinking: (!self.said.thinking.is_empty()).then(|| self.said.thinking.into()),
            calls: self.calls.into_iter().map(call).collect(),
            usage: self.said.usage,
            stop: self.said.stop,
            provider_state: self.said.state,
        }))
    }

    /// A model that ran out of room, or that was stopped for whatever other reason, may have been so before the arguments of
    /// its last call. Nothing at all would count as "no arguments", and the call would run.
    fn drop_unfinished_call(&mut self) {
        let was_stopped = match self.said.stop {
            Some(ModelStop::EndTurn | ModelStop::ToolUse) | None => false,
            Some(ModelStop::MaxTokens | ModelStop::ContentFilter | ModelStop::StopSequence | ModelStop::Other(_)) => {
                true
            }
        };
        let blank = |call: &OpenCall| call.arguments.as_deref().is_none_or(|text| text.trim().is_empty());
        if was_stopped && self.calls.last().is_some_and(blank) {
            self.calls.pop();
        }
    }

    fn open(&mut self, position: usize) -> Result<&mut OpenCall, ModelError> {
        if position >= CALLS_MAX {
            return Err(too_large("the number of calls is"));
        }
        if position >= self.calls.len() {
            self.calls.resize_with(position + 1, OpenCall::default);
        }
        Ok(&mut self.calls[position])
    }

    fn show_call(&mut self, position: usize) -> Result<(), ModelError> {
        let names = self.names;
        let history = self.history;
        let call = self.open(position)?;
        if call.shown.is_none() {
            let name = names.to_registered(&call.name, history);
            call.shown = Some(Arc::clone(&name));
            self.show(Delta::CallStarted { position, name: &name });
        }
        Ok(())
    }

    fn show(&self, delta: Delta<'_>) {
        if self.deltas.listens() {
            self.deltas.take(delta);
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.said.bytes = self.said.bytes.saturating_add(bytes);
        if self.said.bytes > REPLY_BYTES_MAX {
            return Err(too_large("the reply is"));
        }
        Ok(())
    }
}

fn too_large(what: &str) -> ModelError {
    ModelError::of(ModelErrorKind::TooLarge, format!("{what} above the limit"))
}
