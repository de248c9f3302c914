//! Which model an agent asks, and what the provider is told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_model::{
    IntoModel as _, KeySource, Model, ModelChoice, ModelOptions, ReasoningEffort, RetryRule, Timeouts, ToolChoice,
};

use super::script::Script;
use super::secret::SecretPlace;
use super::source::{ConfigError, Located, Source, split_hint};
use super::table::{Read, Table};

pub(super) const KEYS: &[&str] = &[
    "model",
    "base_url",
    "api_key_env",
    "api_key_file",
    "temperature",
    "top_p",
    "max_output_tokens",
    "stop_sequences",
    "seed",
    "reasoning_effort",
    "tool_choice",
    "extra",
    "model_attempts_max",
    "model_timeout_ms",
];

/// What a scripted model is named with.
const SCRIPTED: &str = "scripted:";
const TEMPERATURE_MAX: f64 = 10.0;
const OUTPUT_TOKENS_MAX: u64 = 10_000_000;
const ATTEMPTS_MAX: u64 = 20;
const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// The model of an agent.
#[derive(Clone, Debug)]
pub(crate) struct ModelTable {
    pub(crate) choice: Located<Choice>,
    pub(crate) options: ModelOptions,
    pub(crate) tool_choice: ToolChoice,
}

/// Where the model is.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// A script in this file.
    Scripted(PathBuf),
    /// A provider.
    Provider { choice: Box<ModelChoice>, key: Option<SecretPlace> },
}

pub(super) fn read(table: &mut Table<'_>) -> Read<ModelTable> {
    let source = table.source();
    let model = table.required_text("model")?;
    let base_url = table.text("base_url")?;
    let key = SecretPlace::read(table, "api_key_env", "api_key_file")?;
    let attempts = table.whole("model_attempts_max", 1..=ATTEMPTS_MAX)?;
    let timeout = table.whole("model_timeout_ms", 1..=TIMEOUT_MS_MAX)?;
    let choice = match model.value.strip_prefix(SCRIPTED) {
        Some(file) => {
            let beside = base_url.map(|url| ("base_url", url.span)).or(key.map(|key| ("api_key_env", key.span)));
            if let Some((key, span)) = beside {
                return Err(source.wrong(&span, format!("`{key}` has no meaning for a scripted model")));
            }
            Choice::Scripted(source.path(file))
        }
        None => {
            let mut choice = ModelChoice::parse(&model.value).map_err(|error| told(source, &model, &error))?;
            if let Some(url) = base_url {
                choice = choice.base_url(url.value);
            }
            if let Some(attempts_max) = attempts.and_then(|number| u32::try_from(number).ok()) {
                choice = choice.retry(RetryRule { attempts_max, ..RetryRule::default() });
            }
            if let Some(total) = timeout.map(Duration::from_millis) {
                let usual = Timeouts::default();
                let first_byte = usual.first_byte.min(total);
                choice = choice.timeouts(Timeouts { total, first_byte, ..usual });
            }
            Choice::Provider { choice: Box::new(choice), key: key.map(|key| key.value) }
        }
    };
    let choice = Located { value: choice, span: model.span };
    Ok(ModelTable { choice, tool_choice: tool_choice(table)?, options: options(table)? })
}

fn told(source: &Source, model: &Located<String>, error: &impl ToString) -> ConfigError {
    let (message, hint) = split_hint(&error.to_string());
    ConfigError { hint, ..source.wrong(&model.span, message) }
}

fn tool_choice(table: &mut Table<'_>) -> Read<ToolChoice> {
    Ok(match table.text("tool_choice")? {
        None => ToolChoice::Auto,
        Some(text) => match text.value.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            tool => ToolChoice::Named(tool.into()),
        },
    })
}

fn options(table: &mut Table<'_>) -> Read<ModelOptions> {
    let effort = table.text("reasoning_effort")?.map(|text| match text.value.as_str() {
        "none" => ReasoningEffort::None,
        "minimal" => ReasoningEffort::Minimal,
        "low" => ReasoningEffort::Low,
        "medium" => ReasoningEffort::Medium,
        "high" => ReasoningEffort::High,
        other => ReasoningEffort::Other(other.into()),
    });
    let stops = table.texts("stop_sequences")?.unwrap_or_default();
    Ok(ModelOptions {
        temperature: table.number("temperature", 0.0..=TEMPERATURE_MAX)?,
        top_p: table.number("top_p", 0.0..=1.0)?,
        output_tokens_max: table
            .whole("max_output_tokens", 1..=OUTPUT_TOKENS_MAX)?
            .and_then(|number| u32::try_from(number).ok()),
        stop_sequences: stops.into_iter().map(|stop| stop.value.into()).collect(),
        seed: table.whole("seed", 0..=i64::MAX as u64)?.and_then(|number| i64::try_from(number).ok()),
        reasoning_effort: effort,
        extra: table.read_key("extra")?.map(Arc::new),
    })
}

impl ModelTable {
    /// The model, ready to be asked; nothing is sent.
    pub(crate) fn open(&self, source: &Source) -> Result<Arc<dyn Model>, ConfigError> {
        let told = |error: &dyn std::fmt::Display| {
            let (message, hint) = split_hint(&error.to_string());
            ConfigError { hint, ..source.wrong(&self.choice.span, message) }
        };
        match &self.choice.value {
            Choice::Scripted(path) => Ok(Arc::new(Script::load(path).map_err(|error| told(&error))?)),
            Choice::Provider { choice, key } => {
                let mut choice = ModelChoice::clone(choice);
                match key {
                    None => {}
                    Some(SecretPlace::Env(name)) => choice = choice.key(KeySource::Env(name.as_str().into())),
                    Some(SecretPlace::File(path)) => choice = choice.key(KeySource::File(path.clone())),
                }
                choice.into_model().map_err(|error| told(&error))
            }
        }
    }
}
