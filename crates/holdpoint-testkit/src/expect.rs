//! What must be seen after a step, and the first thing that is not.

use crate::reader::{At, Read};
use crate::scenario::pointer;
use crate::yaml::{Node, NodeValue};

mod compare;
mod pattern;

pub use compare::Difference;

/// What must be seen after a step, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    checks: Vec<Check>,
}

/// One key of `expect`.
#[derive(Clone, Debug)]
struct Check {
    key: String,
    wanted: Node,
}

impl Expect {
    /// The name against which the parent of a continuation is compared.
    pub(crate) fn parent(&self) -> Option<&str> {
        let wanted = self.wanted("continuation")?;
        let NodeValue::Map(entries) = &wanted.value else { return None };
        let parent = entries.iter().find(|(key, _)| key.text == "parent")?;
        match &parent.1.value {
            NodeValue::Text(name) | NodeValue::Number(name) => Some(name),
            _ => None,
        }
    }

    /// Whether there is a word about this.
    pub(crate) fn mentions(&self, key: &str) -> bool {
        self.wanted(key).is_some()
    }

    fn wanted(&self, key: &str) -> Option<&Node> {
        self.checks.iter().find(|check| check.key == key).map(|check| &check.wanted)
    }
}

/// The shape that a key of `expect` must have.
type Shape = fn(&At<'_>) -> Read<()>;

const KEYS: [(&str, Shape); 25] = [
    ("stop_reason", text),
    ("text", text_or_nothing),
    ("turns", whole),
    ("run_id_same", flag),
    ("error", text_or_nothing),
    ("status", text),
    ("model_calls", whole),
    ("executed", names_or_counts),
    ("in_flight_max", whole_or_counts),
    ("pending", pending),
    ("messages", messages),
    ("model_saw", messages),
    ("model_tools", texts),
    ("usage", usage),
    ("records", records),
    ("events", texts),
    ("events_not", texts),
    ("event_counts", counts),
    ("logged", texts),
    ("not_logged", texts),
    ("saved", saved),
    ("absent", pointers),
    ("bytes_max", whole),
    ("continuation", continuation),
    ("won", whole),
];

pub(crate) fn read(at: &At<'_>) -> Read<Expect> {
    let mut fields = at.fields_or_nothing()?;
    for (key, shape) in KEYS {
        fields.optional(key, shape)?;
    }
    fields.finish()?;
    let NodeValue::Map(entries) = &at.node.value else { return Ok(Expect::default()) };
    let checks = entries.iter().map(|(key, wanted)| Check { key: key.text.clone(), wanted: wanted.clone() });
    Ok(Expect { checks: checks.collect() })
}

fn text(at: &At<'_>) -> Read<()> {
    at.text().map(drop)
}

fn text_or_nothing(at: &At<'_>) -> Read<()> {
    at.text_or_nothing().map(drop)
}

fn whole(at: &At<'_>) -> Read<()> {
    at.whole().map(drop)
}

fn flag(at: &At<'_>) -> Read<()> {
    at.flag().map(drop)
}

fn texts(at: &At<'_>) -> Read<()> {
    at.texts().map(drop)
}

fn counts(at: &At<'_>) -> Read<()> {
    at.entries()?.iter().try_for_each(|(_, count)| whole(count))
}

fn names_or_counts(at: &At<'_>) -> Read<()> {
    match at.node.value {
        NodeValue::Map(_) => counts(at),
        _ => texts(at),
    }
}

fn whole_or_counts(at: &At<'_>) -> Read<()> {
    match at.node.value {
        NodeValue::Map(_) => counts(at),
        _ => whole(at),
    }
}

/// A list of maps, perhaps with an open end.
fn maps(at: &At<'_>, keys: &[(&'static str, Shape)]) -> Read<()> {
    let items = at.list()?;
    let open_end = items.last().is_some_and(|last| pattern::is_open_end(last.node));
    for item in &items[..items.len() - usize::from(open_end)] {
        let mut fields = item.fields()?;
        for (key, shape) in keys {
            fields.optional(key, shape)?;
        }
        fields.finish()?;
    }
    Ok(())
}

fn anything(_: &At<'_>) -> Read<()> {
    Ok(())
}

fn pending(at: &At<'_>) -> Read<()> {
    maps(
        at,
        &[
            ("id", text),
            ("name", text),
            ("tool", text_or_nothing),
            ("reason", text_or_nothing),
            ("arguments", anything),
            ("roles", texts),
            ("uncertain", flag),
        ],
    )
}

fn messages(at: &At<'_>) -> Read<()> {
    maps(
        at,
        &[
            ("role", role),
            ("text", text_or_nothing),
            ("contains", text),
            ("matches", regular_expression),
            ("call", text),
            ("error", flag),
            ("calls", texts),
            ("bytes_max", whole),
        ],
    )
}

fn role(at: &At<'_>) -> Read<()> {
    at.word(&[("system", ()), ("user", ()), ("assistant", ()), ("tool", ())])
}

fn regular_expression(at: &At<'_>) -> Read<()> {
    let text = at.text()?;
    let problem = |error| at.problem(format!("`{text}` is not a regular expression: {error}"));
    regex::Regex::new(&text).map(drop).map_err(problem)
}

fn usage(at: &At<'_>) -> Read<()> {
    let mut fields = at.fields()?;
    for key in ["input", "output", "total"] {
        fields.optional(key, whole)?;
    }
    fields.finish()
}

fn records(at: &At<'_>) -> Read<()> {
    maps(
        at,
        &[
            ("id", text),
            ("turn", whole),
            ("name", text),
            ("tool", text_or_nothing),
            ("outcome", text),
            ("error", text_or_nothing),
            ("source", text_or_nothing),
        ],
    )
}

fn saved(at: &At<'_>) -> Read<()> {
    for (key, at) in at.entries()? {
        if !key.text.is_empty() && !key.text.starts_with('/') {
            return Err(at.problem("a JSON pointer begins with `/`"));
        }
    }
    Ok(())
}

fn pointers(at: &At<'_>) -> Read<()> {
    at.list()?.iter().try_for_each(|at| pointer(at).map(drop))
}

fn continuation(at: &At<'_>) -> Read<()> {
    let mut fields = at.fields()?;
    fields.optional("new", flag)?;
    fields.optional("parent", text_or_nothing)?;
    fields.finish()
}

#[cfg(test)]
mod tests;
