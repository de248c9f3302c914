//! Derived schemas, validation, and words that hold no value.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::testing::arguments;

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Refund {
    /// Which order.
    order: String,
    amount: u32,
    share: Option<f64>,
    lines: Vec<Line>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Line {
    count: i8,
}

fn problems(schema: &Value, text: &str) -> Vec<String> {
    let schema = Schema::compile(&Arc::new(schema.clone())).expect("a schema");
    match schema.check(&arguments("t", text)) {
        Ok(()) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_derived_schema_has_no_noise_and_real_bounds() {
    let schema = schema_of::<Refund>();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["order", "amount", "lines"]));
    assert_eq!(schema["properties"]["order"], json!({ "type": "string", "description": "Which order." }));
    let amount = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    assert_eq!(schema["properties"]["amount"], amount);
    let text = schema.to_string();
    assert!(!text.contains("$schema") && !text.contains("uint32") && !text.contains("\"title\""), "{text}");
    assert_eq!(schema["$defs"]["Line"]["properties"]["count"]["minimum"], -128);
}

#[test]
fn a_type_that_takes_anything_still_takes_an_object() {
    assert_eq!(schema_of::<Value>(), json!({ "type": "object" }));
}

#[test]
fn a_property_named_format_is_left_alone() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Export {
        format: String,
    }
    assert_eq!(schema_of::<Export>()["properties"]["format"], json!({ "type": "string" }));
}

#[test]
fn arguments_that_fit_have_no_problem() {
    let text = r#"{"order": "1", "amount": 4294967295, "lines": [{"count": -1}]}"#;
    assert_eq!(problems(&schema_of::<Refund>(), text), [""; 0]);
}

