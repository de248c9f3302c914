//! OpenAI and all that imitate it: chat completions and Responses. Always streamed inside, so that nothing is waited for
//! longer than it must be, and a reply that was cut off is known for one.

mod chat;
mod history;
mod parts;
mod responses;
mod send;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{JsonText, ParallelToolCalls, ProviderState};
use serde_json::Value;

pub(crate) use self::chat::Chat;
use self::history::{Histories, Write};
use self::parts::Body;
pub(crate) use self::responses::Responses;
use self::send::Sender;
use crate::error::{ModelChoiceError, ModelError};
use crate::model::{DeltaSink, Model, ModelReply, ModelRequest};
use crate::options::ToolChoice;
use crate::providers::assemble::Assembly;
use crate::providers::choice::Opening;
use crate::providers::names::Names;
use crate::providers::retry::{Watched, retrying};
use crate::providers::sse::{Clock, DONE, Event, Events};

/// The version of what is kept for a provider.
const STATE_VERSION: u32 = 1;

/// What tells the two protocols apart.
pub(crate) trait Protocol: Write + Send + Sync {
    /// The path of its requests.
    fn path(&self) -> &'static str;

    /// The member of a request that holds the conversation.
    fn conversation(&self) -> &'static str;

    /// Writes everything of a request but tools and conversation.
    fn members(&self, body: &mut Body<'_>, request: &ModelRequest<'_>);

    /// A tool, under its name on the wire.
    fn tool(&self, tool: &ToolDefinition, name: &str) -> Value;

    /// The choice of the tool with this name on the wire.
    fn choice(&self, name: &str) -> Value;

    /// Reads one reply.
    fn reader(&self) -> Box<dyn Read>;
}

/// Takes one reply apart, beside what is assembled.
pub(crate) trait Read: Send {
    /// Takes the data of one event.
    fn take(&mut self, data: &str, reply: &mut Assembly<'_>) -> Result<(), ModelError>;

    /// The stream is over, with its last word or without.
    fn over(&mut self, last: Event<'_>, reply: &mut Assembly<'_>) {
        let _ = (last, reply);
    }

    /// What the provider wants back with the next request.
    fn state(&self) -> Option<Value>;
}

/// A model behind chat completions or Responses.
pub(crate) struct OpenAi {
    opening: Opening,
    protocol: Box<dyn Protocol>,
    sender: Sender,
    histories: Histories,
    tools: Mutex<Option<Arc<Offered>>>,
}

/// The tools of the last request: most requests offer the same.
struct Offered {
    tools: Vec<Arc<ToolDefinition>>,
    names: Names,
    text: Vec<u8>,
}

impl OpenAi {
    pub(crate) fn open(opening: Opening, protocol: Box<dyn Protocol>) -> Result<Self, ModelChoiceError> {
        let sender = Sender::open(&opening, protocol.path())?;
        Ok(Self { opening, protocol, sender, histories: Histories::default(), tools: Mutex::default() })
    }

    fn offered(&self, tools: &[Arc<ToolDefinition>]) -> Arc<Offered> {
        let mut last = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |offered: &&Arc<Offered>| {
            let pairs = offered.tools.iter().zip(tools);
            offered.tools.len() == tools.len() && pairs.clone().all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some(offered) = last.as_ref().filter(same) {
            return Arc::clone(offered);
        }
        let names = Names::of(tools);
        let list: Vec<_> = tools.iter().zip(names.wire()).map(|(tool, name)| self.protocol.tool(tool, name)).collect();
        let mut text = Vec::new();
        parts::json(&mut text, &list);
        let offered = Arc::new(Offered { tools: tools.to_vec(), names, text });
        *last = Some(Arc::clone(&offered));
        offered
    }

    fn body(&self, request: &ModelRequest<'_>, offered: &Offered) -> Bytes {
        let mut body = Body::new(request.options.extra.as_deref());
        body.member("model", &*self.opening.model);
        body.member("stream", &true);
        body.optional("temperature", request.options.temperature);
        body.optional("top_p", request.options.top_p);
        self.protocol.members(&mut body, request);
        if !offered.tools.is_empty() {
            body.named("tools").extend_from_slice(&offered.text);
            let choice = match request.tool_choice {
                ToolChoice::Auto => None,
                ToolChoice::None => Some("none".into()),
                ToolChoice::Required => Some("required".into()),
                ToolChoice::Named(name) => Some(self.protocol.choice(&offered.names.to_wire(name.as_str()))),
            };
            body.optional("tool_choice", choice);
            let one = request.parallel_tool_calls == ParallelToolCalls::One;
            body.optional("parallel_tool_calls", one.then_some(false));
        }
        let out = body.named(self.protocol.conversation());
        out.push(b'[');
        self.histories.append(request.messages, &*self.protocol, out);
        out.push(b']');
        body.finish().into()
    }

    async fn attempt(&self, body: Bytes, mut reply: Assembly<'_>) -> Result<Option<ModelReply>, ModelError> {
        let clock = Clock::start(self.opening.timeouts);
        let mut events = self.sender.send(body, clock).await?;
        self.read(&mut events, &mut reply).await?;
        let reply = reply.finish()?;
        events.finish().await;
        Ok(reply)
    }

    async fn read(&self, events: &mut Events, reply: &mut Assembly<'_>) -> Result<(), ModelError> {
        let mut reader = self.protocol.reader();
        while !reply.has_ended() {
            match events.next().await? {
                last @ (Event::Data(DONE) | Event::End) => {
                    reader.over(last, reply);
                    break;
                }
                Event::Data(data) => reader.take(data, reply)?,
            }
        }
        if let Some(state) = reader.state() {
            let data = JsonText::new(holdpoint_codec::canonical_value(&state));
            reply.state(ProviderState { provider: self.opening.provider.name.into(), version: STATE_VERSION, data })?;
        }
        Ok(())
    }
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> Option<&str> {
        Some(&self.opening.model)
    }

    fn window_tokens(&self) -> Option<u64> {
        self.opening.window_tokens
    }

    async fn reply(
        &self,
        request: &ModelRequest<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<Option<ModelReply>, ModelError> {
        let offered = self.offered(request.tools);
        let body = self.body(request, &offered);
        let deltas = Watched::new(deltas);
        retrying(self.opening.retry, &deltas, || {
            let reply = Assembly::new(&offered.names, request.messages, &deltas);
            self.attempt(body.clone(), reply)
        })
        .await
    }
}
