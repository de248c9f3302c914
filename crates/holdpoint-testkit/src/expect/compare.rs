//! Finds the first difference between what must be seen and what was seen.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::pattern::{differs, items};
use super::{Check, Expect};
use crate::observed::{Observed, SeenMessage};
use crate::yaml::{Node, NodeValue};

/// The first thing that was not as expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where, inside `expect`.
    pub path: String,
    /// What was expected.
    pub expected: Value,
    /// What was seen.
    pub seen: Value,
}

impl Difference {
    pub(crate) fn new(path: &str, expected: Value, seen: Value) -> Self {
        Self { path: path.to_owned(), expected, seen }
    }
}

impl Expect {
    /// The first difference in the order of the file. An error that is not expected comes before all others.
    pub fn compare(&self, seen: &Observed) -> Option<Difference> {
        if let (Some(error), false) = (&seen.error, self.mentions("error")) {
            let text = format!("{}: {}", error.code, error.message);
            return Some(Difference::new("error", Value::Null, Value::String(text)));
        }
        self.checks.iter().find_map(|check| check.compare(seen))
    }
}

impl Check {
    fn compare(&self, seen: &Observed) -> Option<Difference> {
        let (key, wanted) = (&*self.key, &self.wanted);
        match key {
            "stop_reason" => differs(wanted, &json!(seen.stop_reason), key),
            "text" => text_differs(wanted, seen.text.as_deref(), key),
            "turns" => differs(wanted, &json!(seen.turns), key),
            "run_id_same" => differs(wanted, &json!(seen.run_id_same), key),
            "error" => error_differs(wanted, seen),
            "status" => differs(wanted, &json!(seen.status), key),
            "model_calls" => differs(wanted, &json!(seen.model_calls), key),
            "executed" => names_differ(wanted, &seen.executed, key),
            "in_flight_max" => in_flight_differs(wanted, seen),
            "pending" => maps_differ(wanted, &seen.pending, key, |wanted, seen, path| {
                differs(&with_sorted_roles(wanted), &seen.view(), path)
            }),
            "messages" => messages_differ(wanted, &seen.messages, key),
            "model_saw" => messages_differ(wanted, &seen.model_saw, key),
            "model_tools" => names_differ(wanted, &seen.model_tools, key),
            "usage" => {
                let (input, output) = seen.usage;
                differs(wanted, &json!({"input": input, "output": output, "total": input + output}), key)
            }
            "records" => {
                maps_differ(wanted, &seen.records, key, |wanted, seen, path| differs(wanted, &seen.view(), path))
            }
            "events" => subsequence_differs(wanted, &seen.events, key),
            "events_not" => unwanted(wanted, key, |name| seen.events.iter().any(|event| event == name)),
            "event_counts" => counts_differ(wanted, &counted(&seen.events), key),
            "logged" => missing(wanted, key, |text| seen.log.contains(text)),
            "not_logged" => unwanted(wanted, key, |text| seen.log.contains(text)),
            "won" => differs(wanted, &json!(seen.won), key),
            _ => self.compare_saved(seen),
        }
    }

    fn compare_saved(&self, seen: &Observed) -> Option<Difference> {
        let (key, wanted) = (&*self.key, &self.wanted);
        let payload = seen.payload.as_deref().unwrap_or("null");
        match key {
            "bytes_max" => at_most(wanted, payload.len() as u64, key),
            "saved" => saved_differs(wanted, payload),
            "absent" => unwanted(wanted, key, |pointer| parsed(payload).pointer(pointer).is_some()),
            "continuation" => continuation_differs(wanted, seen),
            // `read` lets no other key through.
            _ => None,
        }
    }
}

/// `null` means no text, and so does an empty one.
fn text_differs(wanted: &Node, seen: Option<&str>, path: &str) -> Option<Difference> {
    let equal = match &wanted.value {
        NodeValue::Null => seen.is_none_or(str::is_empty),
        NodeValue::Text(wanted) | NodeValue::Number(wanted) => wanted == seen.unwrap_or_default(),
        NodeValue::Bool(wanted) => seen == Some(if *wanted { "true" } else { "false" }),
        NodeValue::List(_) | NodeValue::Map(_) => false,
    };
    (!equal).then(|| Difference::new(path, wanted.to_value(), json!(seen)))
}

