use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn check(text: &str, expected: &str) {
    assert_eq!(canonical_json(text).as_deref(), Ok(expected), "canonical form of {text}");
}

#[test]
fn keys_are_sorted_by_utf16_code_units() {
    check(r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#);
    // U+1F600 is a surrogate pair (0xD83D...), so it comes before U+FB33.
    check(
        "{\"\u{20ac}\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}",
        "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}",
    );
}

#[test]
fn numbers_are_written_as_ecmascript_does() {
    for (literal, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1.0", "1"),
        ("1e0", "1"),
        ("1E5", "100000"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("123e-20", "1.23e-18"),
        ("333333333.33333329", "333333333.3333333"),
        ("1E30", "1e+30"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("-1.5e300", "-1.5e+300"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("9007199254740993.0", "9007199254740992"),
    ] {
        check(literal, expected);
    }
}

#[test]
fn integers_that_a_double_cannot_hold_stay_as_written() {
    let long = "9".repeat(1000);
    for literal in [
        "12345678901234567890",
        "9007199254740993",
        "-9007199254740993",
        "18446744073709551616",
        "100000000000000000000000",
        &long,
    ] {
        check(literal, literal);
    }
    check("9007199254740992", "9007199254740992");
    check("1000000000000000000000", "1e+21");
}

#[test]
fn strings_have_the_fewest_escapes() {
    check(r#""\u0041\/\u000a\u001f\"\\""#, r#""A/\n\u001f\"\\""#);
    check("\"\\ud83d\\ude00\"", "\"\u{1f600}\"");
    check("\"\u{7f}\u{2028}\"", "\"\u{7f}\u{2028}\"");
}

#[test]
fn a_repeated_key_is_found_at_any_depth() {
    for text in
        [r#"{"a":1,"a":1}"#, r#"{"x":[{"y":{"a":1,"b":2,"a":3}}]}"#, "{\"a\":1,\"\\u0061\":2}", r#"{"":1,"":2}"#]
    {
        assert!(matches!(canonical_json(text), Err(JsonProblem::DuplicateKey { .. })), "{text}");
    }
}

#[test]
fn nesting_is_limited_and_never_overflows_the_stack() {
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(canonical_json(&deep(DEPTH_MAX)).is_ok());
    assert_eq!(canonical_json(&deep(DEPTH_MAX + 1)), Err(JsonProblem::TooDeep));
    assert_eq!(canonical_json(&"[".repeat(5_000_000)), Err(JsonProblem::TooDeep));
    assert_eq!(canonical_json(&"{\"a\":".repeat(1_000_000)), Err(JsonProblem::TooDeep));
}

#[test]
fn what_is_not_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "--1",
        "-",
        "1-2",
        "1e999",
        "-1e999",
        "nul",
        "truee",
        "NaN",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\n\"",
        "1 2",
        "{}{}",
        "[1 2]",
        "'a'",
        "/**/1",
        "\u{feff}1",
        "\"\\u12\"",
        "\"\\",
    ] {
        assert_eq!(canonical_json(text), Err(JsonProblem::Malformed), "{text:?}");
    }
}

#[test]
fn one_member_can_be_left_out_wherever_it_stands() {
    let expected = r#"{"a":{"signature":1},"z":2}"#;
    for text in [
        r#"{"signature":0,"a":{"signature":1},"z":2}"#,
        r#"{"a":{"signature":1},"signature":{"x":[]},"z":2}"#,
        r#"{"z":2,"a":{"signature":1},"signature":null}"#,
    ] {
        assert_eq!(canonical_without(text, Some("signature")).as_deref(), Ok(expected));
    }
    assert_eq!(canonical_without(r#"{"signature":1}"#, Some("signature")).as_deref(), Ok("{}"));
}

#[test]
fn debug_of_a_problem_shows_no_key() {
    let problem = canonical_json(r#"{"hunter2":1,"hunter2":2}"#).unwrap_err();
    assert!(!format!("{problem:?}").contains("hunter2"));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_form_of_a_value_and_of_its_text_are_one(value in values()) {
        let direct = canonical_value(&value);
        prop_assert_eq!(&canonical_json(&value.to_string()).unwrap(), &direct);
        prop_assert_eq!(&canonical_json(&serde_json::to_string_pretty(&value).unwrap()).unwrap(), &direct);
        prop_assert_eq!(&canonical_json(&direct).unwrap(), &direct);
    }

    #[test]
    fn order_of_members_does_not_matter(map in prop::collection::btree_map(any::<String>(), values(), 0..8), seed: u64) {
        let mut members: Vec<(&String, &Value)> = map.iter().collect();
        let forward: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
        let count = members.len().max(1);
        members.rotate_left(usize::try_from(seed % count as u64).unwrap() % count);
        members.reverse();
        let other: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
        let one = canonical_json(&format!("{{{}}}", forward.join(",")));
        prop_assert_eq!(one, canonical_json(&format!("{{{}}}", other.join(","))));
    }

    #[test]
    fn integers_keep_their_value(digits in "-?[1-9][0-9]{0,40}") {
        let canonical = canonical_json(&digits).unwrap();
        // Either as written, or in a form that denotes the very same integer.
        if canonical != digits {
            let value: f64 = digits.parse().unwrap();
            prop_assert_eq!(format!("{value:.0}"), digits);
        }
        prop_assert_eq!(canonical_json(&canonical).unwrap(), canonical);
    }

    #[test]
    fn doubles_keep_their_value(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let text = canonical_json(&format!("{value:?}")).unwrap();
        let back: f64 = text.parse().unwrap();
        prop_assert!(back == value);
        prop_assert_eq!(canonical_json(&text).unwrap(), text);
    }

    #[test]
    fn accepts_what_serde_json_accepts(text in r#"[\[\]{}",:0-9eE.+\-a\\u ntrue]{0,24}"#) {
        let theirs = serde_json::from_str::<Value>(&text).is_ok();
        match canonical_json(&text) {
            Ok(_) | Err(JsonProblem::DuplicateKey { .. }) => prop_assert!(theirs, "only we accept {}", text),
            Err(_) => prop_assert!(!theirs, "only serde_json accepts {}", text),
        }
    }
}
