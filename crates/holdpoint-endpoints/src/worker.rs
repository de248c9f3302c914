//! Tools that only workers do.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_core::ToolResult;
use holdpoint_tools::{Tool, ToolCall, ToolDefinition, ToolError};
use serde::{Deserialize, Deserializer};

use crate::spec::{Common, NearestKeys};
use crate::{Parameters, RepeatSpec, SpecError, Surroundings};

/// `kind = "worker"`: a tool that is declared here and done elsewhere. Its calls are deferred.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct WorkerToolSpec {
    /// What the model is told.
    pub description: Option<String>,
    /// The arguments.
    pub parameters: Option<Parameters>,
    /// Whether it may run beside others.
    pub parallelizable: Option<bool>,
    /// Whether a call in doubt may run again.
    pub repeat: RepeatSpec,
    /// How long a worker may take.
    pub timeout_ms: Option<i64>,
}

struct WorkerTool {
    definition: ToolDefinition,
}

impl WorkerToolSpec {
    /// Makes the tool, as seen from this process.
    ///
    /// # Errors
    /// When a key has a value that cannot be.
    pub fn build(&self, name: &str) -> Result<Arc<dyn Tool>, SpecError> {
        self.build_in(name, &Surroundings::default())
    }

    /// Makes the tool in these surroundings.
    ///
    /// # Errors
    /// When a key has a value that cannot be.
    pub fn build_in(&self, name: &str, surroundings: &Surroundings) -> Result<Arc<dyn Tool>, SpecError> {
        let common = Common {
            tool: name,
            source: "worker",
            description: self.description.as_deref(),
            parameters: self.parameters.as_ref(),
            parallelizable: self.parallelizable,
            repeat: self.repeat,
            timeout_ms: self.timeout_ms,
            surroundings,
        };
        Ok(Arc::new(WorkerTool { definition: common.definition()? }))
    }
}

impl<'de> Deserialize<'de> for WorkerToolSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(NearestKeys(deserializer))
    }
}

#[async_trait]
impl Tool for WorkerTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Never reached by an executor that defers it, and harmless otherwise.
    async fn call(&self, _: ToolCall) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::error("This tool is done by workers only, and nothing was done here."))
    }
}
