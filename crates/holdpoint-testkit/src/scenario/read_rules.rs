//! The policy of a scenario: its keys and types here, its meaning in the policy crate.

use super::{PolicySpec, RuleEntry};
use crate::reader::{At, Read};
use crate::yaml::NodeValue;

pub(super) fn policy(at: &At<'_>) -> Read<PolicySpec> {
    match &at.node.value {
        NodeValue::Text(word) if word == "none" => Ok(PolicySpec::None),
        NodeValue::Text(word) if word == "broken" => Ok(PolicySpec::Broken),
        NodeValue::List(_) => at.list()?.iter().map(rule).collect::<Read<_>>().map(PolicySpec::Rules),
        _ => Err(at.problem(format!("expected a list of rules, `none` or `broken`, found {}", at.node.kind()))),
    }
}

fn rule(at: &At<'_>) -> Read<RuleEntry> {
    let mut fields = at.fields()?;
    fields.required("tool", At::text)?;
    fields.optional("decide", |at| at.word(&[("allow", ()), ("deny", ()), ("confirm", ())]))?;
    fields.optional("reason", At::text)?;
    fields.optional("when", conditions)?;
    fields.optional("hide", At::flag)?;
    fields.optional("expires_in_ms", At::whole)?;
    fields.optional("expires_in", At::text)?;
    fields.optional("approvers", At::texts)?;
    fields.optional("quorum", At::whole_u32)?;
    fields.optional("example", At::list)?;
    fields.finish()?;
    Ok(RuleEntry { line: at.node.line, path: at.path.clone(), rule: at.node.to_value() })
}

/// Pointers with a literal or with a map of comparisons.
fn conditions(at: &At<'_>) -> Read<()> {
    for (_, condition) in at.entries()? {
        let NodeValue::Map(_) = condition.node.value else { continue };
        let mut fields = condition.fields()?;
        for comparison in ["gt", "gte", "lt", "lte", "eq", "ne"] {
            fields.take(comparison);
        }
        fields.optional("in", At::list)?;
        fields.optional("matches", At::text)?;
        fields.finish()?;
    }
    Ok(())
}
