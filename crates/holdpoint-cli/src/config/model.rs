//! Which model an agent asks, and what the provider is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_config::{Problem, SecretSource, VariableName, within};
use holdpoint_model::{
    KeySource, Model, ModelChoice, ModelChoiceError, ModelOptions, ReasoningEffort, RetryRule, Timeouts, ToolChoice,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Script;

/// The prefix of scripted models.
const SCRIPTED: &str = "scripted:";
const MAX_TEMPERATURE: f64 = 10.0;
const MAX_OUTPUT_TOKENS: u32 = 10_000_000;
const MAX_ATTEMPTS: u32 = 20;
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;

/// The keys of an agent that are about its model.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ModelKeys {
    model: String,
    base_url: Option<String>,
    api_key_env: Option<VariableName>,
    api_key_file: Option<PathBuf>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_output_tokens: Option<u32>,
    #[serde(default)]
    stop_sequences: Vec<String>,
    seed: Option<i64>,
    reasoning_effort: Option<String>,
    tool_choice: Option<String>,
    extra: Option<Map<String, Value>>,
    max_model_attempts: Option<u32>,
    model_timeout_ms: Option<u64>,
}

/// Why a model cannot be asked.
pub(crate) enum NotOpened {
    /// Its key is not here. It may be where the agent will run.
    NoKey(Problem),
    Unusable(Problem),
}

impl From<NotOpened> for Problem {
    fn from(error: NotOpened) -> Self {
        match error {
            NotOpened::NoKey(problem) | NotOpened::Unusable(problem) => problem,
        }
    }
}

impl ModelKeys {
    pub(super) fn check(&self) -> Result<(), Problem> {
        within("temperature", self.temperature, 0.0..=MAX_TEMPERATURE)?;
        within("top_p", self.top_p, 0.0..=1.0)?;
        within("max_output_tokens", self.max_output_tokens, 1..=MAX_OUTPUT_TOKENS)?;
        within("seed", self.seed, 0..=i64::MAX)?;
        within("max_model_attempts", self.max_model_attempts, 1..=MAX_ATTEMPTS)?;
        within("model_timeout_ms", self.model_timeout_ms, 1..=MAX_TIMEOUT_MS)?;
        let key = self.key()?;
        if !self.model.starts_with(SCRIPTED) {
            return ModelChoice::parse(&self.model).map(drop).map_err(|error| unusable(&error));
        }
        let given = [("base_url", self.base_url.is_some()), ("api_key_env", key.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err(Problem::at(key, "has no meaning for a scripted model")),
            None => Ok(()),
        }
    }

    fn key(&self) -> Result<Option<SecretSource>, Problem> {
        SecretSource::from_keys("api_key_", self.api_key_env.clone(), self.api_key_file.clone())
    }

    /// The model, ready to be asked; nothing is sent. Relative paths begin at `folder`.
    pub(crate) fn open(&self, folder: &Path) -> Result<Arc<dyn Model>, NotOpened> {
        if let Some(file) = self.model.strip_prefix(SCRIPTED) {
            let script = Script::load(&folder.join(file));
            return script.map(|script| Arc::new(script) as _).map_err(|why| NotOpened::Unusable(unusable(&why)));
        }
        self.choose(folder).map_err(NotOpened::Unusable)?.open().map_err(|error| match error {
            ModelChoiceError::NoKey { .. } | ModelChoiceError::KeyFile { .. } => NotOpened::NoKey(unusable(&error)),
            other => NotOpened::Unusable(unusable(&other)),
        })
    }

    fn choose(&self, folder: &Path) -> Result<ModelChoice, Problem> {
        let mut choice = ModelChoice::parse(&self.model).map_err(|error| unusable(&error))?;
        if let Some(url) = &self.base_url {
            choice = choice.base_url(url.as_str());
        }
        if let Some(attempts_max) = self.max_model_attempts {
            choice = choice.retry(RetryRule { attempts_max, ..RetryRule::default() });
        }
        if let Some(total) = self.model_timeout_ms.map(Duration::from_millis) {
            let usual = Timeouts::default();
            choice = choice.timeouts(Timeouts { total, first_byte: usual.first_byte.min(total), ..usual });
        }
        Ok(match self.key()?.map(|key| key.in_folder(folder)) {
            None => choice,
            Some(SecretSource::Env(name)) => choice.key(KeySource::Env(name.into())),
            Some(SecretSource::File(path)) => choice.key(KeySource::File(path)),
        })
    }

    pub(crate) fn tool_choice(&self) -> ToolChoice {
        match self.tool_choice.as_deref() {
            None | Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            Some("required") => ToolChoice::Required,
            Some(tool) => ToolChoice::Named(tool.into()),
        }
    }

    pub(crate) fn options(&self) -> ModelOptions {
        let effort = |word: &String| match word.as_str() {
            "none" => ReasoningEffort::None,
            "minimal" => ReasoningEffort::Minimal,
            "low" => ReasoningEffort::Low,
            "medium" => ReasoningEffort::Medium,
            "high" => ReasoningEffort::High,
            other => ReasoningEffort::Other(other.into()),
        };
        ModelOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            output_tokens_max: self.max_output_tokens,
            stop_sequences: self.stop_sequences.iter().map(|stop| stop.as_str().into()).collect(),
            seed: self.seed,
            reasoning_effort: self.reasoning_effort.as_ref().map(effort),
            extra: self.extra.clone().map(Arc::new),
        }
    }
}

fn unusable(why: &dyn std::fmt::Display) -> Problem {
    Problem::at("model", format_args!("cannot be used: {why}"))
}
