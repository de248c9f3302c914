//! What must be seen after a step, and the first thing that is not.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use holdpoint_config::{Named, TableOr, Variants};
use serde::{Deserialize, Serialize};

use crate::scenario::{Json, Pointer};

mod compare;

pub use compare::Difference;

/// What must be seen after a step, in the order of the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Expect(Variants<Check>);

/// One key of `expect`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Check {
    StopReason(String),
    Text(Option<String>),
    Turns(u64),
    RunIdSame(bool),
    Error(Option<String>),
    Status(String),
    ModelCalls(u64),
    Executed(TableOr<Counts, Vec<String>>),
    InFlightMax(TableOr<Counts, u64>),
    Pending(Items<PendingKey>),
    Messages(Items<MessageKey>),
    ModelSaw(Items<MessageKey>),
    ModelTools(Vec<String>),
    Usage(Variants<UsageKey>),
    Records(Items<RecordKey>),
    Events(Vec<String>),
    EventsNot(Vec<String>),
    EventCounts(Counts),
    Logged(Vec<String>),
    NotLogged(Vec<String>),
    Saved(BTreeMap<Pointer, Json>),
    Absent(Vec<Pointer>),
    BytesMax(u64),
    Continuation(Variants<ContinuationKey>),
    Won(u64),
}

type Counts = Named<u64>;

/// A list of tables, perhaps with an open end.
type Items<K> = Vec<TableOr<Variants<K>, OpenEnd>>;

/// The last item of a list whose end is open.
#[derive(Clone, Copy, Debug, Deserialize)]
enum OpenEnd {
    #[serde(rename = "...")]
    Dots,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PendingKey {
    Id(String),
    Name(String),
    Tool(Option<String>),
    Reason(Option<String>),
    Arguments(Json),
    /// Their order says nothing.
    Roles(BTreeSet<String>),
    Uncertain(bool),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordKey {
    Id(String),
    Turn(u64),
    Name(String),
    Tool(Option<String>),
    Outcome(String),
    Error(Option<String>),
    Source(Option<String>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageKey {
    Role(RoleName),
    Text(Option<String>),
    Contains(String),
    Matches(Pattern),
    Call(String),
    Error(bool),
    Calls(Vec<String>),
    BytesMax(u64),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RoleName {
    System,
    User,
    Assistant,
    Tool,
}

/// A regular expression that is searched for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Pattern(regex::Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let reason = |error: regex::Error| format!("is not a regular expression: {error}");
        regex::Regex::new(&text).map(Self).map_err(reason)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UsageKey {
    Input(u64),
    Output(u64),
    Total(u64),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ContinuationKey {
    New(bool),
    Parent(Option<String>),
}

impl Expect {
    /// The name against which the parent of a continuation is compared.
    pub(crate) fn parent(&self) -> Option<&str> {
        let Expect(Variants(checks)) = self;
        checks.iter().find_map(|check| match check {
            Check::Continuation(Variants(keys)) => keys.iter().find_map(|key| match key {
                ContinuationKey::Parent(name) => name.as_deref(),
                ContinuationKey::New(_) => None,
            }),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
