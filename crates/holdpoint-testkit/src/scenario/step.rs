//! What happens in a scenario, step by step.

use serde_json::Value;

use super::{PolicySpec, ToolSpec};
use crate::expect::Expect;
use crate::yaml::Node;

/// One step with what must be seen after it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its line.
    pub line: u64,
    /// What it does.
    pub action: Action,
    /// What must be seen.
    pub expect: Expect,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Starts the run.
    Run(RunSpec),
    /// Resumes with decisions or results.
    Resume(ResumeSpec),
    /// Dumps the latest continuation.
    Save(SaveSpec),
    /// Changes a saved payload.
    Edit(EditSpec),
    /// Replaces the policy.
    Policy(PolicySpec),
    /// Replaces the tools.
    Tools(Vec<ToolSpec>),
    /// Moves the clock.
    Clock {
        /// By how much.
        advance_ms: u64,
    },
    /// Drops the process state, now or at a failpoint of the next step.
    Crash(Option<CrashPoint>),
    /// Cancels the run.
    Cancel,
    /// Continues a run that failed.
    Retry,
    /// The same resume several times at once.
    Race {
        /// How often.
        n: u32,
        /// What.
        resume: ResumeSpec,
    },
}

impl Action {
    /// Its key in the file.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Run(_) => "run",
            Action::Resume(resume) => resume.kind.name(),
            Action::Save(_) => "save",
            Action::Edit(_) => "edit",
            Action::Policy(_) => "policy",
            Action::Tools(_) => "tools",
            Action::Clock { .. } => "clock",
            Action::Crash(_) => "crash",
            Action::Cancel => "cancel",
            Action::Retry => "retry",
            Action::Race { .. } => "race",
        }
    }
}

/// Whether a step uses the streaming entry point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entry {
    /// It waits for the result.
    #[default]
    Plain,
    /// It reads the stream.
    Stream,
}

/// How a run starts.
#[derive(Clone, Debug, Default)]
pub struct RunSpec {
    /// The user's message.
    pub input: String,
    /// Context attributes.
    pub context: Vec<(String, Value)>,
    /// Who starts it.
    pub by: Option<PersonSpec>,
    /// The session that it belongs to.
    pub session: Option<String>,
    /// Streaming or not.
    pub entry: Entry,
}

/// What a resume brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeKind {
    /// Decisions.
    Answer,
    /// Results.
    Results,
}

impl ResumeKind {
    /// Its key in the file.
    pub fn name(self) -> &'static str {
        match self {
            ResumeKind::Answer => "answer",
            ResumeKind::Results => "results",
        }
    }
}

/// A resume.
#[derive(Clone, Debug)]
pub struct ResumeSpec {
    /// Decisions or results.
    pub kind: ResumeKind,
    /// Call ids with what is brought for each, as the file has it.
    pub entries: Vec<(String, Node)>,
    /// Whether calls may be left out.
    pub partial: bool,
    /// A saved continuation, or the latest.
    pub from: Option<String>,
    /// What the resume names of that continuation.
    pub names: Names,
    /// The person.
    pub by: Option<PersonSpec>,
    /// Context attributes.
    pub context: Vec<(String, Value)>,
    /// Streaming or not.
    pub entry: Entry,
}

/// What a resume names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// The continuation.
    #[default]
    Continuation,
    /// The batch of its turn.
    Batch,
}

/// A person.
#[derive(Clone, Debug, Default)]
pub struct PersonSpec {
    /// Their name.
    pub id: Option<String>,
    /// Their roles.
    pub roles: Vec<String>,
    /// Their tenant.
    pub tenant: Option<String>,
}

/// What is forgotten by a save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forget {
    /// The objects in memory.
    #[default]
    Objects,
    /// The store as well.
    Store,
}

/// How the latest continuation is dumped.
#[derive(Clone, Debug)]
pub struct SaveSpec {
    /// Under which name.
    pub name: String,
    /// With which context attributes; the agent's when absent.
    pub context_keys: Option<Vec<String>>,
    /// What is forgotten.
    pub forget: Forget,
}

/// How a saved payload is changed.
#[derive(Clone, Debug)]
pub struct EditSpec {
    /// Which.
    pub of: String,
    /// Where.
    pub pointer: String,
    /// The new value as JSON text, or its removal.
    pub value: Option<String>,
}

/// Where the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// The intent is durable, the tool has not started.
    AfterIntent,
    /// The tool ran, its result is not durable.
    AfterEffect,
}
