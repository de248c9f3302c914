//! What other rules would have made of recorded calls.

use holdpoint_codec::Context;
use holdpoint_core::{Arguments, CallKey, Decision, FourEyes, ToolName};
use serde_json::{Value, json};

use super::facts::Facts;
use super::{Decide, Rules};
use crate::{AuthorizeRequest, PastCall, PolicyError, RunFacts};

/// Everything that a decision was taken on, and the decision.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// Which call.
    pub call: CallKey,
    /// The registered name.
    pub tool: ToolName,
    /// What was decided about: after an edit, what the person made of it.
    pub arguments: Arguments,
    /// Who asked, as far as it was kept.
    pub context: Context,
    /// The earlier calls of the run that were let through.
    pub past: Vec<PastCall>,
    /// What was decided.
    pub decided: Decision,
}

/// A call that other rules decide otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which call.
    pub call: CallKey,
    /// The registered name.
    pub tool: ToolName,
    /// What was decided.
    pub was: Decision,
    /// What the other rules decide, or why they cannot: then they deny.
    pub becomes: Result<Decision, PolicyError>,
}

impl Change {
    /// Its stable JSON form, without arguments.
    pub fn to_json(&self) -> Value {
        let becomes = match &self.becomes {
            Ok(decision) => shown(decision),
            Err(error) => json!({ "decides": Decide::Deny.as_str(), "problem": error.to_string() }),
        };
        json!({
            "run_id": self.call.run.as_str(),
            "turn": self.call.turn.0,
            "index": self.call.index.0,
            "tool": self.tool.as_str(),
            "was": shown(&self.was),
            "becomes": becomes,
        })
    }
}

fn shown(decision: &Decision) -> Value {
    let ground = decision.ground();
    let (rule, reason) = (ground.rule.as_deref(), ground.reason.as_deref());
    let mut shown = json!({ "decides": Decide::of(decision).as_str(), "rule": rule, "reason": reason });
    if let Decision::Confirm(_, terms) = decision {
        shown["approvers"] = terms.approvers.iter().map(|role| Value::from(&**role)).collect();
        shown["quorum"] = terms.quorum.into();
        shown["expires_in_ms"] = terms.expires_in_ms.into();
        shown["four_eyes"] = (terms.four_eyes == FourEyes::On).into();
    }
    shown
}

/// What became of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// How many calls were decided again.
    pub calls: usize,
    /// Those that come out otherwise, in the order of the record.
    pub changes: Vec<Change>,
}

impl Replay {
    /// Its stable JSON form.
    pub fn to_json(&self) -> Value {
        json!({ "calls": self.calls, "changes": self.changes.iter().map(Change::to_json).collect::<Vec<_>>() })
    }
}

/// Decides recorded calls again. A call changes if what follows changes, or if other people must be asked; another rule
/// or reason is no change. Each call sees the past that was recorded, even where the other rules would have stopped it.
pub fn replay(rules: &Rules, recorded: impl IntoIterator<Item = RecordedCall>) -> Replay {
    let mut replay = Replay::default();
    for recorded in recorded {
        replay.calls += 1;
        let RecordedCall { call, tool, arguments, context, past, decided } = recorded;
        let run = RunFacts::new(call.run.clone(), call.turn).with_past(move || past.clone());
        let request = AuthorizeRequest { tool: &tool, arguments: &arguments, context: &context, run: &run };
        let becomes = rules.decide_about(&Facts::of(&request));
        if !same(&decided, &becomes) {
            replay.changes.push(Change { call, tool, was: decided, becomes });
        }
    }
    replay
}

/// Whether the same follows for the model and for people.
fn same(was: &Decision, becomes: &Result<Decision, PolicyError>) -> bool {
    match (was, becomes) {
        (Decision::Allow(_), Ok(Decision::Allow(_))) | (Decision::Deny(_), Ok(Decision::Deny(_)) | Err(_)) => true,
        (Decision::Confirm(_, was), Ok(Decision::Confirm(_, becomes))) => was == becomes,
        (Decision::Allow(_) | Decision::Deny(_) | Decision::Confirm(..), _) => false,
    }
}
