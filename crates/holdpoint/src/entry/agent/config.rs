//! An agent's configuration as versioned JSON.

use holdpoint_codec::SettingsSpec;
use holdpoint_core::{Code, Settings};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Agent;

/// The version that is written, and the only one that is read so far.
const SCHEMA_VERSION: u32 = 1;

/// Everything about an agent that is data. Model, tools, policy and store are given beside it when it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    schema_version: u32,
    /// The agent's name.
    pub name: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The system prompt.
    pub system_prompt: Option<String>,
    /// The names of its tools, for those who load it.
    pub tools: Vec<String>,
    /// Settings that differ from the defaults of this version.
    settings: SettingsSpec,
}

/// Why a configuration could not be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A version that is not known.
    #[error("the agent's configuration has version {found}; this program reads version 1")]
    UnsupportedVersion {
        /// The version.
        found: u64,
    },
    /// Not a configuration.
    #[error("the agent's configuration is not valid")]
    Invalid(#[source] serde_json::Error),
}

impl ConfigError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            ConfigError::UnsupportedVersion { .. } => Code::UnsupportedSchemaVersion,
            ConfigError::Invalid(_) => Code::InvalidConfig,
        }
    }
}

impl AgentConfig {
    pub(super) fn of(agent: &Agent) -> Self {
        let parts = &agent.runner.parts;
        Self {
            schema_version: SCHEMA_VERSION,
            name: parts.agent.as_deref().map(str::to_owned),
            model: parts.model.name().map(str::to_owned),
            system_prompt: agent.system_prompt.as_deref().map(str::to_owned),
            tools: parts.registry.definitions().iter().map(|tool| tool.name.to_string()).collect(),
            settings: SettingsSpec::of(&parts.settings),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// When it is not a configuration of a version that is known.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        #[derive(Deserialize)]
        struct Versioned {
            schema_version: u64,
        }
        let versioned: Versioned = serde_json::from_str(text).map_err(ConfigError::Invalid)?;
        if versioned.schema_version != u64::from(SCHEMA_VERSION) {
            return Err(ConfigError::UnsupportedVersion { found: versioned.schema_version });
        }
        serde_json::from_str(text).map_err(ConfigError::Invalid)
    }

    /// The settings of its runs.
    pub fn settings(&self) -> Settings {
        self.settings.clone().settings()
    }
}
