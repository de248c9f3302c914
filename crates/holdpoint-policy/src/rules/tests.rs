//! The parts that no rule shows whole: numbers, pointers, paths, hosts.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::condition::Pattern;
use super::decimal::{Decimal, SUM_DIGITS_MAX};
use super::host::{HostPattern, host_of};
use super::literal::Literal;
use super::node::{Node, Opened, Unreadable};
use super::path::{Folder, PathNames};
use super::pointer::Pointer;

fn numeric(node: &Node<'_>) -> bool {
    matches!(node.open(), Ok(Opened::Number(_)))
}

fn shown(node: &Node<'_>) -> String {
    match node.open() {
        Ok(Opened::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

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
        let root = Node::raw(json);
        let value = Pointer::parse(pointer).unwrap().find(&root).unwrap();
        match (value, found) {
            (None, None) => {}
            (Some(value), Some(_)) if numeric(value) => {
                assert_eq!(Some(shown(value)), found.map(|found| number(found).to_string()), "{pointer}");
            }
            (Some(value), Some(found)) => {
                assert_eq!(Literal::of(&Node::raw(found)).unwrap().equals(value), Ok(true), "{pointer}");
            }
            (value, found) => panic!("{pointer}: {} and {found:?}", value.is_some()),
        }
    }
    let root = Node::raw(json);
    assert!(std::ptr::eq(Pointer::parse("").unwrap().find(&root).unwrap().unwrap(), &root));
}

#[test]
fn text_that_is_no_pointer_is_refused() {
    for text in ["amount", "a/b", "/~", "/~2", "/a~"] {
        assert_eq!(Pointer::parse(text), None, "{text}");
    }
}

#[test]
fn sums_are_exact() {
    for (left, right, sum) in [
        ("0.1", "0.2", "0.3"),
        ("999", "1", "1000"),
        ("1000", "-999.5", "0.5"),
        ("-5", "3", "-2"),
        ("5", "-5", "0"),
        ("0", "-7", "-7"),
        ("9007199254740993", "0.0000000001", "9007199254740993.0000000001"),
        ("123456789012345678901234567890", "10", "123456789012345678901234567900"),
        ("1e30", "-1", "999999999999999999999999999999"),
    ] {
        assert_eq!(number(left).checked_add(&number(right)), Some(number(sum)), "{left} + {right}");
        assert_eq!(number(right).checked_add(&number(left)), Some(number(sum)), "{right} + {left}");
    }
}

#[test]
fn a_sum_with_too_many_digits_is_none() {
    let near = format!("1e{}", SUM_DIGITS_MAX - 3);
    assert!(number(&near).checked_add(&number("1")).is_some());
    for far in ["1e999999999999999999999", "1e-999999999999999999999", &format!("1e{SUM_DIGITS_MAX}")] {
        assert_eq!(number(far).checked_add(&number("1")), None, "{far}");
    }
}

#[test]
fn a_name_that_is_there_twice_is_not_read() {
    assert_eq!(Node::raw(r#"{"a":1,"b":2,"\u0061":3}"#).open().err(), Some(Unreadable::RepeatedName));
    assert_eq!(Node::raw(r#"{"a":1,"#).open().err(), Some(Unreadable::NotJson));
    for text in ["nul", "tru", "1 2", "\"a", "", "[1", "NaN"] {
        assert_eq!(Node::raw(text).open().err(), Some(Unreadable::NotJson), "{text}");
    }
}

#[test]
fn a_path_is_below_a_folder_whichever_way_it_is_read() {
    let folder = "/srv/data".parse::<Folder>().unwrap();
    for path in [
        "/srv/data",
        "/srv/data/",
        "/srv/data/a/b.txt",
        "//srv///data//a",
        "/srv/./data/./a",
        "/srv/data/a/../b",
        "/srv/x/../data/a",
        "/srv/data/..a/...",
        "/srv/data/a\\b",
        "/srv/data/100%",
    ] {
        assert!(folder.holds(&PathNames::of(path)), "{path}");
    }
    for path in [
        "/srv/database",
        "/srv/dat",
        "/srv",
        "/",
        "",
        "srv/data/a",
        "./srv/data/a",
        "~/srv/data",
        "/srv/data/../other",
        "/srv/data/../../etc/passwd",
        "/srv/data/a/../../x",
        "/../srv/data/a",
        "/srv/data/..\\..\\etc",
        "/srv/data\\a",
        "\\srv\\data\\a",
        "/srv\\data/a",
        "/srv/data/%2e%2e/etc",
        "/srv/data/..%2Fetc",
        "/srv/data/%2E%2e%5cetc",
        "/srv/data/a\0b",
        "/srv/data/a\nb",
        "/SRV/DATA/a",
        "file:///srv/data/a",
        "C:/srv/data/a",
        "/srv/d\u{430}ta/a",
    ] {
        assert!(!folder.holds(&PathNames::of(path)), "{path}");
    }
    assert!("/".parse::<Folder>().unwrap().holds(&PathNames::of("/anything")));
    for folder in ["", "srv", "../srv", "/srv/../etc", "C:\\data", "/srv\\data", "/a\0"] {
        assert!(folder.parse::<Folder>().is_err(), "{folder}");
    }
}

#[test]
fn the_host_of_a_url_is_the_one_that_is_connected_to() {
    for (url, host) in [
        ("https://example.com/a?b#c", Some("example.com")),
        ("https://EXAMPLE.com.:8443", Some("example.com")),
        ("https://ana:secret@example.com/", Some("example.com")),
        ("https://example.com@evil.org/", Some("evil.org")),
        ("https://example.com:443@evil.org/", Some("evil.org")),
        ("https://evil.org#@example.com/", Some("evil.org")),
        ("https://evil.org/@example.com", Some("evil.org")),
        ("https://evil.org?@example.com", Some("evil.org")),
        ("https://b\u{fc}cher.example/", Some("xn--bcher-kva.example")),
        ("https://xn--bcher-kva.example/", Some("xn--bcher-kva.example")),
        ("https://ex\u{430}mple.com/", Some("xn--exmple-4nf.com")),
        ("https://\u{ff45}xample\u{3002}com/", Some("example.com")),
        ("http://0x7f.1/", Some("127.0.0.1")),
        ("http://2130706433/", Some("127.0.0.1")),
        ("http://[0:0::1]:80/", Some("[::1]")),
        ("postgres://DB.example.com/x", Some("db.example.com")),
        ("example.com", None),
        ("//example.com/", None),
        ("https:example.com", None),
        ("https:/example.com", None),
        ("https:///example.com", None),
        ("https:\\\\example.com", None),
        ("https://evil.org\\@example.com/", None),
        (" https://example.com/", None),
        ("https://exa\tmple.com/", None),
        ("https://example.com/a b", None),
        ("https://ex%61mple.com/", None),
        ("https://", None),
        ("mailto:ana@example.com", None),
        ("file:///etc/passwd", None),
        ("data:text/plain,https://example.com", None),
        ("", None),
    ] {
        assert_eq!(host_of(url).as_deref(), host, "{url}");
    }
}

#[test]
fn a_star_stands_for_everything_below_a_domain() {
    let check = |pattern: &str, holds: &[&str], misses: &[&str]| {
        let parsed = pattern.parse::<HostPattern>().unwrap();
        assert!(holds.iter().all(|host| parsed.holds(host)), "{pattern} holds {holds:?}");
        assert!(!misses.iter().any(|host| parsed.holds(host)), "{pattern} misses {misses:?}");
    };
    check("Example.COM.", &["example.com"], &["a.example.com", "example.com.evil.org", "notexample.com"]);
    check("*.example.com", &["a.example.com", "a.b.example.com"], &["example.com", "notexample.com", ".example.com"]);
    check("B\u{fc}cher.example", &["xn--bcher-kva.example"], &["bucher.example"]);
    check("[::1]", &["[::1]"], &["127.0.0.1"]);
    for pattern in
        ["", "*", "*.", "*.*", "a.*.b", "https://example.com", "example.com/a", "example.com:80", "a b", "*.127.0.0.1"]
    {
        assert!(pattern.parse::<HostPattern>().is_err(), "{pattern}");
    }
}

proptest! {
    #[test]
    fn sums_are_those_of_integers(left in -10_i128.pow(30)..10_i128.pow(30), right in -10_i128.pow(30)..10_i128.pow(30)) {
        let sum = number(&left.to_string()).checked_add(&number(&right.to_string()));
        prop_assert_eq!(sum, Some(number(&(left + right).to_string())));
    }

    #[test]
    fn a_number_reads_back_as_it_is_shown(digits: i128, exponent in -60_i32..60) {
        let written = number(&format!("{digits}e{exponent}"));
        prop_assert_eq!(number(&written.to_string()), written);
    }

    #[test]
    fn no_text_makes_a_path_or_a_host_panic(text in "\\PC{0,30}", tail in "[a-z./\\\\%@:#?]{0,30}") {
        for text in [format!("/srv/{tail}{text}"), format!("https://{text}{tail}"), text] {
            let _ = "/srv".parse::<Folder>().map(|folder| folder.holds(&PathNames::of(&text)));
            let _ = (host_of(&text), text.parse::<HostPattern>(), text.parse::<Folder>());
        }
    }

    #[test]
    fn a_path_below_a_folder_never_resolves_elsewhere(
        parts in proptest::collection::vec(
            prop_oneof![Just(".."), Just("."), Just(""), Just("a"), Just("srv"), Just("data"), Just("..\\"), Just("\\..")], 0..8,
        ),
    ) {
        let path = format!("/{}", parts.join("/"));
        if "/srv/data".parse::<Folder>().is_ok_and(|folder| folder.holds(&PathNames::of(&path))) {
            for read in [path.clone(), path.replace('\\', "/")] {
                let mut way: Vec<&str> = Vec::new();
                for name in read.split('/').filter(|name| !matches!(*name, "" | ".")) {
                    if name == ".." { way.pop(); } else { way.push(name); }
                }
                prop_assert!(way.starts_with(&["srv", "data"]), "{path}");
            }
        }
    }

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
        if let Some(pointer) = Pointer::parse(&text) {
            let _ = pointer.find(&Node::raw(r#"{"a":[1,{"b":null}]}"#)).map(|found| found.is_some());
        }
    }

    #[test]
    fn a_regular_expression_is_found_where_the_engine_finds_it(
        pattern in "\\^?[ab]{0,3}[?*+|.]?(\\(a\\)|\\[ab\\]|\\\\.|\\{2\\}|\\(\\?i\\))?[ab$]{0,2}",
        text in "[abAB.2]{0,5}",
    ) {
        let Ok(engine) = regex::Regex::new(&pattern) else { return Ok(()) };
        let ours = pattern.parse::<Pattern>().unwrap();
        prop_assert_eq!(ours.is_in(&text), engine.is_match(&text), "{} in {}", pattern, text);
    }
}
