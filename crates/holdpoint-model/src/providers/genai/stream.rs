//! Reads a stream of `genai`.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::Stream;
use genai::chat::{ChatStream, ChatStreamEvent, ChatStreamResponse, StopReason, StreamEnd, ToolCall};
use holdpoint_core::{ModelStop, Usage};
use serde_json::Value;
use tracing::Dispatch;

use super::state::State;
use super::tap::Tap;
use super::{Family, GenaiModel, fault, words};
use crate::error::{ModelError, ModelErrorKind};
use crate::model::ModelReply;
use crate::providers::assemble::{Assembly, REPLY_BYTES_MAX};

/// What a stream may have on the wire, with all that stands around the pieces.
const STREAM_BYTES_MAX: usize = 16 * REPLY_BYTES_MAX;
/// How often the connection may give more without one whole frame. `genai` keeps what is not yet a frame, and tells nobody
/// how much that is; each time it is what one read of the connection gives.
const READS_MAX: u32 = 4_096;
/// The same before the first frame. Until then it may be an error whose text it collects whole.
const FIRST_READS_MAX: u32 = 256;
/// It also copies all of it with each read, so that the time it spends tells how much it is: after some reads, no more than
/// this may be spent on one frame.
const SPENT_MAX: Duration = Duration::from_secs(1);
/// How many reads it must have been, so that one that was merely held up does not count.
const READS_MIN: u32 = 32;
/// The longest word of a provider for why it stopped.
const STOP_WORD_BYTES_MAX: usize = 64;

/// Polls with no log and no panic.
fn quietly<T>(poll: impl FnOnce() -> Poll<T>) -> Poll<Result<T, ModelError>> {
    let polled = tracing::dispatcher::with_default(&Dispatch::none(), || catch_unwind(AssertUnwindSafe(poll)));
    match polled {
        Ok(poll) => poll.map(Ok),
        Err(_) => Poll::Ready(Err(fault::garbage("the provider sent what its client could not bear"))),
    }
}

/// A reply that is being read.
pub(super) struct Reading<'a> {
    model: &'a GenaiModel,
    assembly: Assembly<'a>,
    tap: Arc<Tap>,
    state: State,
    /// For each call, arguments that came with its beginning and count unless others follow.
    early: Vec<Option<String>>,
    reads: u32,
    spent: Duration,
    frames: u64,
}

impl<'a> Reading<'a> {
    pub(super) fn new(model: &'a GenaiModel, assembly: Assembly<'a>, tap: Arc<Tap>) -> Self {
        Self {
            model,
            assembly,
            tap,
            state: State::default(),
            early: Vec::new(),
            reads: 0,
            spent: Duration::ZERO,
            frames: 0,
        }
    }

