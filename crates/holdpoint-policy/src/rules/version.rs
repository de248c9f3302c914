//! Which rules these are: a digest of everything that makes them decide, in a form that does not depend on spelling.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holdpoint_core::{Decision, FourEyes, Terms};
use sha2::{Digest as _, Sha256};

use super::compiled::{Asked, CompiledRule};
use super::{Decide, Literal};
use crate::PolicyVersion;

/// Enough that nobody finds other rules with the same one.
const BYTES: usize = 16;

/// Changes when the same rules would be read in another way.
const DOMAIN: &[u8] = b"holdpoint.rules.1\0";

pub(super) fn of(rules: &[CompiledRule]) -> PolicyVersion {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    for rule in rules {
        hash.update(rule.to_literal().to_json());
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
        format!("{}\0{}", self.tool.text(), self.conditions_literal().to_json())
    }

    fn conditions_literal(&self) -> Literal {
        let mut parts = BTreeMap::<String, Literal>::new();
        for Asked { subject, condition, .. } in &self.conditions {
            let tests = condition.tests.iter().map(|test| (test.operator.to_owned(), test.operand.plain()));
            parts.insert(format!("{} {subject}", subject.part()), Literal::Map(tests.collect()));
        }
        Literal::Map(parts)
    }

    fn to_literal(&self) -> Literal {
        let text = |text: &str| Literal::Text(text.to_owned());
        let mut parts = BTreeMap::from([
            ("tool", text(self.tool.text())),
            ("name", text(&self.name)),
            ("conditions", self.conditions_literal()),
            ("decide", text(Decide::of(&self.decision).as_str())),
            ("hide", Literal::Bool(self.hides)),
        ]);
        if let Some(reason) = &self.decision.ground().reason {
            parts.insert("reason", text(reason));
        }
        if let Decision::Confirm(_, terms) = &self.decision {
            parts.insert("terms", terms_literal(terms));
        }
        Literal::Map(parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

fn terms_literal(terms: &Terms) -> Literal {
    let text = |text: String| Literal::Text(text);
    let mut parts = BTreeMap::from([
        ("approvers".to_owned(), Literal::List(terms.approvers.iter().map(|role| text(role.to_string())).collect())),
        ("quorum".to_owned(), text(terms.quorum.to_string())),
    ]);
    if let Some(ms) = terms.expires_in_ms {
        parts.insert("expires_in_ms".to_owned(), text(ms.to_string()));
    }
    if terms.four_eyes == FourEyes::On {
        parts.insert("four_eyes".to_owned(), Literal::Bool(true));
    }
    Literal::Map(parts)
}
