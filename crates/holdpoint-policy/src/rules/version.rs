//! Which rules these are: a digest of everything that makes them decide, in a form that does not depend on spelling.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holdpoint_core::{Decision, FourEyes, Terms};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::compiled::CompiledRule;
use super::{Condition, Decide};
use crate::PolicyVersion;

/// Enough that nobody finds other rules with the same one.
const BYTES: usize = 16;

/// Changes when the same rules would be read in another way.
const DOMAIN: &[u8] = b"holdpoint.rules.1\0";

/// A rule as it is digested. The fields are in alphabetical order.
#[derive(Serialize)]
struct Digested<'r> {
    conditions: BTreeMap<String, &'r Condition>,
    decide: &'static str,
    hide: bool,
    name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terms: Option<Value>,
    tool: &'r str,
}

pub(super) fn of(rules: &[CompiledRule]) -> PolicyVersion {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    for rule in rules {
        let digested = Digested {
            conditions: rule.asked(),
            decide: Decide::of(&rule.decision).as_str(),
            hide: rule.hides,
            name: &rule.place.name,
            reason: rule.decision.ground().reason.as_deref(),
            terms: match &rule.decision {
                Decision::Confirm(_, terms) => Some(digested_terms(terms)),
                Decision::Allow(_) | Decision::Deny(_) => None,
            },
            tool: rule.tool.text(),
        };
        hash.update(text(&digested));
        hash.update(b"\n");
    }
    let mut text = String::new();
    for byte in &hash.finalize()[..BYTES] {
        // Writing to memory does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    PolicyVersion::new(text)
}

impl CompiledRule {
    /// Which calls it is about, as text: equal for rules that ask the same.
    pub(super) fn asks(&self) -> String {
        format!("{}\0{}", self.tool.text(), text(&self.asked()))
    }

    fn asked(&self) -> BTreeMap<String, &Condition> {
        let part = |subject: &super::facts::Subject| format!("{} {subject}", subject.part());
        self.conditions.iter().map(|asked| (part(&asked.subject), &asked.condition)).collect()
    }
}

/// Nothing in a rule refuses to be written.
fn text(part: &impl Serialize) -> String {
    serde_json::to_string(part).unwrap_or_default()
}

fn digested_terms(terms: &Terms) -> Value {
    let approvers: Vec<&str> = terms.approvers.iter().map(|role| &**role).collect();
    let mut digested = json!({ "approvers": approvers, "quorum": terms.quorum.to_string() });
    if let Some(ms) = terms.expires_in_ms {
        digested["expires_in_ms"] = ms.to_string().into();
    }
    if terms.four_eyes == FourEyes::On {
        digested["four_eyes"] = true.into();
    }
    digested
}
