//! The table of a command tool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_codec::canonical_value;
use holdpoint_tools::Tool;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::argv::ArgvTemplate;
use super::program;
use super::tool::CommandTool;
use crate::spec::{Common, NearestKeys, within};
use crate::{Parameters, RepeatSpec, SpecError, Surroundings};

/// How much of the output is kept if nobody says.
pub const OUTPUT_BYTES_DEFAULT: i64 = 200_000;
/// The most that can be kept of the output.
pub const OUTPUT_BYTES_MAX: i64 = 64 * 1024 * 1024;

/// The most codes and variables of one tool.
const ENTRIES_MAX: usize = 64;

/// `kind = "command"`: a call runs a program. There is no shell.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
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
    /// How much of its output is kept.
    pub output_bytes_max: Option<i64>,
    /// The exit codes that mean success.
    pub success_codes: Vec<i32>,
    /// What the model is told for other exit codes.
    pub messages: BTreeMap<String, String>,
    /// Whether the model sees what a program that failed wrote to its standard error.
    pub show_stderr: bool,
    /// What the model is told.
    pub description: Option<String>,
    /// The arguments.
    pub parameters: Option<Parameters>,
    /// Whether it may run beside others.
    pub parallelizable: Option<bool>,
    /// Whether a call in doubt may run again; `with_key` sets `HOLDPOINT_IDEMPOTENCY_KEY`.
    pub repeat: RepeatSpec,
    /// How long it may take.
    pub timeout_ms: Option<i64>,
}

/// `stdin`: what the program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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

impl Default for CommandToolSpec {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            stdin: StdinForm::None,
            folder: None,
            environment: Vec::new(),
            set: BTreeMap::new(),
            output: OutputForm::Text,
            output_bytes_max: None,
            success_codes: vec![0],
            messages: BTreeMap::new(),
            show_stderr: false,
            description: None,
            parameters: None,
            parallelizable: None,
            repeat: RepeatSpec::Never,
            timeout_ms: None,
        }
    }
}

impl CommandToolSpec {
    /// Makes the tool, as seen from this process.
    ///
    /// # Errors
    /// When a key has a value that cannot be, or the program is not there.
    pub fn build(&self, name: &str) -> Result<Arc<dyn Tool>, SpecError> {
        self.build_in(name, &Surroundings::default())
    }

    /// Makes the tool in these surroundings.
    ///
    /// # Errors
    /// When a key has a value that cannot be, or the program is not there.
    pub fn build_in(&self, name: &str, surroundings: &Surroundings) -> Result<Arc<dyn Tool>, SpecError> {
        let wrong = |key: &'static str, problem: String| SpecError::new(name, key, problem);
        let common = self.common(name, surroundings);
        let mut definition = common.definition()?;
        let Some((program, elements)) = self.command.split_first() else {
            return Err(wrong("command", "is missing".to_owned()));
        };
        let program = program::find(program, surroundings).map_err(|problem| wrong("command", problem))?;
        let argv = ArgvTemplate::parse(elements).map_err(|problem| wrong("command", problem))?;
        for argument in argv.arguments() {
            common.check_argument("command", argument, &definition)?;
        }
        let folder = surroundings.path(self.folder.as_deref().unwrap_or(".".as_ref()));
        if !folder.is_dir() {
            let shown = self.folder.as_deref().unwrap_or(".".as_ref()).display().to_string();
            return Err(wrong("folder", format!("is `{shown}`, which is not a folder")));
        }
        let bytes_max = self.output_bytes_max.unwrap_or(OUTPUT_BYTES_DEFAULT);
        let bytes_max = within(name, "output_bytes_max", bytes_max, OUTPUT_BYTES_MAX)?;
        if self.success_codes.is_empty() || self.success_codes.len() > ENTRIES_MAX {
            return Err(wrong("success_codes", format!("must have between 1 and {ENTRIES_MAX} codes")));
        }
        definition.metadata.implementation = Some(self.implementation());
        Ok(Arc::new(CommandTool {
            definition,
            program,
            argv,
            folder,
            stdin: self.stdin,
            environment: self.variables(name, surroundings)?,
            output: self.output,
            output_bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
            success_codes: self.success_codes.clone(),
            messages: self.messages_by_code(name)?,
            show_stderr: self.show_stderr,
        }))
    }

    /// What runs, for approvals and grants: another program or other arguments make another tool. As it is configured, so that
    /// it is the same on every machine.
    fn implementation(&self) -> Arc<str> {
        let runs = json!({
            "command": self.command,
            "folder": self.folder,
            "stdin": format!("{:?}", self.stdin),
            "environment": self.environment,
            "set": self.set,
        });
        canonical_value(&runs).into()
    }

    fn common<'a>(&'a self, tool: &'a str, surroundings: &'a Surroundings) -> Common<'a> {
        Common {
            tool,
            source: "command",
            description: self.description.as_deref(),
            parameters: self.parameters.as_ref(),
            parallelizable: self.parallelizable,
            repeat: self.repeat,
            timeout_ms: self.timeout_ms,
            surroundings,
        }
    }

    /// A listed variable that is not set is left out, as it would be without us.
    fn variables(&self, tool: &str, surroundings: &Surroundings) -> Result<Vec<(String, OsString)>, SpecError> {
        if self.environment.len() + self.set.len() > ENTRIES_MAX {
            return Err(SpecError::new(tool, "environment", format!("has more than {ENTRIES_MAX} variables")));
        }
        for (key, name) in
            self.environment.iter().map(|name| ("environment", name)).chain(self.set.keys().map(|n| ("set", n)))
        {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(SpecError::new(tool, key, "has a name that no variable can have"));
            }
        }
        if self.set.values().any(|value| value.contains('\0')) {
            return Err(SpecError::new(tool, "set", "has a value that no variable can have"));
        }
        let listed =
            self.environment.iter().filter_map(|name| Some((name.clone(), surroundings.variable(name)?.into())));
        let set = self.set.iter().map(|(name, value)| (name.clone(), value.into()));
        Ok(listed.chain(set).collect())
    }

    fn messages_by_code(&self, tool: &str) -> Result<BTreeMap<i32, Arc<str>>, SpecError> {
        let parse = |(code, text): (&String, &String)| match code.parse::<i32>() {
            Ok(code) => Ok((code, Arc::from(text.as_str()))),
            Err(_) => Err(SpecError::new(tool, "messages", "has a key that is not an exit code")),
        };
        if self.messages.len() > ENTRIES_MAX {
            return Err(SpecError::new(tool, "messages", format!("has more than {ENTRIES_MAX} codes")));
        }
        self.messages.iter().map(parse).collect()
    }
}

impl<'de> Deserialize<'de> for CommandToolSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(NearestKeys(deserializer))
    }
}
