//! Scopes, and the words of a setting that is refused.

use super::*;

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition::new(name, "", serde_json::json!({}))
}

fn covered(tool: Option<&str>) -> Vec<&'static str> {
    let scope = Scope::parse("cache", tool).unwrap();
    ["pay", "refund", "refund_all"].into_iter().filter(|name| scope.covers(&definition(name))).collect()
}

#[test]
fn a_scope_is_every_tool_one_name_or_a_pattern() {
    assert_eq!(covered(None), ["pay", "refund", "refund_all"]);
    assert_eq!(covered(Some("refund")), ["refund"]);
    assert_eq!(covered(Some("refund*")), ["refund", "refund_all"]);
    assert_eq!(covered(Some("nothing")), [""; 0]);
}

#[test]
fn a_scope_that_cannot_match_is_refused_by_name() {
    for tool in ["", "refund["] {
        let error = Scope::parse("cache", Some(tool)).unwrap_err();
        assert_eq!((error.hook, error.field, error.code()), ("cache", "tool", Code::InvalidConfig));
    }
}

#[test]
fn the_error_names_the_hook_and_the_field() {
    let error = above_zero("rate_limit", "per_second", 0).unwrap_err();
    assert_eq!(error.to_string(), "the hook `rate_limit` cannot be built: `per_second` must be above 0");
    assert!(above_zero("rate_limit", "per_second", 1).is_ok());
}

#[test]
fn the_time_of_the_machine_does_not_stand_at_the_beginning() {
    assert!(system_time()() > Timestamp(0));
}
