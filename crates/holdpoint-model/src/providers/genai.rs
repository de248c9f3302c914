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

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use secrecy::{ExposeSecret, SecretString};

use crate::error::ModelChoiceError;
use crate::error::ModelError;
use crate::model::{DeltaSink, Model, ModelReply, ModelRequest};
use crate::providers::assemble::Assembly;
use crate::providers::choice::Opening;
use crate::providers::names::Names;
use crate::providers::retry::{RetryRule, Retrying};
use crate::providers::timeouts::{Late, Timeouts};

/// Which service it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Anthropic,
    Bedrock,
    Gemini,
    Ollama,
    OllamaCloud,
    Vertex,
}

/// Which protocol it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Anthropic,
    Bedrock,
    Gemini,
    Ollama,
}

impl Service {
    fn adapter(self) -> AdapterKind {
        match self {
            Service::Anthropic => AdapterKind::Anthropic,
            Service::Bedrock => AdapterKind::BedrockApi,
            Service::Gemini => AdapterKind::Gemini,
            Service::Ollama => AdapterKind::Ollama,
            Service::OllamaCloud => AdapterKind::OllamaCloud,
            Service::Vertex => AdapterKind::Vertex,
        }
    }

    /// Vertex serves the models of several houses, each in its own protocol.
    fn family(self, model: &str) -> Family {
        match self {
            Service::Anthropic => Family::Anthropic,
            Service::Bedrock => Family::Bedrock,
            Service::Gemini => Family::Gemini,
            Service::Ollama | Service::OllamaCloud => Family::Ollama,
            Service::Vertex if model.starts_with("claude") => Family::Anthropic,
            Service::Vertex => Family::Gemini,
        }
    }
}

/// A model behind `genai`.
pub(crate) struct GenaiModel {
    client: Client,
    service: Service,
    family: Family,
    provider: &'static str,
    model: Arc<str>,
    endpoint: Endpoint,
    key: SecretString,
    window_tokens: Option<u64>,
    retry: RetryRule,
    timeouts: Timeouts,
}

impl fmt::Debug for GenaiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GenaiModel({}:{})", self.provider, self.model)
    }
}

/// What stands for a key where a server asks for none: `genai` must have one.
const NO_KEY: &str = "none";

impl GenaiModel {
    pub(crate) fn open(opening: Opening, service: Service) -> Result<Self, ModelChoiceError> {
        let client = crate::providers::http::client(&opening)?;
        let key = opening.key.unwrap_or_else(|| SecretString::from(NO_KEY));
        if !key.expose_secret().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ModelChoiceError::UnusableKey);
        }
        let client = Client::builder().with_reqwest(client).build();
        Ok(Self {
            client: client.map_err(|_| ModelChoiceError::Client { reason: "genai refused it".to_owned() })?,
            service,
            family: service.family(&opening.model),
            provider: opening.provider.name,
            endpoint: Endpoint::from_owned(format!("{}/", opening.base_url)),
            model: opening.model,
            key,
            window_tokens: opening.window_tokens,
            retry: opening.retry,
            timeouts: opening.timeouts,
        })
    }

    fn target(&self) -> ServiceTarget {
        ServiceTarget {
            endpoint: self.endpoint.clone(),
            auth: AuthData::from_single(self.key.expose_secret()),
            model: ModelIden::new(self.service.adapter(), &*self.model),
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
        let whole = async {
            let response = stream::open(self.client.exec_chat_stream(self.target(), chat, Some(&options))).await?;
            stream::Reading::new(self, assembly, tap).read(response.stream).await
        };
        let limit = self.timeouts.total;
        tokio::time::timeout(limit, whole).await.unwrap_or_else(|_| Err(Late::Total.error(limit)))
    }
}

#[async_trait]
impl Model for GenaiModel {
    fn name(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn window_tokens(&self) -> Option<u64> {
        self.window_tokens
    }

    async fn reply(
        &self,
        request: &ModelRequest<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<Option<ModelReply>, ModelError> {
        let mut retrying = Retrying::new(self.retry, deltas);
        loop {
            match self.attempt(request, retrying.deltas()).await {
                Ok(reply) => return Ok(reply),
                Err(error) => retrying.after(error).await?,
            }
        }
    }
}
