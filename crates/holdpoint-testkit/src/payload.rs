//! Changes a JSON text at a pointer and leaves every other byte of it alone.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What happens at the pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'c> {
    /// This JSON text takes the place of what is there, or is added.
    Set(&'c str),
    /// What is there goes.
    Remove,
}

/// The changed text, or why the pointer leads nowhere.
pub(crate) fn edited(text: &str, pointer: &str, change: Change<'_>) -> Result<String, String> {
    let tokens: Vec<String> = pointer.split('/').skip(1).map(unescaped).collect();
    changed(text, &tokens, change)?.ok_or_else(|| "the whole payload cannot be removed".to_owned())
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// `None` when nothing is left.
fn changed(text: &str, tokens: &[String], change: Change<'_>) -> Result<Option<String>, String> {
    let Some((token, rest)) = tokens.split_first() else {
        return Ok(match change {
            Change::Set(value) => Some(value.to_owned()),
            Change::Remove => None,
        });
    };
    if let Ok(Entries(entries)) = serde_json::from_str(text) {
        return changed_object(entries, (token, rest), change).map(Some);
    }
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        return changed_array(&items, (token, rest), change).map(Some);
    }
    Err(format!("nothing is below `{token}`"))
}

type Step<'t> = (&'t String, &'t [String]);

fn changed_object(
    mut entries: Vec<(String, String)>,
    (token, rest): Step<'_>,
    change: Change<'_>,
) -> Result<String, String> {
    match entries.iter().position(|(key, _)| key == token) {
        Some(position) => match changed(&entries[position].1, rest, change)? {
            Some(value) => entries[position].1 = value,
            None => drop(entries.remove(position)),
        },
        None => match (change, rest) {
            (Change::Set(value), []) => entries.push((token.clone(), value.to_owned())),
            _ => return Err(format!("there is no `{token}`")),
        },
    }
    let quoted = |key: &String| serde_json::Value::String(key.clone()).to_string();
    let written: Vec<String> = entries.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    Ok(format!("{{{}}}", written.join(",")))
}

fn changed_array(items: &[&RawValue], (token, rest): Step<'_>, change: Change<'_>) -> Result<String, String> {
    let mut items: Vec<String> = items.iter().map(|item| item.get().to_owned()).collect();
    let position =
        if token == "-" { items.len() } else { token.parse().map_err(|_| format!("`{token}` is no index"))? };
    match items.get(position) {
        Some(item) => match changed(item, rest, change)? {
            Some(value) => items[position] = value,
            None => drop(items.remove(position)),
        },
        None => match (change, rest) {
            (Change::Set(value), []) if position == items.len() => items.push(value.to_owned()),
            _ => return Err(format!("there is no item `{token}`")),
        },
    }
    Ok(format!("[{}]", items.join(",")))
}

/// The entries of an object in their order, values as raw text.
struct Entries(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    entries.push((key, value.get().to_owned()));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"b":12345678901234567890123,"a":[1.0,{"c/d":null}]}"#;

    #[test]
    fn everything_else_stays_as_it_was() {
        let edited = edited(TEXT, "/a/1/c~1d", Change::Set("7"));
        assert_eq!(edited.as_deref(), Ok(r#"{"b":12345678901234567890123,"a":[1.0,{"c/d":7}]}"#));
    }

    #[test]
    fn keys_and_items_are_added_and_removed() {
        assert_eq!(edited("{}", "/x", Change::Set("[]")).as_deref(), Ok(r#"{"x":[]}"#));
        assert_eq!(edited("[1]", "/-", Change::Set("2")).as_deref(), Ok("[1,2]"));
        assert_eq!(
            edited(TEXT, "/a/0", Change::Remove).as_deref(),
            Ok(r#"{"b":12345678901234567890123,"a":[{"c/d":null}]}"#)
        );
        assert_eq!(edited(TEXT, "/b", Change::Remove).as_deref(), Ok(r#"{"a":[1.0,{"c/d":null}]}"#));
        assert_eq!(edited(TEXT, "", Change::Set("[]")).as_deref(), Ok("[]"));
    }

    #[test]
    fn a_pointer_that_leads_nowhere_is_named() {
        assert!(edited(TEXT, "/x/y", Change::Set("1")).is_err());
        assert!(edited(TEXT, "/b/0", Change::Set("1")).is_err());
        assert!(edited(TEXT, "/a/9", Change::Remove).is_err());
        assert!(edited(TEXT, "", Change::Remove).is_err());
    }
}
