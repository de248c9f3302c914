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

use self::history::Histories;
use self::parts::Body;
use self::send::Sender;
use crate::error::ModelChoiceError;
use crate::error::ModelError;
use crate::model::{DeltaSink, Model, ModelReply, ModelRequest};
use crate::providers::assemble::Assembly;
use crate::providers::choice::Opening;
use crate::providers::names::Names;
use crate::providers::retry::Retrying;
use crate::providers::sse::Clock;

/// Which of its two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
}

/// A model behind chat completions or Responses.
pub(crate) struct OpenAi {
    opening: Opening,
    protocol: Protocol,
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
    pub(crate) fn open(opening: Opening, protocol: Protocol) -> Result<Self, ModelChoiceError> {
        let sender = Sender::open(&opening)?;
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
        let write = match self.protocol {
            Protocol::Chat => chat::tool,
            Protocol::Responses => responses::tool,
        };
        let list: Vec<_> = tools.iter().zip(names.wire()).map(|(tool, name)| write(tool, name)).collect();
        let mut text = Vec::new();
        parts::json(&mut text, &list);
        let offered = Arc::new(Offered { tools: tools.to_vec(), names, text });
        *last = Some(Arc::clone(&offered));
        offered
    }

    fn body(&self, request: &ModelRequest<'_>, offered: &Offered) -> Bytes {
        let mut body = Body::new(request.options.extra.as_deref());
        let (model, provider) = (&*self.opening.model, self.opening.provider);
        body.member("model", model);
        match self.protocol {
            Protocol::Chat => chat::members(&mut body, request, self.opening.is_openai()),
            Protocol::Responses => responses::members(&mut body, request, model),
        }
        if !offered.tools.is_empty() {
            body.named("tools").extend_from_slice(&offered.text);
            match self.protocol {
                Protocol::Chat => chat::choice(&mut body, request, &offered.names),
                Protocol::Responses => responses::choice(&mut body, request, &offered.names),
            }
        }
        let out = body.named(match self.protocol {
            Protocol::Chat => "messages",
            Protocol::Responses => "input",
        });
        out.push(b'[');
        match self.protocol {
            Protocol::Chat => self.histories.append(request.messages, &chat::Writer { provider }, out),
            Protocol::Responses => self.histories.append(request.messages, &responses::Writer { provider }, out),
        }
        out.push(b']');
        body.finish().into()
    }

    async fn attempt(&self, body: Bytes, mut reply: Assembly<'_>) -> Result<Option<ModelReply>, ModelError> {
        let clock = Clock::start(self.opening.timeouts);
        let mut events = self.sender.send(self.protocol, body, clock).await?;
        let provider = self.opening.provider.name;
        match self.protocol {
            Protocol::Chat => chat::reply::Reader::default().read(&mut events, &mut reply, provider).await?,
            Protocol::Responses => responses::reply::Reader::default().read(&mut events, &mut reply, provider).await?,
        }
        let reply = reply.finish()?;
        events.finish().await;
        Ok(reply)
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
        let mut retrying = Retrying::new(self.opening.retry, deltas);
        loop {
            let reply = Assembly::new(&offered.names, request.messages, retrying.deltas());
            match self.attempt(body.clone(), reply).await {
                Ok(reply) => return Ok(reply),
                Err(error) => retrying.after(error).await?,
            }
        }
    }
}
