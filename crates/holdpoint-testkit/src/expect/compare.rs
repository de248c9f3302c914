//! Finds the first difference between what must be seen and what was seen. A table compares only the keys it has, a list
//! its whole length unless it ends in `...`.

use std::collections::BTreeMap;

use holdpoint_config::{Named, TableOr, Variants};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Check, ContinuationKey, Counts, Expect, Items, MessageKey};
use crate::observed::Observed;

/// The item that leaves the end of a list open.
const OPEN_END: &str = "...";

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
    pub(crate) fn new(path: impl Into<String>, expected: impl Serialize, seen: impl Serialize) -> Self {
        Self { path: path.into(), expected: json!(expected), seen: json!(seen) }
    }
}

impl Expect {
    /// The first difference in the order of the file. An error that is not expected comes before all others.
    pub(crate) fn compare(&self, seen: &Observed) -> Option<Difference> {
        let Expect(Variants(checks)) = self;
        let expects_error = checks.iter().any(|check| matches!(check, Check::Error(_)));
        if let (Some(error), false) = (&seen.error, expects_error) {
            return Some(Difference::new("error", Value::Null, error.to_string()));
        }
        checks.iter().find_map(|check| check.compare(seen))
    }
}

impl Check {
    fn compare(&self, seen: &Observed) -> Option<Difference> {
        match self {
            Check::StopReason(wanted) => plain(wanted, &seen.stop_reason, "stop_reason"),
            Check::Text(wanted) => text_differs(wanted.as_deref(), seen.text.as_deref(), "text"),
            Check::Turns(wanted) => plain(wanted, seen.turns, "turns"),
            Check::RunIdSame(wanted) => plain(wanted, seen.run_id_same, "run_id_same"),
            Check::Error(wanted) => {
                let error = seen.error.as_ref().or(seen.lost.as_ref());
                let same = wanted.as_deref() == error.map(|error| &*error.code);
                (!same).then(|| Difference::new("error", wanted, error.map(ToString::to_string)))
            }
            Check::Status(wanted) => plain(wanted, &seen.status, "status"),
            Check::ModelCalls(wanted) => plain(wanted, seen.model_calls, "model_calls"),
            Check::Executed(TableOr::Other(wanted)) => names_differ(wanted, &seen.executed, "executed"),
            Check::Executed(TableOr::Table(wanted)) => counts_differ(wanted, &counted(&seen.executed), "executed"),
            Check::InFlightMax(TableOr::Other(wanted)) => plain(wanted, seen.in_flight_max, "in_flight_max"),
            Check::InFlightMax(TableOr::Table(wanted)) => {
                counts_differ(wanted, &seen.in_flight_max_of, "in_flight_max")
            }
            Check::Pending(wanted) => plain(pattern(wanted), &seen.pending, "pending"),
            Check::Messages(wanted) => messages_differ(wanted, &seen.messages, "messages"),
            Check::ModelSaw(wanted) => messages_differ(wanted, &seen.model_saw, "model_saw"),
            Check::ModelTools(wanted) => names_differ(wanted, &seen.model_tools, "model_tools"),
            Check::Usage(wanted) => plain(object(wanted), &seen.usage, "usage"),
            Check::Records(wanted) => plain(pattern(wanted), &seen.records, "records"),
            Check::Won(wanted) => plain(wanted, seen.won, "won"),
            Check::Events(wanted) => subsequence_differs(wanted, &seen.events),
            Check::EventsNot(names) => {
                unwanted(names, "events_not", |name| seen.events.iter().any(|seen| seen == name))
            }
            Check::EventCounts(wanted) => counts_differ(wanted, &counted(&seen.events), "event_counts"),
            Check::Logged(texts) => missing(texts, &seen.log),
            Check::NotLogged(texts) => unwanted(texts, "not_logged", |text| seen.log.contains(text)),
            Check::Saved(_) | Check::Absent(_) | Check::BytesMax(_) => self.compare_saved(seen),
            Check::Continuation(Variants(keys)) => keys.iter().find_map(|key| key.compare(seen)),
        }
    }

