use super::*;

fn json(text: &str) -> String {
    Node::parse(text).expect("it is YAML").to_json_text()
}

#[test]
fn numbers_keep_every_digit() {
    assert_eq!(json("a: 12345678901234567890123"), r#"{"a":12345678901234567890123}"#);
    assert_eq!(json("{a: 1.0, b: -0.10, c: 1e3}"), r#"{"a":1.0,"b":-0.10,"c":1e3}"#);
    assert_eq!(json("[7, -7, 0]"), "[7,-7,0]");
}

#[test]
fn numbers_that_json_does_not_know_are_still_numbers() {
    assert_eq!(json("[0x10, .5, +3]"), "[16,0.5,3]");
}

#[test]
fn only_true_and_false_are_booleans() {
    assert_eq!(json("[true, false, yes, no, on, off, y]"), r#"[true,false,"yes","no","on","off","y"]"#);
}

#[test]
fn quoted_numbers_are_texts() {
    assert_eq!(json(r#"{a: "7", 'b': '1.0', c: !!str 3}"#), r#"{"a":"7","b":"1.0","c":"3"}"#);
}

#[test]
fn nothing_is_null() {
    assert_eq!(json("{a: , b: null, c: ~}"), r#"{"a":null,"b":null,"c":null}"#);
}

#[test]
fn keys_that_look_like_numbers_are_texts() {
    assert_eq!(json("{1: a, /a/b: c, true: d}"), r#"{"1":"a","/a/b":"c","true":"d"}"#);
}

#[test]
fn lines_are_those_of_the_file() {
    let tree = Node::parse("# first\na:\n  - 1\n  - b: {c: d}\n").expect("it is YAML");
    let NodeValue::Map(entries) = &tree.value else { panic!("a map") };
    assert_eq!(entries[0].0.line, 2);
    let NodeValue::List(items) = &entries[0].1.value else { panic!("a list") };
    assert_eq!((items[0].line, items[1].line), (3, 4));
}

#[test]
fn repeated_keys_are_an_error_with_a_line() {
    let problem = Node::parse("a: 1\nb: 2\na: 3\n").expect_err("repeated");
    assert_eq!(problem.line, 3, "{}", problem.message);
}

#[test]
fn broken_yaml_names_the_line() {
    let problem = Node::parse("a: 1\nb: [1, 2\nc: }\n").expect_err("broken");
    assert!(problem.line >= 2, "{problem:?}");
}

#[test]
fn a_file_above_the_limit_is_not_read() {
    let problem = Node::parse(&" ".repeat(SCENARIO_BYTES_MAX + 1)).expect_err("too large");
    assert!(problem.message.contains("8388608"), "{}", problem.message);
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    assert!(Node::parse(&"[".repeat(100_000)).is_err());
    assert!(Node::parse(&"{a: ".repeat(5_000)).is_err());
}

#[test]
fn two_documents_are_one_too_many() {
    assert!(Node::parse("a: 1\n---\nb: 2\n").is_err());
}