    /// Sends the request and reads the answer. Nothing of it is logged, and a panic is an error.
    pub(super) async fn read(
        mut self,
        sending: impl Future<Output = genai::Result<ChatStreamResponse>>,
    ) -> Result<Option<ModelReply>, ModelError> {
        let mut sending = pin!(sending);
        let sent = poll_fn(|cx| quietly(|| sending.as_mut().poll(cx))).await?;
        let mut stream = sent.map_err(|error| self.fault(&error))?.stream;
        loop {
            let event = poll_fn(|cx| self.poll(Pin::new(&mut stream), cx)).await?;
            let Some(event) = event else { return Err(fault::ended(&self.tap.heard())) };
            let event = event.map_err(|error| self.fault(&error))?;
            match event {
                ChatStreamEvent::Start | ChatStreamEvent::Heartbeat | ChatStreamEvent::ThoughtSignatureChunk(_) => {}
                ChatStreamEvent::Chunk(chunk) => self.assembly.text(&chunk.content)?,
                ChatStreamEvent::ReasoningChunk(chunk) => self.assembly.thinking(&chunk.content)?,
                ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call)?,
                ChatStreamEvent::End(end) => {
                    self.end(end)?;
                    return self.assembly.finish();
                }
            }
        }
    }

    fn fault(&self, error: &genai::Error) -> ModelError {
        fault::of(error, &self.tap.heard(), &self.model.opening.timeouts)
    }

    fn poll(
        &mut self,
        stream: Pin<&mut ChatStream>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<genai::Result<ChatStreamEvent>>, ModelError>> {
        let started = Instant::now();
        let polled = quietly(|| stream.poll_next(cx));
        let heard = self.tap.heard();
        if heard.frames != self.frames {
            self.frames = heard.frames;
            self.reads = 0;
            self.spent = Duration::ZERO;
        }
        self.reads += 1;
        self.spent += started.elapsed();
        let reads_max = if heard.frames == 0 { FIRST_READS_MAX } else { READS_MAX };
        let partial = self.reads > reads_max || (self.reads > READS_MIN && self.spent > SPENT_MAX);
        if partial || heard.bytes > STREAM_BYTES_MAX {
            return Poll::Ready(Err(ModelError::of(ModelErrorKind::TooLarge, "the stream is above the limit")));
        }
        polled
    }

    /// A piece of a call: in some protocols all of it, in others all of its arguments so far. Ids tell nothing, as they may
    /// be missing or repeat, and neither do empty arguments: the frames tell where a call begins.
    fn call(&mut self, call: ToolCall) -> Result<(), ModelError> {
        let name = words::from_wire(&call.fn_name);
        let pieces = match self.model.family {
            Family::Anthropic | Family::Bedrock => true,
            Family::Gemini | Family::Ollama => false,
        };
        let began = self.tap.heard().arguments.pop_front();
        let new = !pieces || began.is_some() || self.assembly.calls() == 0;
        let position = if new { self.assembly.calls() } else { self.assembly.calls().saturating_sub(1) };
        let made_up = call.call_id.starts_with("call#") && self.model.family == Family::Gemini;
        self.assembly.call(position, (!made_up).then_some(&*call.call_id), Some(name))?;
        if !new {
            let whole = call.fn_arguments.as_str().unwrap_or_default();
            if whole.is_empty() {
                return Ok(());
            }
            self.early.truncate(position);
            return self.assembly.arguments_so_far(position, whole);
        }
        let exact = began.flatten();
        let signature = call.thought_signatures.into_iter().flatten().next();
        self.state.calls.push(signature);
        if pieces {
            self.early.resize(position, None);
            self.early.push(exact);
            return Ok(());
        }
        match (exact, call.fn_arguments) {
            (Some(text), _) => self.assembly.arguments(position, &text),
            (None, Value::Null) => Ok(()),
            (None, value) => self.assembly.arguments(position, &value.to_string()),
        }
    }

    fn end(&mut self, end: StreamEnd) -> Result<(), ModelError> {
        let stop = end.captured_stop_reason.map(|reason| stop(reason, self.assembly.calls() > 0));
        // Anthropic's end is the provider's own; the others' may be made up when the stream merely ended.
        let own = match self.model.family {
            Family::Anthropic => true,
            Family::Ollama => self.tap.heard().done,
            Family::Bedrock | Family::Gemini => stop.is_some(),
        };
        if !own {
            return Err(fault::ended(&self.tap.heard()));
        }
        for (position, early) in std::mem::take(&mut self.early).into_iter().enumerate() {
            if let Some(text) = early {
                self.assembly.arguments(position, &text)?;
            }
        }
        if let Some(stop) = stop {
            self.assembly.stop(stop);
        }
        if let Some(usage) = end.captured_usage {
            self.assembly.usage(counted(&usage));
        }
        if let Some(content) = end.captured_content {
            self.state.keep(content);
        }
        if let Some(state) = std::mem::take(&mut self.state).seal(self.model.opening.provider.name) {
            self.assembly.state(state)?;
        }
        self.assembly.end();
        Ok(())
    }
}

fn stop(reason: StopReason, calls: bool) -> ModelStop {
    match reason {
        StopReason::Completed(_) if calls => ModelStop::ToolUse,
        StopReason::Completed(_) => ModelStop::EndTurn,
        StopReason::MaxTokens(_) => ModelStop::MaxTokens,
        StopReason::ToolCall(_) => ModelStop::ToolUse,
        StopReason::ContentFilter(_) => ModelStop::ContentFilter,
        StopReason::StopSequence(_) => ModelStop::StopSequence,
        StopReason::Other(mut word) => {
            let end = word.floor_char_boundary(STOP_WORD_BYTES_MAX);
            word.truncate(end);
            ModelStop::Other(word.into())
        }
    }
}

fn counted(usage: &genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or_default();
    let prompt = usage.prompt_tokens_details.as_ref();
    let completion = usage.completion_tokens_details.as_ref();
    Usage {
        input: count(usage.prompt_tokens),
        output: count(usage.completion_tokens),
        cache_read: count(prompt.and_then(|details| details.cached_tokens)),
        cache_write: count(prompt.and_then(|details| details.cache_creation_tokens)),
        reasoning: count(completion.and_then(|details| details.reasoning_tokens)),
    }
}
