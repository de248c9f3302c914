//! The keys of a command tool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdpoint_codec::canonical_value;
use holdpoint_config::{Problem, within};
use holdpoint_tools::{Tool, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::argv::ArgvTemplate;
use super::program;
use super::tool::CommandTool;
use crate::Surroundings;
use crate::spec::check_argument;

const DEFAULT_OUTPUT_BYTES: usize = 200_000;
const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;

/// The most codes and variables of one tool.
const MAX_ENTRIES: usize = 64;

/// `kind = "command"`: a call runs a program. There is no shell.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CommandToolSpec {
    /// The program and its arguments. `{argument}` in an argument stands for a value.
    pub command: Vec<String>,
    /// What the program reads.
    pub stdin: StdinForm,
    /// Where it runs, relative to the configuration.
    pub folder: Option<PathBuf>,
    /// The variables that it gets from this process; it gets no others.
    pub environment: Vec<String>,
    /// Variables that are set for it.
    pub set: BTreeMap<String, String>,
    /// How its output is read.
    pub output: OutputForm,
    /// How much of its output is kept; 200,000 bytes by default, 64 MiB at most.
    pub max_output_bytes: Option<usize>,
    /// The exit codes that mean success; 0 by default.
    pub success_codes: Option<Vec<i32>>,
    /// What the model is told for other exit codes.
    pub messages: BTreeMap<String, String>,
    /// Whether the model sees what a program that failed wrote to its standard error.
    pub show_stderr: bool,
}

/// `stdin`: what the program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdinForm {
    /// Nothing.
    #[default]
    None,
    /// All arguments as one JSON object.
    Json,
}

/// `output`: how the output is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputForm {
    /// Text.
    #[default]
    Text,
    /// One JSON value.
    Json,
}

impl CommandToolSpec {
    pub(crate) fn build(
        &self,
        mut definition: ToolDefinition,
        around: &Surroundings,
    ) -> Result<Arc<dyn Tool>, Problem> {
        let in_command = |problem| Problem::at("command", problem);
        let (program, elements) = self.command.split_first().ok_or_else(|| in_command("is missing".to_owned()))?;
        let program = program::find(program, around).map_err(in_command)?;
        let argv = ArgvTemplate::parse(elements).map_err(in_command)?;
        for argument in argv.arguments() {
            check_argument("command", argument, &definition)?;
        }
        let folder = self.folder.as_deref().unwrap_or(Path::new("."));
        let path = around.path(folder);
        if !path.is_dir() {
            let problem = format_args!("is `{}`, which is not a folder", folder.display());
            return Err(Problem::at("folder", problem));
        }
        within("max_output_bytes", self.max_output_bytes, 1..=MAX_OUTPUT_BYTES)?;
        let success_codes = self.success_codes.clone().unwrap_or(vec![0]);
        if success_codes.is_empty() || success_codes.len() > MAX_ENTRIES {
            return Err(Problem::at("success_codes", format_args!("must have between 1 and {MAX_ENTRIES} codes")));
        }
        // For approvals and grants: another program or other arguments make another tool. As it is configured, so that
        // it is the same on every machine.
        let runs = json!({
            "command": self.command,
            "folder": self.folder,
            "stdin": self.stdin,
            "environment": self.environment,
            "set": self.set,
        });
        definition.metadata.implementation = Some(canonical_value(&runs).into());
        Ok(Arc::new(CommandTool {
            definition,
            program,
            argv,
            folder: path,
            stdin: self.stdin,
            environment: self.variables(around)?,
            output: self.output,
            max_output_bytes: self.max_output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES),
            success_codes,
            messages: self.messages_by_code()?,
            show_stderr: self.show_stderr,
        }))
    }

    /// A listed variable that is not set is left out, as it would be without us.
    fn variables(&self, surroundings: &Surroundings) -> Result<Vec<(String, OsString)>, Problem> {
        if self.environment.len() + self.set.len() > MAX_ENTRIES {
            return Err(Problem::at("environment", format_args!("has more than {MAX_ENTRIES} variables")));
        }
        let cannot_be = |name: &String| name.is_empty() || name.contains(['=', '\0']);
        for (key, has_bad_name) in
            [("environment", self.environment.iter().any(cannot_be)), ("set", self.set.keys().any(cannot_be))]
        {
            if has_bad_name {
                return Err(Problem::at(key, "has a name that no variable can have"));
            }
        }
        if self.set.values().any(|value| value.contains('\0')) {
            return Err(Problem::at("set", "has a value that no variable can have"));
        }
        let listed =
            self.environment.iter().filter_map(|name| Some((name.clone(), surroundings.variable(name)?.into())));
        let set = self.set.iter().map(|(name, value)| (name.clone(), value.into()));
        Ok(listed.chain(set).collect())
    }

    fn messages_by_code(&self) -> Result<BTreeMap<i32, Arc<str>>, Problem> {
        if self.messages.len() > MAX_ENTRIES {
            return Err(Problem::at("messages", format_args!("has more than {MAX_ENTRIES} codes")));
        }
        let mut messages = BTreeMap::new();
        for (code, text) in &self.messages {
            let code = code.parse().map_err(|_| Problem::at_key(["messages", code], "is not an exit code"))?;
            messages.insert(code, Arc::from(text.as_str()));
        }
        Ok(messages)
    }
}