fn error_differs(wanted: &Node, seen: &Observed) -> Option<Difference> {
    let error = seen.error.as_ref().or(seen.lost.as_ref());
    let code = error.map(|error| &*error.code);
    let equal = match &wanted.value {
        NodeValue::Null => code.is_none(),
        _ => text_of(wanted) == code,
    };
    let shown = error.map(|error| format!("{}: {}", error.code, error.message));
    (!equal).then(|| Difference::new("error", wanted.to_value(), json!(shown)))
}

fn text_of(node: &Node) -> Option<&str> {
    match &node.value {
        NodeValue::Text(text) | NodeValue::Number(text) => Some(text),
        NodeValue::Bool(true) => Some("true"),
        NodeValue::Bool(false) => Some("false"),
        NodeValue::Null | NodeValue::List(_) | NodeValue::Map(_) => None,
    }
}

fn whole_of(node: &Node) -> u64 {
    text_of(node).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn counted(names: &[String]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.clone()).or_insert(0) += 1;
    }
    counts
}

fn counts_differ(wanted: &Node, counts: &BTreeMap<String, u64>, path: &str) -> Option<Difference> {
    let NodeValue::Map(entries) = &wanted.value else { return None };
    entries.iter().find_map(|(name, wanted)| {
        let seen = counts.get(&name.text).copied().unwrap_or(0);
        (whole_of(wanted) != seen)
            .then(|| Difference::new(&format!("{path}.{}", name.text), wanted.to_value(), json!(seen)))
    })
}

/// A list of names, or a map of how often each occurs.
fn names_differ(wanted: &Node, seen: &[String], path: &str) -> Option<Difference> {
    if let NodeValue::Map(_) = wanted.value {
        return counts_differ(wanted, &counted(seen), path);
    }
    let (names, open) = items(wanted);
    let same = names.iter().zip(seen).all(|(wanted, seen)| text_of(wanted) == Some(seen));
    let fits = if open { seen.len() >= names.len() } else { seen.len() == names.len() };
    (!same || !fits).then(|| Difference::new(path, wanted.to_value(), json!(seen)))
}

fn in_flight_differs(wanted: &Node, seen: &Observed) -> Option<Difference> {
    match wanted.value {
        NodeValue::Map(_) => counts_differ(wanted, &seen.in_flight_max_of, "in_flight_max"),
        _ => differs(wanted, &json!(seen.in_flight_max), "in_flight_max"),
    }
}

/// Compares a list of maps item by item; `Viewed` makes what a difference in length shows.
fn maps_differ<T: Viewed>(
    wanted: &Node,
    seen: &[T],
    path: &str,
    item_differs: impl Fn(&Node, &T, &str) -> Option<Difference>,
) -> Option<Difference> {
    let (wanted_items, open) = items(wanted);
    let mut pairs = wanted_items.iter().zip(seen).enumerate();
    let first = pairs.find_map(|(index, (wanted, seen))| item_differs(wanted, seen, &format!("{path}[{index}]")));
    first.or_else(|| {
        let fits = if open { seen.len() >= wanted_items.len() } else { seen.len() == wanted_items.len() };
        let shown = || Value::Array(seen.iter().map(Viewed::shown).collect());
        (!fits).then(|| Difference::new(path, wanted.to_value(), shown()))
    })
}

/// What a report shows of an item.
trait Viewed {
    fn shown(&self) -> Value;
}

impl Viewed for crate::observed::SeenPending {
    fn shown(&self) -> Value {
        self.view()
    }
}

impl Viewed for crate::observed::SeenRecord {
    fn shown(&self) -> Value {
        self.view()
    }
}

impl Viewed for SeenMessage {
    fn shown(&self) -> Value {
        self.view()
    }
}

/// Roles are a set: their order says nothing.
fn with_sorted_roles(wanted: &Node) -> Node {
    let mut wanted = wanted.clone();
    if let NodeValue::Map(entries) = &mut wanted.value {
        for (_, value) in entries.iter_mut().filter(|(key, _)| key.text == "roles") {
            if let NodeValue::List(roles) = &mut value.value {
                roles.sort_by(|one, other| text_of(one).cmp(&text_of(other)));
            }
        }
    }
    wanted
}

