//! The tool: arguments, program, result.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::canonical_json;
use holdpoint_core::{Block, JsonText, Repeat, ToolResult};
use holdpoint_tools::{TRUNCATED, Tool, ToolCall, ToolDefinition, ToolError};

use super::argv::ArgvTemplate;
use super::output::Kept;
use super::process::{Finished, RunError, Start};
use super::{OutputForm, StdinForm};
use crate::arguments::Named;
use crate::in_time::in_time;

/// The variable with the idempotency key.
const KEY_VARIABLE: &str = "HOLDPOINT_IDEMPOTENCY_KEY";

pub(super) struct CommandTool {
    pub(super) definition: ToolDefinition,
    pub(super) program: PathBuf,
    pub(super) argv: ArgvTemplate,
    pub(super) folder: PathBuf,
    pub(super) stdin: StdinForm,
    pub(super) environment: Vec<(String, OsString)>,
    pub(super) output: OutputForm,
    pub(super) max_output_bytes: usize,
    pub(super) success_codes: Vec<i32>,
    pub(super) messages: BTreeMap<i32, Arc<str>>,
    pub(super) show_stderr: bool,
}

#[async_trait]
impl Tool for CommandTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let start = self.start(&call)?;
        // Dropping the run kills the program and its children.
        match in_time(&call, &self.definition, start.run()).await? {
            Some(Ok(finished)) => self.result(&finished),
            Some(Err(RunError::NotStarted(kind))) => {
                tracing::warn!(tool = %self.definition.name, %kind, "a program cannot be started");
                Ok(ToolResult::error("The program cannot be started."))
            }
            Some(Err(RunError::Unwanted)) => Err(ToolError::not_started()),
            Some(Err(RunError::Lost(kind))) => {
                tracing::warn!(tool = %self.definition.name, %kind, "a program was lost");
                Ok(ToolResult::error(format!("The program was lost.{}", self.effect())))
            }
            None => Ok(ToolResult::error(format!("The program did not end in time.{}", self.effect()))),
        }
    }
}

impl CommandTool {
    fn start(&self, call: &ToolCall) -> Result<Start, ToolError> {
        let arguments = self.argv.fill(&Named::of(call)?)?;
        let mut environment = self.environment.clone();
        if self.definition.metadata.repeat == Repeat::WithKey {
            environment.push((KEY_VARIABLE.to_owned(), call.idempotency_key().as_str().into()));
        }
        let stdin = match self.stdin {
            StdinForm::None => None,
            StdinForm::Json => Some(call.arguments().expose().as_bytes().to_vec()),
        };
        Ok(Start {
            program: self.program.clone(),
            arguments,
            folder: self.folder.clone(),
            environment,
            stdin,
            max_stdout_bytes: self.max_output_bytes,
            call: call.key().to_string(),
            gate: call.gate(),
        })
    }

    fn result(&self, finished: &Finished) -> Result<ToolResult, ToolError> {
        match finished.status.code() {
            Some(code) if self.success_codes.contains(&code) => self.output(&finished.stdout),
            Some(code) => {
                let own = self.messages.get(&code).map(ToString::to_string);
                let text = own.unwrap_or_else(|| format!("The program ended with code {code}."));
                Ok(ToolResult::error(self.with_stderr(text, &finished.stderr)))
            }
            None => {
                let text = format!("The program was ended by {}.{}", signal_of(finished.status), self.effect());
                Ok(ToolResult::error(self.with_stderr(text, &finished.stderr)))
            }
        }
    }

    fn output(&self, stdout: &Kept) -> Result<ToolResult, ToolError> {
        match self.output {
            OutputForm::Json | OutputForm::Text if stdout.bytes.is_empty() => Ok(ToolResult::success("done")),
            OutputForm::Json if stdout.is_cut => {
                let max = self.max_output_bytes;
                Ok(ToolResult::error(format!("The program succeeded, but wrote more than {max} bytes.")))
            }
            OutputForm::Json => {
                let text = str::from_utf8(&stdout.bytes).ok().and_then(|text| canonical_json(text).ok());
                let text = text.ok_or_else(|| ToolError::unusable("the program did not write one JSON value"))?;
                Ok(ToolResult::from_blocks(vec![Block::Json(JsonText::new(text))]))
            }
            OutputForm::Text if stdout.is_cut => Ok(ToolResult::success(format!("{}{TRUNCATED}", stdout.text()))),
            OutputForm::Text => Ok(ToolResult::success(stdout.text())),
        }
    }

    fn with_stderr(&self, text: String, stderr: &Kept) -> String {
        let said = stderr.text();
        if self.show_stderr && !said.trim().is_empty() { format!("{text}\n{}", said.trim_end()) } else { text }
    }

    fn effect(&self) -> &'static str {
        if self.definition.metadata.repeat.may_repeat() { "" } else { " It may have taken effect." }
    }
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    status.signal().map_or_else(|| "a signal".to_owned(), |signal| format!("signal {signal}"))
}

#[cfg(not(unix))]
fn signal_of(_: ExitStatus) -> String {
    "the system".to_owned()
}
