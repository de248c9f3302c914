//! Values become arguments, and nothing else.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing;

fn fill(template: &[&str], arguments: &Value) -> Result<Vec<String>, String> {
    let template: Vec<String> = template.iter().map(|&element| element.to_owned()).collect();
    let template = ArgvTemplate::parse(&template).expect("a template");
    let call = testing::call("a", arguments);
    template.fill(&Named::of(&call).expect("arguments")).map_err(|error| error.message().to_owned())
}

#[test]
fn each_value_is_one_element() {
    let arguments = json!({ "file": "a b; rm -rf / $(x) `y` 'z' \"", "size": 7, "big": 12345678901234567890_u64 });
    assert_eq!(
        fill(&["--size={size}x{size}", "{file}", "fixed", "{big}", "{{size}}"], &arguments),
        Ok(vec![
            "--size=7x7".into(),
            "a b; rm -rf / $(x) `y` 'z' \"".into(),
            "fixed".into(),
            "12345678901234567890".into(),
            "{size}".into()
        ])
    );
}

#[test]
fn a_list_is_one_element_each_and_only_alone() {
    let arguments = json!({ "files": ["a", "b c", 3, true], "none": [] });
    let wanted = ["a", "b c", "3", "true"].map(str::to_owned).to_vec();
    assert_eq!(fill(&["{files}", "{none}"], &arguments), Ok(wanted));
    assert_eq!(fill(&["x{files}"], &arguments), Err("`files` must be a text or a number".into()));
}

#[test]
fn a_value_that_looks_like_an_option_is_refused_unless_options_have_ended() {
    let arguments = json!({ "v": "--output=/etc/passwd", "list": ["a", "-b"] });
    assert_eq!(fill(&["{v}"], &arguments), Err("`v` may not begin with `-`".into()));
    assert_eq!(fill(&["{v}", "--"], &arguments), Err("`v` may not begin with `-`".into()));
    assert_eq!(fill(&["{list}"], &arguments), Err("`list` may not begin with `-`".into()));
    assert_eq!(fill(&["--", "{v}"], &arguments), Ok(vec!["--".into(), "--output=/etc/passwd".into()]));
    assert_eq!(fill(&["--text={v}"], &arguments), Ok(vec!["--text=--output=/etc/passwd".into()]));
    assert_eq!(fill(&["{v}{v}"], &json!({ "v": "-" })), Err("`v` may not begin with `-`".into()));
    assert_eq!(fill(&["{e}{v}"], &json!({ "e": "", "v": "-x" })), Err("`v` may not begin with `-`".into()));
    assert_eq!(fill(&["{n}"], &json!({ "n": -5 })), Err("`n` may not begin with `-`".into()));
}

#[test]
fn what_no_argument_can_be_is_refused() {
    for (value, problem) in [
        (json!(null), "`v` must be a text or a number"),
        (json!({}), "`v` must be a text or a number"),
        (json!([[1]]), "`v` must be a text or a number"),
        (json!("a\u{0}b"), "`v` may not hold a NUL"),
        (json!("a".repeat(MAX_ARGUMENT_BYTES + 1)), "`v` is too long"),
        (json!(vec!["a"; MAX_ELEMENTS + 1]), "the arguments are too long for a program"),
    ] {
        assert_eq!(fill(&["{v}"], &json!({ "v": value })), Err(problem.to_owned()));
    }
    assert_eq!(fill(&["{v}"], &json!({})), Err("`v` must be a text or a number".into()));
    let repeated = fill(&["{v}", "{v}", "{v}"], &json!({ "v": "a".repeat(MAX_ARGUMENT_BYTES) }));
    assert_eq!(repeated, Err("the arguments are too long for a program".into()));
}

#[test]
fn a_template_that_is_none_is_refused() {
    for element in ["{", "}", "{}", "{a", "a}", "{a{b}}", "a\0"] {
        assert!(ArgvTemplate::parse(&[element.to_owned()]).is_err(), "{element}");
    }
}

proptest! {
    #[test]
    fn a_value_comes_through_byte_by_byte(value in any::<String>()) {
        let filled = fill(&["--x={v}", "--", "{v}"], &json!({ "v": value }));
        if value.contains('\0') {
            prop_assert!(filled.is_err());
        } else {
            prop_assert_eq!(filled, Ok(vec![format!("--x={value}"), "--".to_owned(), value]));
        }
    }

    #[test]
    fn any_text_is_an_element_or_none_without_a_panic(element in "[{}a-c\u{e4}=-]{0,12}") {
        if let Ok(template) = ArgvTemplate::parse(&[element]) {
            let plain = template.arguments().all(|name| !name.is_empty() && !name.contains(['{', '}']));
            prop_assert!(plain);
        }
    }
}

#[test]
fn an_end_of_options_that_was_meant_for_another_program_guards_nothing_less() {
    let template = |elements: &[&str]| {
        ArgvTemplate::parse(&elements.iter().map(ToString::to_string).collect::<Vec<_>>()).expect("a good list")
    };
    let guards = |elements: &[&str]| template(elements).elements.last().map(|element| element.guard);
    assert_eq!(guards(&["--", "{file}"]), Some(Guard::Free));
    assert_eq!(guards(&["--", "tar", "-cf", "o.tar", "{file}"]), Some(Guard::NoDash));
    assert_eq!(guards(&["--", "tar", "-cf", "o.tar", "--", "{file}"]), Some(Guard::Free));
}
