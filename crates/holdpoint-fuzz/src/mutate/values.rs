//! Edits of values inside a JSON document.

use serde_json::{Value, json};

use super::within;
use crate::{Edit, Kind};

/// How deep a value is wrapped at most; readers stop at 128 levels.
const DEPTH_MAX: usize = 200;

/// Carries out an edit, if the bytes are JSON.
pub(super) fn edit(bytes: &mut Vec<u8>, edit: Edit) {
    let Ok(mut document) = serde_json::from_slice::<Value>(bytes) else { return };
    let count = count(&document);
    let at = way_to(&document, within(edit.at, count));
    match edit.kind {
        Kind::RetypeValue => replace(&mut document, &at, |_| sample(edit.with)),
        Kind::NestValue => replace(&mut document, &at, |value| nest(value, within(edit.with, DEPTH_MAX))),
        Kind::CopyValue => {
            let from = way_to(&document, within(edit.with, count));
            let copy = at_end(&mut document, &from).cloned().unwrap_or_default();
            replace(&mut document, &at, |_| copy);
        }
        Kind::ExtendValue => replace(&mut document, &at, |value| extend(value, sample(edit.with))),
        _ => take_out(&mut document, &at),
    }
    if let Ok(text) = serde_json::to_vec(&document) {
        *bytes = text;
    }
}

fn sample(which: u32) -> Value {
    match which % 14 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(1.5),
        5 => json!(u64::MAX),
        6 => json!(i64::MIN),
        7 => json!(""),
        8 => json!("\u{0}\u{202e}é"),
        9 => json!([]),
        10 => json!({}),
        11 => json!([null, {"id": 1}]),
        12 => json!("x".repeat(300)),
        _ => json!({"schema_version": 2, "id": "", "kind": "unknown"}),
    }
}

fn nest(mut value: Value, depth: usize) -> Value {
    for level in 0..depth {
        value = if level % 2 == 0 { Value::Array(vec![value]) } else { json!({ "a": value }) };
    }
    value
}

fn extend(value: Value, with: Value) -> Value {
    match value {
        Value::Array(mut list) => {
            list.push(with);
            Value::Array(list)
        }
        Value::Object(mut map) => {
            map.insert("unknown_field".to_owned(), with);
            Value::Object(map)
        }
        other => Value::Array(vec![other, with]),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn count(value: &Value) -> usize {
    1 + children(value).into_iter().map(count).sum::<usize>()
}

/// The way to the nth value, counted from the document itself on: the place among its siblings at each level.
fn way_to(document: &Value, nth: usize) -> Vec<usize> {
    let mut way = Vec::new();
    let (mut node, mut left) = (document, nth);
    'levels: while left > 0 {
        left -= 1;
        for (index, child) in children(node).into_iter().enumerate() {
            let inside = count(child);
            if left < inside {
                way.push(index);
                node = child;
                continue 'levels;
            }
            left -= inside;
        }
        break;
    }
    way
}

fn at_end<'a>(document: &'a mut Value, way: &[usize]) -> Option<&'a mut Value> {
    way.iter().try_fold(document, |node, index| match node {
        Value::Array(list) => list.get_mut(*index),
        Value::Object(map) => map.values_mut().nth(*index),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

fn replace(document: &mut Value, way: &[usize], with: impl FnOnce(Value) -> Value) {
    if let Some(node) = at_end(document, way) {
        *node = with(node.take());
    }
}

fn take_out(document: &mut Value, way: &[usize]) {
    let Some((index, above)) = way.split_last() else { return };
    match at_end(document, above) {
        Some(Value::Array(list)) => {
            list.remove(*index);
        }
        Some(Value::Object(map)) => {
            let key = map.keys().nth(*index).cloned();
            key.map(|key| map.remove(&key));
        }
        _ => {}
    }
}