    fn compare_saved(&self, seen: &Observed) -> Option<Difference> {
        let text = seen.payload.as_deref().unwrap_or("null");
        let payload: Value = serde_json::from_str(text).unwrap_or_default();
        match self {
            Check::Saved(values) => values.iter().find_map(|(pointer, wanted)| {
                let path = format!("saved.{}", pointer.0);
                match payload.pointer(&pointer.0) {
                    Some(seen) => differs(&wanted.0, seen, &path),
                    None => Some(Difference::new(path, wanted, "absent")),
                }
            }),
            Check::Absent(pointers) => {
                let pointers: Vec<String> = pointers.iter().map(|pointer| pointer.0.clone()).collect();
                unwanted(&pointers, "absent", |pointer| payload.pointer(pointer).is_some())
            }
            Check::BytesMax(most) => at_most(*most, text.len() as u64, "bytes_max"),
            _ => None,
        }
    }
}

impl ContinuationKey {
    fn compare(&self, seen: &Observed) -> Option<Difference> {
        let seen = &seen.continuation;
        match self {
            ContinuationKey::New(wanted) => plain(wanted, seen.new, "continuation.new"),
            ContinuationKey::Parent(wanted) => {
                let named = wanted.as_ref().and_then(|name| seen.saved.get(name));
                (named != seen.parent.as_ref())
                    .then(|| Difference::new("continuation.parent", [wanted.as_ref(), named], &seen.parent))
            }
        }
    }
}

/// A table of wanted keys as one object.
fn object<K: Serialize>(Variants(keys): &Variants<K>) -> Value {
    let mut object = serde_json::Map::new();
    for key in keys {
        // Each is an object with one member.
        if let Value::Object(member) = json!(key) {
            object.extend(member);
        }
    }
    Value::Object(object)
}

fn pattern<K: Serialize>(items: &Items<K>) -> Value {
    let item = |item: &TableOr<Variants<K>, _>| match item {
        TableOr::Table(keys) => object(keys),
        TableOr::Other(_) => json!(OPEN_END),
    };
    Value::Array(items.iter().map(item).collect())
}

fn plain(wanted: impl Serialize, seen: impl Serialize, path: &str) -> Option<Difference> {
    differs(&json!(wanted), &json!(seen), path)
}

/// The first difference, if there is one.
fn differs(wanted: &Value, seen: &Value, path: &str) -> Option<Difference> {
    match (wanted, seen) {
        (Value::Object(wanted), Value::Object(seen)) => wanted.iter().find_map(|(key, wanted)| {
            let seen = seen.get(key).unwrap_or(&Value::Null);
            differs(wanted, seen, &format!("{path}.{key}"))
        }),
        (Value::Array(items), Value::Array(seen_items)) => {
            let (items, open) = match items.split_last() {
                Some((last, items)) if last == OPEN_END => (items, true),
                _ => (items.as_slice(), false),
            };
            let mut pairs = items.iter().zip(seen_items).enumerate();
            let first = pairs.find_map(|(index, (wanted, seen))| differs(wanted, seen, &format!("{path}[{index}]")));
            let fits = if open { seen_items.len() >= items.len() } else { seen_items.len() == items.len() };
            first.or_else(|| (!fits).then(|| Difference::new(path, wanted, seen)))
        }
        // `1` and `1.0` are the same number.
        (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() && !both_whole(one, other) => None,
        _ => (wanted != seen).then(|| Difference::new(path, wanted, seen)),
    }
}

fn both_whole(one: &serde_json::Number, other: &serde_json::Number) -> bool {
    !one.is_f64() && !other.is_f64()
}

/// `null` means no text, and so does an empty one.
fn text_differs(wanted: Option<&str>, seen: Option<&str>, path: &str) -> Option<Difference> {
    let same = wanted.unwrap_or_default() == seen.unwrap_or_default();
    (!same).then(|| Difference::new(path, wanted, seen))
}

fn counted(names: &[String]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.clone()).or_insert(0) += 1;
    }
    counts
}