#[test]
fn each_problem_is_named_with_its_path() {
    let text = r#"{"order": 7, "amount": 4294967296, "lines": [{"count": 1}, {}]}"#;
    let mut seen = problems(&schema_of::<Refund>(), text);
    seen.sort();
    let expected = [
        "/amount: is greater than 4294967295",
        "/lines/1: required property `count` is missing",
        "/order: is not of type `string`",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_problem_of_the_whole_has_no_path() {
    assert_eq!(problems(&json!({ "required": ["to"] }), "{}"), ["required property `to` is missing"]);
}

#[test]
fn every_kind_of_problem_is_told_without_the_value() {
    const SECRET: &str = "s3cret";
    let cases = [
        (json!({ "type": "integer" }), "is not of type `integer`"),
        (json!({ "type": ["integer", "null"] }), "is not of type `null` or `integer`"),
        (json!({ "enum": ["a", "b"] }), "is not one of [\"a\",\"b\"]"),
        (json!({ "const": "a" }), "is not \"a\""),
        (json!({ "maxLength": 2 }), "is longer than 2 characters"),
        (json!({ "minLength": 99 }), "is shorter than 99 characters"),
        (json!({ "pattern": "^x$" }), "does not match the pattern `^x$`"),
        (json!({ "anyOf": [{ "type": "null" }, { "type": "integer" }] }), "does not fit any of the allowed forms"),
        (json!({ "oneOf": [{ "type": "null" }, { "type": "integer" }] }), "does not fit any of the allowed forms"),
        (json!({ "oneOf": [true, true] }), "fits more than one of the forms that exclude each other"),
        (json!({ "not": { "type": "string" } }), "has a form that is not allowed"),
        (json!(false), "is not allowed here"),
    ];
    for (schema, words) in cases {
        let schema = json!({ "type": "object", "properties": { "x": schema } });
        let seen = problems(&schema, &json!({ "x": SECRET }).to_string());
        assert_eq!(seen, [format!("/x: {words}")]);
        assert!(!seen.concat().contains(SECRET));
    }
}

#[test]
fn numbers_lists_and_objects_are_told_by_the_limits_of_the_schema() {
    let cases = [
        (json!({ "minimum": 5 }), json!(3), "is less than 5"),
        (json!({ "exclusiveMinimum": 5 }), json!(5), "is not greater than 5"),
        (json!({ "exclusiveMaximum": 5 }), json!(5), "is not less than 5"),
        (json!({ "multipleOf": 5 }), json!(7), "is not a multiple of 5"),
        (json!({ "minItems": 2 }), json!([1]), "has fewer than 2 items"),
        (json!({ "maxItems": 1 }), json!([1, 2]), "has more than 1 items"),
        (json!({ "uniqueItems": true }), json!([1, 1]), "has items that are equal"),
        (json!({ "contains": { "const": 9 } }), json!([1]), "has no item of the required form"),
        (json!({ "minProperties": 1 }), json!({}), "has fewer than 1 properties"),
        (json!({ "maxProperties": 0 }), json!({ "a": 1 }), "has more than 0 properties"),
        (
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            "has a property whose name is not allowed",
        ),
    ];
    for (schema, value, words) in cases {
        let schema = json!({ "type": "object", "properties": { "x": schema } });
        assert_eq!(problems(&schema, &json!({ "x": value }).to_string()), [format!("/x: {words}")]);
    }
}

#[test]
fn additional_properties_are_named_but_not_their_values() {
    let schema = json!({ "type": "object", "additionalProperties": false });
    assert_eq!(problems(&schema, r#"{"x": "s3cret"}"#), ["additional property `x` is not allowed"]);
    let other = json!({ "type": "object", "properties": { "y": {} }, "additionalProperties": false });
    assert_eq!(problems(&other, r#"{"x": 1, "z": 2}"#), ["additional properties `x`, `z` are not allowed"]);
    let text: String = (0..20).map(|n| format!("\"p{n:02}\": 1,")).collect();
    let seen = problems(&schema, &format!("{{{}}}", text.trim_end_matches(',')));
    assert!(seen[0].ends_with("`p07` and 12 more are not allowed"), "{seen:?}");
}

#[test]
fn problems_are_bounded_in_number_and_length() {
    let schema = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let text: String = (0..50).map(|n| format!("\"{}{n}\": 1,", "p".repeat(500))).collect();
    let seen = problems(&schema, &format!("{{{}}}", text.trim_end_matches(',')));
    assert_eq!(seen.len(), SCHEMA_PROBLEMS_MAX);
    assert!(seen.iter().all(|problem| problem.len() < 300), "{seen:?}");
}

#[test]
fn arguments_that_are_no_json_are_a_problem_and_no_panic() {
    let schema = Schema::compile(&Arc::new(json!({}))).unwrap();
    let broken = Arguments::from_canonical("{", holdpoint_core::Digest([0; 32]));
    assert_eq!(schema.check(&broken), Err(vec![SchemaProblem::unreadable()]));
}

fn refused(schema: Value) -> String {
    Schema::compile(&Arc::new(schema)).err().expect("a schema that cannot be")
}

#[test]
fn a_schema_that_is_none_or_takes_no_object_is_refused() {
    assert_eq!(refused(json!(true)), "it is not an object");
    assert!(refused(json!({ "type": "string" })).contains("does not describe an object"));
    assert!(
        refused(json!({ "type": "object", "properties": { "x": { "type": "strin" } } })).contains("/properties/x/type")
    );
    assert!(Schema::compile(&Arc::new(json!({ "type": ["object", "null"] }))).is_ok());
}

#[test]
fn nothing_is_fetched_for_a_reference() {
    for reference in ["http://localhost:1/schema.json", "https://example.com/s", "file:///etc/passwd"] {
        let reason = refused(json!({ "type": "object", "properties": { "x": { "$ref": reference } } }));
        assert!(!reason.is_empty());
    }
}

#[test]
fn alternatives_and_recursion_still_say_that_they_are_objects() {
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code)]
    enum Shape {
        Round { radius: f64 },
        Flat { parts: Vec<Shape> },
    }
    let schema = schema_of::<Shape>();
    assert_eq!(schema["type"], "object");
    assert_eq!(problems(&schema, r#"{"kind": "Flat", "parts": [{"kind": "Round", "radius": 1.5}]}"#), [""; 0]);
    assert_eq!(problems(&schema, r#"{"kind": "Tall"}"#), ["does not fit any of the allowed forms"]);
}
