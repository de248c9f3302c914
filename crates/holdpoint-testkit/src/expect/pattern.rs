//! Compares a value of the file with one that was seen: a map by the keys it has, a list by its whole length unless
//! it ends in `...`.

use serde_json::Value;

use super::Difference;
use crate::yaml::{Node, NodeValue};

/// Whether this is the `...` that leaves the end of a list open.
pub(super) fn is_open_end(node: &Node) -> bool {
    matches!(&node.value, NodeValue::Text(text) if text == "...")
}

/// The items of a list without its open end, and whether it has one.
pub(super) fn items(node: &Node) -> (&[Node], bool) {
    let NodeValue::List(items) = &node.value else { return (&[], false) };
    match items.split_last() {
        Some((last, items)) if is_open_end(last) => (items, true),
        _ => (items, false),
    }
}

/// The first difference, if there is one.
pub(super) fn differs(wanted: &Node, seen: &Value, path: &str) -> Option<Difference> {
    match (&wanted.value, seen) {
        (NodeValue::Map(entries), Value::Object(object)) => entries.iter().find_map(|(key, wanted)| {
            let seen = object.get(&key.text).unwrap_or(&Value::Null);
            differs(wanted, seen, &format!("{path}.{}", key.text))
        }),
        (NodeValue::List(_), Value::Array(seen)) => list_differs(wanted, seen, path),
        _ if scalar_equals(wanted, seen) => None,
        _ => Some(Difference::new(path, wanted.to_value(), seen.clone())),
    }
}

fn list_differs(wanted: &Node, seen: &[Value], path: &str) -> Option<Difference> {
    let (wanted_items, open) = items(wanted);
    let pairs = wanted_items.iter().zip(seen).enumerate();
    let mut differences =
        pairs.filter_map(|(index, (wanted, seen))| differs(wanted, seen, &format!("{path}[{index}]")));
    differences.next().or_else(|| {
        let fits = if open { seen.len() >= wanted_items.len() } else { seen.len() == wanted_items.len() };
        (!fits).then(|| Difference::new(path, wanted.to_value(), Value::Array(seen.to_vec())))
    })
}

fn scalar_equals(wanted: &Node, seen: &Value) -> bool {
    match (&wanted.value, seen) {
        (NodeValue::Null, Value::Null) => true,
        (NodeValue::Bool(wanted), Value::Bool(seen)) => wanted == seen,
        (NodeValue::Text(wanted), Value::String(seen)) => wanted == seen,
        (NodeValue::Number(wanted), Value::Number(seen)) => number_equals(wanted, &seen.to_string()),
        _ => false,
    }
}

/// Integers by all their digits, others by their value.
fn number_equals(wanted: &str, seen: &str) -> bool {
    if wanted == seen {
        return true;
    }
    match (wanted.parse::<i128>(), seen.parse::<i128>()) {
        (Ok(wanted), Ok(seen)) => wanted == seen,
        _ => matches!((wanted.parse::<f64>(), seen.parse::<f64>()), (Ok(wanted), Ok(seen)) if wanted == seen),
    }
}
