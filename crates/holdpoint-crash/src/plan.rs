//! What the model asks for in each turn, what policy and people say to it, and what must come of it. All of it follows
//! from the plan that the user's message names, so that a repeated model call gives the same calls, and the checker knows
//! what to expect.

use holdpoint::{Outcome, Repeat};

use crate::dice::mix;

/// The most calls of a turn.
const CALLS_MAX: u64 = 3;
/// The most turns with calls.
const TURNS_MAX: u64 = 3;
/// What an edit adds to the number in the arguments.
const EDIT: u64 = 1_000;
/// The last word of the model.
pub(crate) const LAST_WORD: &str = "done";

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) repeat: Repeat,
    pub(crate) permit: Permit,
}

/// What policy says about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// It may run.
    Allow,
    /// A person is asked, and answers.
    Ask,
    /// A person is asked, and nobody answers in time.
    Ignore,
    /// It may not run.
    Deny,
}

const fn kind(name: &'static str, repeat: Repeat, permit: Permit) -> Kind {
    Kind { name, repeat, permit }
}

/// All tools. Those whose name begins with `work_` are handed out to workers; the rules know the others by their names.
pub(crate) const KINDS: [Kind; 13] = [
    kind("note_never", Repeat::Never, Permit::Allow),
    kind("note_never_too", Repeat::Never, Permit::Allow),
    kind("note_safe", Repeat::Safe, Permit::Allow),
    kind("note_key", Repeat::WithKey, Permit::Allow),
    kind("ask_never", Repeat::Never, Permit::Ask),
    kind("ask_safe", Repeat::Safe, Permit::Ask),
    kind("work_never", Repeat::Never, Permit::Allow),
    kind("work_safe", Repeat::Safe, Permit::Allow),
    kind("work_key", Repeat::WithKey, Permit::Allow),
    kind("work_ask_never", Repeat::Never, Permit::Ask),
    kind("work_ask_key", Repeat::WithKey, Permit::Ask),
    kind("late_never", Repeat::Never, Permit::Ignore),
    kind("forbidden", Repeat::Never, Permit::Deny),
];

/// What policy says, as a user would write it. Must agree with [`KINDS`].
pub(crate) const RULES: &str = r#"
[[rule]]
tool = "{ask_*,work_ask_*}"
decide = "confirm"
reason = "somebody must look at it"

[[rule]]
tool = "late_*"
decide = "confirm"
reason = "somebody must look at it soon"
expires_in_ms = 300

[[rule]]
tool = "forbidden"
decide = "deny"
reason = "never"

[[rule]]
tool = "*"
decide = "allow"
"#;

pub(crate) fn kind_of(tool: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == tool)
}

/// The plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// One call of this tool, and nothing else.
    pub(crate) only: Option<&'static Kind>,
}

/// A call of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedCall {
    pub(crate) kind: &'static Kind,
    /// The number in its arguments.
    pub(crate) number: u64,
}

impl Plan {
    /// What the user says.
    pub(crate) fn input(self) -> String {
        format!("plan {}", self.seed)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(tool) = text.strip_prefix("only ") {
            return Some(Self { seed: 0, only: Some(kind_of(tool)?) });
        }
        Some(Self { seed: text.strip_prefix("plan ")?.parse().ok()?, only: None })
    }

    /// How many turns have calls.
    pub(crate) fn turns(self) -> u32 {
        if self.only.is_some() { 1 } else { 1 + below(mix(&[self.seed, 1]), TURNS_MAX) }
    }

    /// The calls of a turn, from 1.
    pub(crate) fn calls(self, turn: u32) -> Vec<PlannedCall> {
        if let Some(kind) = self.only {
            // A number that people approve.
            return vec![PlannedCall { kind, number: 2 }];
        }
        let count = 1 + below(mix(&[self.seed, 2, u64::from(turn)]), CALLS_MAX);
        (0..count).map(|index| self.call(turn, index)).collect()
    }

    fn call(self, turn: u32, index: u32) -> PlannedCall {
        let drawn = mix(&[self.seed, 3, u64::from(turn), u64::from(index)]);
        let kind = &KINDS[below(drawn, KINDS.len() as u64) as usize];
        PlannedCall { kind, number: (drawn >> 32) % EDIT }
    }

    /// Whether somebody cancels the run, and after how many milliseconds.
    pub(crate) fn cancelled_after_ms(self) -> Option<u64> {
        let drawn = mix(&[self.seed, 4]);
        drawn.is_multiple_of(16).then_some((drawn >> 8) % 1_500)
    }
}

fn below(drawn: u64, end: u64) -> u32 {
    u32::try_from(drawn % end.max(1)).unwrap_or(0)
}

/// What a person says to a question about a call with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saying {
    Approve,
    /// With this number instead.
    Edit(u64),
    Refuse,
}

pub(crate) fn saying(number: u64) -> Saying {
    match number % 8 {
        0 | 4 => Saying::Refuse,
        1 if number < EDIT => Saying::Edit(number + EDIT),
        _ => Saying::Approve,
    }
}

impl PlannedCall {
    /// Its arguments as the model writes them.
    pub(crate) fn arguments(self) -> String {
        arguments(self.number)
    }

    /// How it must end, and with which arguments, unless the run is cancelled.
    pub(crate) fn expected(self) -> (Outcome, String) {
        let (outcome, number) = match self.kind.permit {
            Permit::Allow => (Outcome::Succeeded, self.number),
            Permit::Ignore => (Outcome::Expired, self.number),
            Permit::Deny => (Outcome::Denied, self.number),
            Permit::Ask => match saying(self.number) {
                Saying::Approve => (Outcome::Succeeded, self.number),
                Saying::Edit(number) => (Outcome::Succeeded, number),
                Saying::Refuse => (Outcome::Refused, self.number),
            },
        };
        (outcome, arguments(number))
    }
}

pub(crate) fn arguments(number: u64) -> String {
    format!("{{\"number\":{number}}}")
}

/// The number in arguments.
pub(crate) fn number_in(arguments: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(arguments).ok()?;
    value.get("number")?.as_u64()
}
