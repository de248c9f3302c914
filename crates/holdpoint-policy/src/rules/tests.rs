//! The parts that no rule shows whole: numbers, pointers, durations, near words.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::decimal::Decimal;
use super::duration::parse_ms;
use super::nearest::nearest;
use super::pointer::Pointer;

fn number(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("`{text}` is a number"))
}

#[test]
fn spellings_of_one_number_are_equal() {
    for spellings in [
        &["1", "1.0", "1e0", "10e-1", "0.1E+1", "100000000000e-11"][..],
        &["0", "-0", "0.0", "0e99999999999999999999", "-0.000"],
        &["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
        &["-12.5", "-125e-1", "-0.125e2"],
        &["1e999999999999999999999", "1e999999999999999999999"],
    ] {
        for spelling in spellings {
            assert_eq!(number(spelling), number(spellings[0]), "{spelling}");
        }
    }
}

#[test]
fn neighbours_beyond_the_precision_of_a_double_are_told_apart() {
    for (less, more) in [
        ("9007199254740992", "9007199254740993"),
        ("-9007199254740993", "-9007199254740992"),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
        ("0.1", "0.10000000000000000000000000001"),
        ("99", "100"),
        ("-100", "-99"),
        ("1e308", "1e309"),
        ("1e-400", "1e-399"),
        ("-1", "0"),
        ("0", "1e-999999999999999999999"),
        ("1e5", "1e999999999999999999999"),
    ] {
        assert_eq!(number(less).cmp(&number(more)), Ordering::Less, "{less} < {more}");
        assert_eq!(number(more).cmp(&number(less)), Ordering::Greater, "{more} > {less}");
    }
}

#[test]
fn what_is_no_number_is_none() {
    for text in ["", "-", ".", "1.", ".5", "1e", "1e+", "e1", "0x10", "1_000", "\"1\"", "true", "NaN", "1 ", "--1"] {
        assert_eq!(Decimal::parse(text), None, "{text}");
    }
}

#[test]
fn pointers_find_values_as_they_are_written() {
    let json = r#"{"a":{"b":[1.50,{"c~/d":"x"}],"":7},"n":1e999,"\u006bey":true,"big":123456789012345678901234567890}"#;
    for (pointer, found) in [
        ("/a/b/0", Some("1.50")),
        ("/a/b/1/c~0~1d", Some("\"x\"")),
        ("/a/", Some("7")),
        ("/n", Some("1e999")),
        ("/key", Some("true")),
        ("/big", Some("123456789012345678901234567890")),
        ("/a/b/2", None),
        ("/a/b/00", None),
        ("/a/b/-", None),
        ("/a/b/+1", None),
        ("/a/b/c", None),
        ("/n/deeper", None),
        ("/key/deeper", None),
        ("/absent", None),
    ] {
        let value = Pointer::parse(pointer).unwrap().find(json).unwrap();
        assert_eq!(value.map(serde_json::value::RawValue::get), found, "{pointer}");
    }
    assert_eq!(Pointer::parse("").unwrap().find(json).unwrap().unwrap().get(), json);
}

#[test]
fn text_that_is_no_pointer_is_refused() {
    for text in ["amount", "a/b", "/~", "/~2", "/a~"] {
        assert_eq!(Pointer::parse(text), None, "{text}");
    }
}

#[test]
fn durations_have_a_whole_number_and_a_unit() {
    for (text, ms) in [
        ("500ms", Some(500)),
        ("90s", Some(90_000)),
        ("30m", Some(1_800_000)),
        ("4h", Some(14_400_000)),
        ("2d", Some(172_800_000)),
        ("4", None),
        ("h", None),
        ("", None),
        ("-4h", None),
        ("1.5h", None),
        ("4 h", None),
        ("4H", None),
        ("4hh", None),
        ("99999999999999999999d", None),
        ("18446744073709551615d", None),
    ] {
        assert_eq!(parse_ms(text), ms, "{text}");
    }
}

#[test]
fn a_near_word_is_found_and_a_far_one_is_not() {
    let known = &["approvers", "quorum", "tool", "when"];
    assert_eq!(nearest("aprovers", known), Some("approvers"));
    assert_eq!(nearest("tools", known), Some("tool"));
    assert_eq!(nearest("whn", known), Some("when"));
    assert_eq!(nearest("colour", known), None);
    assert_eq!(nearest("", &[]), None);
}

proptest! {
    #[test]
    fn numbers_compare_as_integers_do(left: i128, right: i128) {
        let (a, b) = (number(&left.to_string()), number(&right.to_string()));
        prop_assert_eq!(a.cmp(&b), left.cmp(&right));
        prop_assert_eq!(a == b, left == right);
    }

    #[test]
    fn moving_the_point_changes_nothing(digits in 0_u64.., places in 0_u32..30) {
        let moved = format!("{digits}{}e-{places}", "0".repeat(places as usize));
        prop_assert_eq!(number(&moved), number(&digits.to_string()));
        prop_assert_eq!(number(&format!("{digits}.{}", "0".repeat(places as usize + 1))), number(&digits.to_string()));
    }

    #[test]
    fn finite_doubles_keep_their_order(left in any::<f64>(), right in any::<f64>()) {
        prop_assume!(left.is_finite() && right.is_finite());
        let (a, b) = (number(&format!("{left:e}")), number(&format!("{right:e}")));
        prop_assert_eq!(Some(a.cmp(&b)), left.partial_cmp(&right));
    }

    #[test]
    fn no_text_makes_a_number_or_a_pointer_panic(text in "\\PC{0,20}") {
        let _ = Decimal::parse(&text);
        let _ = parse_ms(&text);
        if let Some(pointer) = Pointer::parse(&text) {
            let _ = pointer.find(r#"{"a":[1,{"b":null}]}"#);
        }
    }
}