fn counts_differ(Named(wanted): &Counts, counts: &BTreeMap<String, u64>, path: &str) -> Option<Difference> {
    wanted.iter().find_map(|(name, wanted)| {
        let seen = counts.get(name).copied().unwrap_or(0);
        (*wanted != seen).then(|| Difference::new(format!("{path}.{name}"), wanted, seen))
    })
}

/// Names are told as a whole: one more or less moves all that follow.
fn names_differ(wanted: &[String], seen: &[String], path: &str) -> Option<Difference> {
    plain(wanted, seen, path).map(|_| Difference::new(path, wanted, seen))
}

fn messages_differ(wanted: &Items<MessageKey>, seen: &[Value], path: &str) -> Option<Difference> {
    let tables = wanted.iter().filter_map(|item| match item {
        TableOr::Table(Variants(keys)) => Some(keys),
        TableOr::Other(_) => None,
    });
    let mut pairs = tables.zip(seen).enumerate();
    let first = pairs
        .find_map(|(index, (keys, seen))| keys.iter().find_map(|key| key.compare(seen, &format!("{path}[{index}]"))));
    first.or_else(|| {
        // Only the length is left to compare.
        let any = wanted.iter().map(|item| matches!(item, TableOr::Table(_)).then(|| json!({})));
        let any: Vec<Value> = any.map(|item| item.unwrap_or_else(|| json!(OPEN_END))).collect();
        plain(any, seen, path).map(|_| Difference::new(path, pattern(wanted), seen))
    })
}

impl MessageKey {
    fn compare(&self, seen: &Value, path: &str) -> Option<Difference> {
        let text = seen["text"].as_str().unwrap_or_default();
        let unless = |fits: bool, key: &str, wanted: &str| {
            (!fits).then(|| Difference::new(format!("{path}.{key}"), wanted, text))
        };
        match self {
            MessageKey::Text(wanted) => text_differs(wanted.as_deref(), Some(text), &format!("{path}.text")),
            MessageKey::Contains(part) => unless(text.contains(part), "contains", part),
            MessageKey::Matches(pattern) => unless(pattern.0.is_match(text), "matches", pattern.0.as_str()),
            MessageKey::BytesMax(most) => {
                at_most(*most, seen["bytes"].as_u64().unwrap_or_default(), &format!("{path}.bytes_max"))
            }
            MessageKey::Calls(wanted) => plain(wanted, &seen["calls"], path)
                .map(|_| Difference::new(format!("{path}.calls"), wanted, &seen["calls"])),
            MessageKey::Role(_) | MessageKey::Call(_) | MessageKey::Error(_) => differs(&json!(self), seen, path),
        }
    }
}

fn at_most(most: u64, seen: u64, path: &str) -> Option<Difference> {
    (seen > most).then(|| Difference::new(path, most, seen))
}

/// The wanted names in this order, with any others between them.
fn subsequence_differs(wanted: &[String], seen: &[String]) -> Option<Difference> {
    let mut rest = seen.iter();
    let names = wanted.strip_suffix(&[OPEN_END.to_owned()]).unwrap_or(wanted);
    let complete = names.iter().all(|name| rest.any(|seen| seen == name));
    (!complete).then(|| Difference::new("events", wanted, seen))
}

fn unwanted(texts: &[String], path: &str, occurs: impl Fn(&str) -> bool) -> Option<Difference> {
    let (index, text) = texts.iter().enumerate().find(|(_, text)| occurs(text))?;
    Some(Difference::new(format!("{path}[{index}]"), Value::Null, text))
}

fn missing(texts: &[String], log: &str) -> Option<Difference> {
    let (index, text) = texts.iter().enumerate().find(|(_, text)| !log.contains(text.as_str()))?;
    Some(Difference::new(format!("logged[{index}]"), text, Value::Null))
}
