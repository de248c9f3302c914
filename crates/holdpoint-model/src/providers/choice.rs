//! Chooses a model by one text: `provider:model`.

mod known;
#[cfg(test)]
mod tests;
mod windows;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;

use crate::error::ModelChoiceError;
use crate::model::{IntoModel, Model};
use crate::providers::genai::GenaiModel;
use crate::providers::openai::{Chat, OpenAi, Responses};
use crate::providers::retry::RetryRule;
use crate::providers::timeouts::Timeouts;

use known::provider_names;
pub(crate) use known::{Api, Provider};
use windows::known_window_tokens;

/// The largest file that a key is read from.
const KEY_FILE_BYTES_MAX: u64 = 16 * 1024;

/// A model, chosen but not yet opened.
#[derive(Clone, Debug)]
#[must_use]
pub struct ModelChoice {
    provider: &'static Provider,
    model: Arc<str>,
    base_url: Option<Arc<str>>,
    key: KeySource,
    window_tokens: Option<u64>,
    retry: RetryRule,
    timeouts: Timeouts,
}

/// Where an API key comes from. Never from a configuration file itself.
#[derive(Clone, Debug, Default)]
pub enum KeySource {
    /// The provider's own variable, such as `OPENAI_API_KEY`.
    #[default]
    Usual,
    /// A variable of the environment.
    Env(Arc<str>),
    /// A file that holds nothing but the key.
    File(PathBuf),
    /// A key that the program got elsewhere.
    Given(SecretString),
}

impl ModelChoice {
    /// Reads `provider:model`. Everything after the first `:` is the model's name.
    ///
    /// # Errors
    /// When it is not of this form, or the provider is not known.
    pub fn parse(text: &str) -> Result<Self, ModelChoiceError> {
        let not_a_choice = || ModelChoiceError::NotAChoice { text: text.to_owned() };
        let (provider, model) = text.split_once(':').ok_or_else(not_a_choice)?;
        let (provider, model) = (provider.trim(), model.trim());
        if provider.is_empty() || model.is_empty() {
            return Err(not_a_choice());
        }
        let known = known::find(provider);
        let unknown = || ModelChoiceError::UnknownProvider { provider: provider.to_owned(), known: provider_names() };
        Ok(Self {
            provider: known.ok_or_else(unknown)?,
            model: model.into(),
            base_url: None,
            key: KeySource::Usual,
            window_tokens: None,
            retry: RetryRule::default(),
            timeouts: Timeouts::default(),
        })
    }

