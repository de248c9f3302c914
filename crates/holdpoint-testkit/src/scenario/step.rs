//! What happens in a scenario, step by step.

use holdpoint_config::{Flatten, Named, Problem, RawJson, within};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{PolicySpec, ToolSpec, present};
use crate::expect::Expect;

/// One step: what it does, and what must be seen after it.
pub(crate) type Step = Flatten<Expecting, Action>;

/// What must be seen after a step.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Expecting {
    #[serde(default)]
    pub(crate) expect: Expect,
}

/// What a step does, by its key in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Run(RunSpec),
    Answer(Flatten<Answers, Resuming>),
    Results(Flatten<Supplied, Resuming>),
    Save(SaveSpec),
    Edit(EditSpec),
    Policy(PolicySpec),
    Tools(Named<ToolSpec>),
    Clock(ClockSpec),
    /// Drops the process state, now or at a point of the next step.
    Crash(CrashSpec),
    Cancel(NoKeys),
    Retry(NoKeys),
    /// The same resume several times at once.
    Race(Flatten<Runners, Resume>),
}

impl Action {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Action::Run(_) => "run",
            Action::Answer(_) => "answer",
            Action::Results(_) => "results",
            Action::Save(_) => "save",
            Action::Edit(_) => "edit",
            Action::Policy(_) => "policy",
            Action::Tools(_) => "tools",
            Action::Clock(_) => "clock",
            Action::Crash(_) => "crash",
            Action::Cancel(_) => "cancel",
            Action::Retry(_) => "retry",
            Action::Race(_) => "race",
        }
    }
}

/// Compiles the policy of a step and finds what no single value shows.
pub(super) fn check(step: &mut Step) -> Result<(), Problem> {
    let Flatten(_, action) = step;
    match action {
        Action::Policy(policy) => policy.compile(),
        Action::Race(Flatten(runners, _)) => within("n", runners.n, 1..=u32::MAX),
        Action::Edit(edit) if edit.value.is_some() == edit.remove => {
            Err(Problem::new("needs either `value` or `remove: true`"))
        }
        _ => Ok(()),
    }
    .map_err(|problem| problem.below(action.name()))
}

/// The saved names that a step relies on.
pub(super) fn names_used(step: &Step) -> impl Iterator<Item = &str> {
    let Flatten(Expecting { expect }, action) = step;
    let own = match action {
        Action::Answer(Flatten(_, resuming)) | Action::Results(Flatten(_, resuming)) => resuming.from.as_deref(),
        Action::Race(Flatten(_, resume)) => resume.resuming().from.as_deref(),
        Action::Edit(edit) => Some(&*edit.of),
        _ => None,
    };
    own.into_iter().chain(expect.parent())
}

/// A value as JSON; numbers are those that `serde_json` can hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Json(pub(crate) Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::deserialize(deserializer).map(|raw| Self(Value::from(&raw)))
    }
}

/// A JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pointer(pub(crate) String);

impl TryFrom<String> for Pointer {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        if text.is_empty() || text.starts_with('/') {
            return Ok(Self(text));
        }
        Err("is not a JSON pointer\nhint: a pointer starts with `/`, as in `/messages/0`")
    }
}

/// A table without keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoKeys {}

/// How a run starts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RunSpec {
    pub(crate) input: String,
    pub(crate) context: Named<Json>,
    pub(crate) by: Option<PersonSpec>,
    pub(crate) session: Option<String>,
    pub(crate) stream: bool,
}

/// What a resume brings.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Resume {
    Answer(Flatten<Answers, Resuming>),
    Results(Flatten<Supplied, Resuming>),
}

impl Resume {
    pub(crate) fn resuming(&self) -> &Resuming {
        match self {
            Resume::Answer(Flatten(_, resuming)) | Resume::Results(Flatten(_, resuming)) => resuming,
        }
    }
}

/// Decisions by call id, as the file has them: the library says which are none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Answers {
    pub(crate) decisions: Named<Json>,
    pub(crate) names: Names,
    pub(crate) by: Option<PersonSpec>,
}

/// Results by call id, as the file has them: the library says which are none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Supplied {
    pub(crate) results: Named<Json>,
}

/// What both kinds of resume have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Resuming {
    pub(crate) partial: bool,
    /// A saved continuation; the latest when absent.
    pub(crate) from: Option<String>,
    pub(crate) context: Named<Json>,
    pub(crate) stream: bool,
}

/// What a resume names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Names {
    #[default]
    Continuation,
    /// The batch of its turn.
    Batch,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PersonSpec {
    pub(crate) id: Option<String>,
    pub(crate) roles: Vec<String>,
    pub(crate) tenant: Option<String>,
}

/// How the latest continuation is dumped.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaveSpec {
    #[serde(rename = "as")]
    pub(crate) name: String,
    /// The agent's when absent.
    pub(crate) context_keys: Option<Vec<String>>,
    /// Whether the store is forgotten too.
    #[serde(default)]
    pub(crate) fresh: bool,
}

/// How a saved payload is changed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditSpec {
    pub(crate) of: String,
    pub(crate) path: Pointer,
    #[serde(default, deserialize_with = "present")]
    pub(crate) value: Option<RawJson>,
    #[serde(default)]
    pub(crate) remove: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClockSpec {
    pub(crate) advance_ms: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrashSpec {
    pub(crate) after: Option<CrashPoint>,
}

/// Where the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CrashPoint {
    /// The intent is durable, the tool has not started.
    Intent,
    /// The tool ran, its result is not durable.
    Effect,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Runners {
    pub(crate) n: u32,
}
