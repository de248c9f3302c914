//! Names, definitions and resolution.

use holdpoint_core::{Code, RequestedName};
use serde_json::json;

use super::*;
use crate::testing::arguments;
use crate::{raw_tool, tool};

fn registry(names: &[&str]) -> Registry {
    let mut registry = Registry::new();
    names.iter().for_each(|name| registry.register(tool(*name, "does it", async || ())).unwrap());
    registry
}

fn resolved<'a>(registry: &'a Registry, name: &str) -> Option<&'a str> {
    registry.resolve(&RequestedName::new(name)).map(|tool| tool.name().as_str())
}

#[test]
fn an_exact_name_is_found_first_and_dots_fall_back_to_underscores() {
    let registry = registry(&["shell_exec", "a.b", "a_b"]);
    assert_eq!(resolved(&registry, "shell_exec"), Some("shell_exec"));
    assert_eq!(resolved(&registry, "shell.exec"), Some("shell_exec"));
    assert_eq!(resolved(&registry, "a.b"), Some("a.b"));
    assert_eq!(resolved(&registry, "a_b"), Some("a_b"));
}

#[test]
fn what_is_not_registered_is_not_found() {
    let registry = registry(&["shell_exec", "a.b"]);
    for name in ["shell-exec", "Shell_exec", "shell", "", ".", "a_b", "shell.exec.now"] {
        assert_eq!(resolved(&registry, name), None, "{name}");
    }
}

#[test]
fn a_name_can_be_taken_once() {
    let mut registry = registry(&["a"]);
    let error = registry.register(tool("a", "", async || ())).unwrap_err();
    assert_eq!(error, RegistryError::DuplicateName { name: "a".into() });
    assert_eq!(error.to_string(), "a tool named `a` is registered already");
    assert_eq!(error.code(), Code::InvalidConfig);
    assert_eq!(registry.len(), 1);
}

#[test]
fn names_that_no_model_could_use_are_refused() {
    let mut registry = Registry::new();
    let long = "x".repeat(TOOL_NAME_BYTES_MAX + 1);
    for name in ["", "a b", "a\n", "a\u{200b}", "\u{202e}a", "a\u{0}", &long] {
        let error = registry.register(tool(name, "", async || ())).unwrap_err();
        assert!(matches!(error, RegistryError::UnusableName { .. }), "{name:?}");
        assert!(error.to_string().chars().all(|letter| !letter.is_control()), "{error}");
    }
    let longest = "x".repeat(TOOL_NAME_BYTES_MAX);
    for name in ["a", "files/read-me.now", "größe", &longest] {
        registry.register(tool(name, "", async || ())).unwrap();
    }
}

#[test]
fn a_schema_that_is_not_one_is_refused_with_the_name_of_the_tool() {
    let mut registry = Registry::new();
    let broken = raw_tool("pay", "", json!({ "type": "object", "required": 7 }), async |_| ());
    let error = registry.register(broken).unwrap_err();
    assert!(matches!(&error, RegistryError::InvalidSchema { name, .. } if name.as_str() == "pay"));
    assert!(error.to_string().contains("`pay`") && error.to_string().contains("/required"), "{error}");
    assert!(registry.is_empty());
}

#[test]
fn definitions_come_in_the_order_of_registration_and_in_three_forms() {
    let schema = json!({ "type": "object", "properties": { "x": { "type": "integer" } } });
    let mut registry = registry(&["z"]);
    registry.register(raw_tool("a", "does a", schema.clone(), async |_| ())).unwrap();
    let names: Vec<String> = registry.definitions().iter().map(|definition| definition.name.to_string()).collect();
    assert_eq!(names, ["z", "a"]);
    let generic = json!({ "name": "a", "description": "does a", "parameters": schema });
    assert_eq!(registry.definitions()[1].to_json(), generic);
    assert_eq!(registry.openai_definitions()[1], json!({ "type": "function", "function": generic }));
    let anthropic = json!({ "name": "a", "description": "does a", "input_schema": schema });
    assert_eq!(registry.anthropic_definitions()[1], anthropic);
}

#[test]
fn arguments_are_checked_against_the_schema_of_the_tool() {
    let mut registry = Registry::new();
    let schema = json!({ "type": "object", "properties": { "amount": { "type": "integer" } } });
    registry.register(raw_tool("pay", "", schema, async |_| ())).unwrap();
    let pay = registry.find("pay").unwrap();
    assert_eq!(pay.validate(&arguments("pay", r#"{"amount": 7}"#)), Ok(()));
    let problems = pay.validate(&arguments("pay", r#"{"amount": "lots"}"#)).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].to_string(), "/amount: is not of type `integer`");
}

#[test]
fn a_clone_can_grow_without_the_other() {
    let first = registry(&["a"]);
    let mut second = first.clone();
    second.register(tool("b", "", async || ())).unwrap();
    assert_eq!((first.len(), second.len()), (1, 2));
}