    /// Another address, such as that of a server of your own. The provider's usual key is not sent to it: say with
    /// [`ModelChoice::key`] which one is.
    pub fn base_url(mut self, url: impl Into<Arc<str>>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Where the key comes from.
    pub fn key(mut self, key: KeySource) -> Self {
        self.key = key;
        self
    }

    /// The model's window, in place of what is known of it.
    pub fn window_tokens(mut self, tokens: u64) -> Self {
        self.window_tokens = Some(tokens);
        self
    }

    /// How often a request is tried.
    pub fn retry(mut self, rule: RetryRule) -> Self {
        self.retry = rule;
        self
    }

    /// How long a request may take.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The model, ready to be asked. Nothing is sent yet.
    ///
    /// # Errors
    /// When the key is missing or the address is not one.
    pub fn open(&self) -> Result<Arc<dyn Model>, ModelChoiceError> {
        let opening = self.opening()?;
        match self.provider.api {
            Api::Chat => {
                let chat = Chat { provider: opening.provider.name, at_openai: opening.is_openai() };
                Ok(Arc::new(OpenAi::open(opening, Box::new(chat))?))
            }
            Api::Responses => {
                let responses = Responses { provider: opening.provider.name, model: Arc::clone(&opening.model) };
                Ok(Arc::new(OpenAi::open(opening, Box::new(responses))?))
            }
            Api::Genai(adapter, family) => Ok(Arc::new(GenaiModel::open(opening, adapter, family)?)),
        }
    }

    fn opening(&self) -> Result<Opening, ModelChoiceError> {
        let own = self.base_url.is_none();
        let base_url = checked_url(self.base_url.as_deref().unwrap_or(self.provider.base_url))?;
        let known = if own { known_window_tokens(&self.model) } else { None };
        Ok(Opening {
            provider: self.provider,
            model: Arc::clone(&self.model),
            key: self.read_key(own)?,
            base_url,
            at_home: own,
            window_tokens: self.window_tokens.or(known),
            retry: self.retry,
            timeouts: self.timeouts,
        })
    }

    /// The key, or none for a server of one's own that asks for none.
    fn read_key(&self, own_address: bool) -> Result<Option<SecretString>, ModelChoiceError> {
        let required = |variable: &str| {
            let key = from_env(variable);
            let provider = self.provider.name;
            key.ok_or_else(|| ModelChoiceError::NoKey { provider, variable: variable.to_owned() }).map(Some)
        };
        match (&self.key, self.provider.key_env) {
            (KeySource::Given(key), _) => Ok(Some(key.clone())),
            (KeySource::File(path), _) => from_file(path).map(Some),
            (KeySource::Env(variable), _) => required(variable),
            (KeySource::Usual, Some(variable)) if own_address => required(variable),
            // Whoever runs a server of their own does not want a key of somebody else to be sent to it.
            (KeySource::Usual, Some(_) | None) => Ok(None),
        }
    }
}

/// All that a provider needs to begin.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) provider: &'static Provider,
    pub(crate) model: Arc<str>,
    pub(crate) key: Option<SecretString>,
    /// Without a slash at its end.
    pub(crate) base_url: Arc<str>,
    /// Whether that is the provider's own address.
    pub(crate) at_home: bool,
    pub(crate) window_tokens: Option<u64>,
    pub(crate) retry: RetryRule,
    pub(crate) timeouts: Timeouts,
}

impl Opening {
    /// Whether it is OpenAI itself, and not somebody who speaks its protocol.
    pub(crate) fn is_openai(&self) -> bool {
        self.at_home && self.provider.name == "openai"
    }
}

fn from_env(variable: &str) -> Option<SecretString> {
    let key = std::env::var(variable).ok()?;
    let key = key.trim();
    (!key.is_empty()).then(|| SecretString::from(key))
}

fn from_file(path: &Path) -> Result<SecretString, ModelChoiceError> {
    let failed = |reason: String| ModelChoiceError::KeyFile { path: path.to_owned(), reason };
    let length = std::fs::metadata(path).map_err(|error| failed(error.kind().to_string()))?.len();
    if length > KEY_FILE_BYTES_MAX {
        return Err(failed("it is too large for a key".to_owned()));
    }
    let key = std::fs::read_to_string(path).map_err(|error| failed(error.kind().to_string()))?;
    match key.trim() {
        "" => Err(failed("it is empty".to_owned())),
        key => Ok(SecretString::from(key)),
    }
}

fn checked_url(text: &str) -> Result<Arc<str>, ModelChoiceError> {
    let parsed = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    // What stands before an `@` may be a password.
    let shown = || text.rsplit_once('@').map_or(text, |(_, rest)| rest).to_owned();
    let url = parsed.ok_or_else(|| ModelChoiceError::BaseUrl { url: shown() })?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query().is_some() || url.fragment().is_some() {
        return Err(ModelChoiceError::BaseUrl { url: shown() });
    }
    Ok(url.as_str().trim_end_matches('/').into())
}

impl IntoModel for &str {
    fn into_model(self) -> Result<Arc<dyn Model>, ModelChoiceError> {
        ModelChoice::parse(self)?.open()
    }
}

impl IntoModel for ModelChoice {
    fn into_model(self) -> Result<Arc<dyn Model>, ModelChoiceError> {
        self.open()
    }
}