fn messages_differ(wanted: &Node, seen: &[SeenMessage], path: &str) -> Option<Difference> {
    maps_differ(wanted, seen, path, |wanted, seen, path| {
        let NodeValue::Map(entries) = &wanted.value else { return None };
        entries
            .iter()
            .find_map(|(key, wanted)| message_differs(&key.text, wanted, seen, &format!("{path}.{}", key.text)))
    })
}

fn message_differs(key: &str, wanted: &Node, seen: &SeenMessage, path: &str) -> Option<Difference> {
    let fits = match key {
        "text" => return text_differs(wanted, Some(&seen.text), path),
        "contains" => text_of(wanted).is_some_and(|part| seen.text.contains(part)),
        "matches" => text_of(wanted)
            .and_then(|pattern| regex::Regex::new(pattern).ok())
            .is_some_and(|pattern| pattern.is_match(&seen.text)),
        "calls" => return names_differ(wanted, &seen.calls, path),
        "bytes_max" => return at_most(wanted, seen.bytes, path),
        "role" | "call" => {
            let seen = if key == "role" { Some(&*seen.role) } else { seen.call.as_deref() };
            return (text_of(wanted) != seen).then(|| Difference::new(path, wanted.to_value(), json!(seen)));
        }
        _ => return differs(wanted, &json!(seen.error), path),
    };
    (!fits).then(|| Difference::new(path, wanted.to_value(), json!(seen.text)))
}

fn at_most(wanted: &Node, seen: u64, path: &str) -> Option<Difference> {
    (seen > whole_of(wanted)).then(|| Difference::new(path, wanted.to_value(), json!(seen)))
}

/// The wanted names in this order, with any others between them.
fn subsequence_differs(wanted: &Node, seen: &[String], path: &str) -> Option<Difference> {
    let mut rest = seen.iter();
    let names = items(wanted).0;
    let complete = names.iter().all(|name| rest.any(|seen| text_of(name) == Some(seen)));
    (!complete).then(|| Difference::new(path, wanted.to_value(), json!(seen)))
}

fn unwanted(wanted: &Node, path: &str, occurs: impl Fn(&str) -> bool) -> Option<Difference> {
    let NodeValue::List(texts) = &wanted.value else { return None };
    texts.iter().enumerate().find_map(|(index, text)| {
        let found = text_of(text).is_some_and(&occurs);
        found.then(|| Difference::new(&format!("{path}[{index}]"), json!(null), text.to_value()))
    })
}

fn missing(wanted: &Node, path: &str, occurs: impl Fn(&str) -> bool) -> Option<Difference> {
    let NodeValue::List(texts) = &wanted.value else { return None };
    texts.iter().enumerate().find_map(|(index, text)| {
        let found = text_of(text).is_some_and(&occurs);
        (!found).then(|| Difference::new(&format!("{path}[{index}]"), text.to_value(), json!(null)))
    })
}

fn parsed(payload: &str) -> Value {
    serde_json::from_str(payload).unwrap_or(Value::Null)
}

fn saved_differs(wanted: &Node, payload: &str) -> Option<Difference> {
    let payload = parsed(payload);
    let NodeValue::Map(entries) = &wanted.value else { return None };
    entries.iter().find_map(|(pointer, wanted)| {
        let path = format!("saved.{}", pointer.text);
        match payload.pointer(&pointer.text) {
            Some(seen) => differs(wanted, seen, &path),
            None => Some(Difference::new(&path, wanted.to_value(), json!("absent"))),
        }
    })
}

fn continuation_differs(wanted: &Node, seen: &Observed) -> Option<Difference> {
    let NodeValue::Map(entries) = &wanted.value else { return None };
    let seen = &seen.continuation;
    entries.iter().find_map(|(key, wanted)| match &*key.text {
        "new" => differs(wanted, &json!(seen.new), "continuation.new"),
        _ => {
            let named = text_of(wanted).and_then(|name| seen.saved.get(name));
            (named != seen.parent.as_ref())
                .then(|| Difference::new("continuation.parent", json!([wanted.to_value(), named]), json!(seen.parent)))
        }
    })
}
