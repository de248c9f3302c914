use serde_json::json;

use super::*;

fn keys(names: &[&str]) -> BTreeSet<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

#[test]
fn only_listed_attributes_are_stored_and_absent_ones_are_skipped() {
    let context = Context::new().with("user_id", 7).with("api_key", "k-secret").with("tags", json!(["a", {"b": 1.5}]));
    let stored = context.stored(&keys(&["user_id", "tags", "missing"])).unwrap();
    let names: Vec<&str> = stored.keys().map(|name| &**name).collect();
    assert_eq!(names, ["tags", "user_id"]);
    let again = Context::from_stored(&stored);
    assert_eq!(again.attribute("user_id"), Some(&json!(7)));
    assert_eq!(again.attribute("tags"), Some(&json!(["a", {"b": 1.5}])));
    assert!(Context::new().with("a", 1).stored(&keys(&[])).unwrap().is_empty());
}

#[test]
fn a_value_above_200_bytes_is_refused_and_never_cut() {
    let fits = "x".repeat(198);
    assert!(Context::new().with("note", fits.clone()).stored(&keys(&["note"])).is_ok());
    let error = Context::new().with("note", fits + "x").stored(&keys(&["note"])).unwrap_err();
    assert_eq!(error.code().as_str(), "context_value_too_large");
    assert!(error.to_string().contains("`note`"));
    assert!(!error.to_string().contains("xxx"));
}

#[test]
fn what_is_given_replaces_what_was_stored_of_the_same_name_and_the_rest_stays() {
    let actor = Actor { id: Some("ana".into()), ..Actor::default() };
    let before = Context::new().with("a", 1).with("b", 2).with_run_id("r".into()).by(actor.clone());
    let after = before.merged(&Context::new().with("b", 3));
    assert_eq!((after.attribute("a"), after.attribute("b")), (Some(&json!(1)), Some(&json!(3))));
    assert_eq!((after.run_id().map(RunId::as_str), after.actor()), (Some("r"), &actor));
}

#[test]
fn debug_shows_only_names() {
    let context = Context::new().with("api_key", "hunter2");
    let shown = format!("{context:?}");
    assert!(shown.contains("api_key") && !shown.contains("hunter2"), "{shown}");
}
