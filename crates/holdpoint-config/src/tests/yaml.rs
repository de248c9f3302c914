//! YAML keeps its digits, its booleans and its lines.

use serde::Deserialize;

use crate::{ConfigError, Document, RawJson, YamlLimits};

const LIMITS: YamlLimits = YamlLimits { max_bytes: 1024 * 1024, max_depth: 96, max_nodes: 100_000 };

fn document(text: &str) -> Result<Document, ConfigError> {
    Document::yaml(text, "f.yaml", LIMITS)
}

fn json(text: &str) -> String {
    document(text).unwrap().read::<RawJson>().unwrap().0
}

#[test]
fn numbers_are_kept_as_they_are_written() {
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

#[derive(Debug, Deserialize)]
struct Skill {
    name: String,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    inner: Inner,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Inner {
    size: u8,
}

#[test]
fn a_number_where_a_text_is_expected_is_the_text_of_the_file() {
    let skill: Skill = document("name: 7\nversion: 1.0\ninner:\n").unwrap().read().unwrap();
    assert_eq!((skill.name.as_str(), skill.version.as_deref(), skill.inner.size), ("7", Some("1.0"), 0));
}

#[test]
fn mistakes_are_told_with_line_and_column() {
    for (text, wanted) in [
        ("name: a\nversoin: b\n", "f.yaml:2:1: `versoin` is an unknown key\nhint: did you mean `version`?"),
        ("# first\nname:\n  - a\n", "f.yaml:3:3: `name` must be a string, but is a list"),
        ("name: a\ninner: {size: x}\n", "f.yaml:2:15: `inner.size` must be a whole number, but is a string"),
        ("version: b\n", "f.yaml:1:1: the file needs `name`"),
        ("- a\n", "f.yaml:1:1: the file must be a table, but is a list"),
    ] {
        let read = document(text).unwrap().read::<Skill>();
        assert_eq!(read.map(drop).map_err(|error| error.to_string()), Err(wanted.to_owned()), "{text}");
    }
}

#[test]
fn what_is_not_yaml_is_told_with_its_line() {
    let error = document("a: 1\nb: 2\na: 3\n").unwrap_err();
    assert_eq!(error.place().map(|place| place.line), Some(3), "{error}");
    let error = document("a: 1\nb: [1, 2\nc: }\n").unwrap_err();
    assert!(error.place().is_some_and(|place| place.line >= 2), "{error}");
    assert!(document("a: 1\n---\nb: 2\n").is_err(), "two documents");
}

#[test]
fn large_deep_and_growing_documents_are_refused() {
    assert!(document(&" ".repeat(LIMITS.max_bytes + 1)).unwrap_err().to_string().contains("1048576 bytes"));
    assert!(document(&"[".repeat(100_000)).is_err());
    assert!(document(&"{a: ".repeat(5_000)).is_err());
    let mut bomb = String::from("a0: &a0 {x: y}\n");
    for level in 1..40 {
        let before = level - 1;
        bomb.push_str(&format!("a{level}: &a{level} {{l: *a{before}, m: *a{before}, n: *a{before}}}\n"));
    }
    assert!(document(&bomb).is_err());
}

#[test]
fn nonsense_never_panics() {
    for text in ["", "[]", "7", "name", "name: [", "\u{0}", "&a [*a]", "? [a]\n: b", "!!binary x", "%YAML 9\n---\na"] {
        let _ = document(text).map(|document| document.read::<Skill>().map(drop));
    }
}
