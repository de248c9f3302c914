//! A scenario as its file says it.

use holdpoint_codec::SettingsSpec;
use holdpoint_config::{ConfigError, Document, Flatten, KeyPath, Named, Problem, RawJson, TableOr, YamlLimits};
use holdpoint_core::{Repeat, Usage};
use holdpoint_model::{ModelCall, ModelReply, ScriptedReply};
use holdpoint_tools::hooks::HookSpec;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

mod policy;
mod step;

pub(crate) use policy::PolicySpec;
pub(crate) use step::{
    Action, Answers, CrashPoint, EditSpec, Expecting, Json, Names, PersonSpec, Pointer, Resume, RunSpec, SaveSpec, Step,
};

/// The largest file that is read.
pub const SCENARIO_BYTES_MAX: usize = 8 * 1024 * 1024;

const LIMITS: YamlLimits = YamlLimits { max_bytes: SCENARIO_BYTES_MAX, max_depth: 96, max_nodes: 250_000 };

/// One scenario file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A sentence.
    pub name: String,
    #[serde(default)]
    pub(crate) agent: AgentSpec,
    /// In the order of the file.
    #[serde(default)]
    pub(crate) tools: Named<ToolSpec>,
    #[serde(default)]
    pub(crate) policy: PolicySpec,
    /// Outermost first.
    #[serde(default)]
    pub(crate) hooks: Vec<HookSpec>,
    /// What the model says, call by call.
    #[serde(default)]
    pub(crate) model: Vec<Reply>,
    pub(crate) steps: Vec<Step>,
}

/// Reads a scenario.
///
/// # Errors
/// When the text is not one: the line, the key and what is wrong.
pub fn parse(text: &str, file: &str) -> Result<Scenario, ConfigError> {
    Scenario::read(&document(text, file)?)
}

/// Reads the part that is about the model from a file of its own: the list that a scenario has under `model`.
///
/// # Errors
/// When the text is not one: the line, the key and what is wrong.
pub fn parse_script(text: &str, file: &str) -> Result<Vec<ScriptedReply>, ConfigError> {
    let replies: Vec<Reply> = document(text, file)?.read()?;
    Ok(replies.into_iter().map(|reply| reply.0).collect())
}

pub(crate) fn document(text: &str, file: &str) -> Result<Document, ConfigError> {
    Document::yaml(text, file, LIMITS)
}

impl Scenario {
    pub(crate) fn read(document: &Document) -> Result<Self, ConfigError> {
        let mut scenario: Self = document.read()?;
        scenario.check().map_err(|problem| document.error(problem))?;
        Ok(scenario)
    }

    /// Compiles its policies and finds what no single value shows.
    fn check(&mut self) -> Result<(), Problem> {
        self.policy.compile().map_err(|problem| problem.below("policy"))?;
        let mut saved = Vec::new();
        for (index, step) in self.steps.iter_mut().enumerate() {
            let at = |problem: Problem| problem.below(KeyPath::from("steps").index(index));
            step::check(step).map_err(at)?;
            if let Some(name) = step::names_used(step).find(|name| !saved.iter().any(|saved| saved == name)) {
                return Err(at(Problem::new(format_args!(
                    "uses `{name}`, but nothing is saved under this name before"
                ))));
            }
            if let Flatten(_, Action::Save(save)) = step {
                saved.push(save.name.clone());
            }
        }
        Ok(())
    }
}

/// Settings of the run, with the names of every other configuration.
pub(crate) type AgentSpec = Flatten<Prompt, SettingsSpec>;

/// The setting that a scenario has beside those of a run.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Prompt {
    pub(crate) system_prompt: Option<String>,
}

/// A scripted tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolSpec {
    pub(crate) description: String,
    /// The JSON Schema of its arguments; any object when absent.
    pub(crate) parameters: Option<Json>,
    pub(crate) parallelizable: Option<bool>,
    #[serde(deserialize_with = "holdpoint_config::named")]
    pub(crate) repeat: Repeat,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) does: Option<Script>,
}

/// What executions of a tool do: the nth takes the nth, the last repeats. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct Script(pub(crate) Vec<Does>);

impl Default for Script {
    fn default() -> Self {
        Self(vec![Does::default()])
    }
}

impl<'de> Deserialize<'de> for Script {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match TableOr::<Does, Vec<Does>>::deserialize(deserializer)? {
            TableOr::Table(does) => Ok(Self(vec![does])),
            TableOr::Other(list) if list.is_empty() => Err(D::Error::custom("is an empty list")),
            TableOr::Other(list) => Ok(Self(list)),
        }
    }
}

/// What one execution does. An entry may have any of these; what ends the execution sooner wins: `panic`, `fail`,
/// `hang`, `halt`, then the content.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Does {
    /// It waits first.
    pub(crate) sleep_ms: u64,
    pub(crate) panic: Option<String>,
    pub(crate) fail: Option<String>,
    /// It never ends, and does not listen to cancellation.
    pub(crate) hang: bool,
    pub(crate) halt: Option<String>,
    #[serde(rename = "return")]
    pub(crate) text: Option<String>,
    #[serde(deserialize_with = "present")]
    pub(crate) return_json: Option<RawJson>,
    /// The arguments as canonical JSON.
    pub(crate) echo: bool,
    /// A context attribute as JSON.
    pub(crate) context: Option<String>,
    /// The size of an image.
    pub(crate) image_bytes: Option<u32>,
}

/// A value that is there, even if it is `null`.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What the model does when it is called.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ModelEntry")]
pub(crate) struct Reply(pub(crate) ScriptedReply);

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ModelEntry {
    fail: Option<String>,
    nothing: bool,
    text: Option<String>,
    thinking: Option<String>,
    calls: Vec<CallEntry>,
    usage: UsageEntry,
    stop: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    id: Option<String>,
    tool: String,
    /// A string is the raw text; everything else is written as JSON.
    #[serde(default, deserialize_with = "present")]
    arguments: Option<RawJson>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UsageEntry {
    input: u64,
    output: u64,
}

impl TryFrom<ModelEntry> for Reply {
    type Error = &'static str;

    fn try_from(entry: ModelEntry) -> Result<Self, &'static str> {
        let alone = ModelEntry { fail: entry.fail.clone(), nothing: entry.nothing, ..ModelEntry::default() };
        let ModelEntry { fail, nothing, text, thinking, calls, usage, stop } = entry.clone();
        let special = match (fail, nothing) {
            (None, false) => None,
            (Some(message), false) => Some(ScriptedReply::Fail(message.into())),
            (None, true) => Some(ScriptedReply::Nothing),
            (Some(_), true) => return Err("has both `fail` and `nothing`"),
        };
        match special {
            Some(special) if entry == alone => return Ok(Self(special)),
            Some(_) => return Err("has other keys beside `fail` or `nothing`"),
            None => {}
        }
        let UsageEntry { input, output } = usage;
        Ok(Self(ScriptedReply::Say(ModelReply {
            text: text.unwrap_or_default().into(),
            thinking: thinking.map(Into::into),
            calls: calls.into_iter().map(ModelCall::from).collect(),
            usage: Usage { input, output, ..Usage::default() },
            stop: stop.as_deref().map(holdpoint_core::ModelStop::parse),
            provider_state: None,
        })))
    }
}

impl From<CallEntry> for ModelCall {
    fn from(call: CallEntry) -> Self {
        let raw = |arguments: RawJson| arguments.as_string().unwrap_or(arguments.0).into();
        Self { id: call.id.map(Into::into), name: call.tool.as_str().into(), arguments: call.arguments.map(raw) }
    }
}

#[cfg(test)]
mod tests;
