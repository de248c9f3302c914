//! Changes a JSON text at a pointer and leaves every other byte of it alone.

use holdpoint_config::Named;
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
    if let Ok(Named(entries)) = serde_json::from_str::<Named<&RawValue>>(text) {
        let entries = entries.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect();
        return changed_object(entries, token, rest, change).map(Some);
    }
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        return changed_array(&items, token, rest, change).map(Some);
    }
    Err(format!("nothing is below `{token}`"))
}

fn changed_object(
    mut entries: Vec<(String, String)>,
    token: &str,
    rest: &[String],
    change: Change<'_>,
) -> Result<String, String> {
    match entries.iter().position(|(key, _)| key == token) {
        Some(position) => match changed(&entries[position].1, rest, change)? {
            Some(value) => entries[position].1 = value,
            None => drop(entries.remove(position)),
        },
        None => match (change, rest) {
            (Change::Set(value), []) => entries.push((token.to_owned(), value.to_owned())),
            _ => return Err(format!("there is no `{token}`")),
        },
    }
    let quoted = |key: &String| serde_json::Value::String(key.clone()).to_string();
    let written: Vec<String> = entries.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    Ok(format!("{{{}}}", written.join(",")))
}

fn changed_array(items: &[&RawValue], token: &str, rest: &[String], change: Change<'_>) -> Result<String, String> {
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
