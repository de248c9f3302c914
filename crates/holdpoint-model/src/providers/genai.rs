//! Anthropic, Gemini, Ollama's own protocol, Bedrock and Vertex, on the `genai` crate.
//!
//! `genai` builds the request and reads the stream; what it may do to us is kept out here. Its errors print the whole
//! prompt, so nothing of them but status, headers and known words is looked at ([`fault`]). It writes what the provider
//! sent into the log, so it runs with no log at all, and a panic in it is an error like any other ([`stream`]). Its
//! final arguments have lost what a JSON value cannot hold, so the exact text is taken from the frames ([`tap`]). It
//! gives some names a meaning of its own, so those go by another ([`words`]).

mod content;
mod convert;
mod fault;
mod state;
mod stream;
mod tap;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use secrecy::{ExposeSecret, SecretString};

use crate::error::{ModelChoiceError, ModelError};
use crate::model::{DeltaSink, Model, ModelReply, ModelRequest};
use crate::providers::assemble::Assembly;
use crate::providers::choice::Opening;
use crate::providers::names::Names;
use crate::providers::retry::{Watched, retrying};
use crate::providers::timeouts::Late;

/// Which protocol it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Anthropic,
    Bedrock,
    Gemini,
    Ollama,
}

/// A model behind `genai`.
pub(crate) struct GenaiModel {
    client: Client,
    opening: Opening,
    adapter: AdapterKind,
    family: Family,
}

/// What stands for a key where a server asks for none: `genai` must have one.
const NO_KEY: &str = "none";

impl GenaiModel {
    pub(crate) fn open(opening: Opening, adapter: AdapterKind, family: Family) -> Result<Self, ModelChoiceError> {
        let client = crate::providers::http::client(&opening)?;
        let usable = |key: &SecretString| key.expose_secret().bytes().all(|byte| byte.is_ascii_graphic());
        if !opening.key.as_ref().is_none_or(usable) {
            return Err(ModelChoiceError::UnusableKey);
        }
        let client = Client::builder().with_reqwest(client).build();
        // Vertex serves the models of several houses, each in its own protocol.
        let claude = adapter == AdapterKind::Vertex && opening.model.starts_with("claude");
        Ok(Self {
            client: client.map_err(|_| ModelChoiceError::Client { reason: "genai refused it".to_owned() })?,
            opening,
            adapter,
            family: if claude { Family::Anthropic } else { family },
        })
    }

    fn target(&self) -> ServiceTarget {
        let Opening { key, base_url, model, .. } = &self.opening;
        ServiceTarget {
            endpoint: Endpoint::from_owned(format!("{base_url}/")),
            auth: AuthData::from_single(key.as_ref().map_or(NO_KEY, ExposeSecret::expose_secret)),
            model: ModelIden::new(self.adapter, &**model),
        }
    }

    async fn attempt(
        &self,
        request: &ModelRequest<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<Option<ModelReply>, ModelError> {
        let names = Names::of(request.tools);
        let tap = Arc::new(tap::Tap::new(self.family));
        let options = convert::options(self, request, &names, &tap)?;
        let chat = convert::chat(self, request, &names);
        let assembly = Assembly::new(&names, request.messages, deltas);
        let sending = self.client.exec_chat_stream(self.target(), chat, Some(&options));
        let whole = stream::Reading::new(self, assembly, tap).read(sending);
        let limit = self.opening.timeouts.total;
        tokio::time::timeout(limit, whole).await.unwrap_or_else(|_| Err(Late::Total.error(limit)))
    }
}

#[async_trait]
impl Model for GenaiModel {
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
        let deltas = Watched::new(deltas);
        retrying(self.opening.retry, &deltas, || self.attempt(request, &deltas)).await
    }
}
