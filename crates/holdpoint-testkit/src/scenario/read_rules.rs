//! The policy of a scenario. Its keys, types and meaning are those of `policy.toml`, and the policy crate reads them.

use holdpoint_policy::{KeyAt, Outline, RuleSpec, UnknownKey, check_rule_keys};
use serde::Deserialize as _;

use super::{PolicySpec, RuleEntry};
use crate::error::Problem;
use crate::reader::{At, Read};
use crate::yaml::{Misfit, Node, NodeValue, Reading};

pub(super) fn policy(at: &At<'_>) -> Read<PolicySpec> {
    match &at.node.value {
        NodeValue::Text(word) if word == "none" => Ok(PolicySpec::None),
        NodeValue::Text(word) if word == "broken" => Ok(PolicySpec::Broken),
        NodeValue::List(_) => at.list()?.iter().map(rule).collect::<Read<_>>().map(PolicySpec::Rules),
        _ => Err(at.problem(format!("expected a list of rules, `none` or `broken`, found {}", at.node.kind()))),
    }
}

fn rule(at: &At<'_>) -> Read<RuleEntry> {
    check_rule_keys(at.node).map_err(|unknown| unknown_key(at, &unknown))?;
    let rule = RuleSpec::deserialize(Reading(at.node)).map_err(|misfit| misfitting(at, misfit))?;
    Ok(RuleEntry { line: at.node.line, path: at.path.clone(), rule })
}

fn unknown_key(at: &At<'_>, unknown: &UnknownKey) -> Problem {
    let mut message = format!("unknown key `{}`", unknown.key);
    if let Some(near) = unknown.nearest {
        message.push_str(&format!("; hint: did you mean `{near}`?"));
    }
    Problem::new(unknown.line as u64, format!("{}.{}", at.path, unknown.path), message)
}

fn misfitting(at: &At<'_>, Misfit { place, message }: Misfit) -> Problem {
    match place {
        Some((line, path)) => Problem::new(line, format!("{}.{path}", at.path), message),
        None => at.problem(message),
    }
}

impl<'n> Outline<'n> for &'n Node {
    fn entries(self) -> Vec<(KeyAt<'n>, Self)> {
        let line = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        match &self.value {
            NodeValue::Map(entries) => entries
                .iter()
                .map(|(key, value)| (KeyAt { text: key.text.as_str(), line: line(key.line) }, value))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn items(self) -> Vec<Self> {
        match &self.value {
            NodeValue::List(items) => items.iter().collect(),
            _ => Vec::new(),
        }
    }
}
