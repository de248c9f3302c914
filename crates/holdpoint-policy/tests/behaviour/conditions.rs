//! What the operators hold for, one by one.

use holdpoint_config::{Document, YamlLimits};
use holdpoint_core::Decision;
use holdpoint_policy::{RuleSpec, Rules};

fn yaml(text: &str) -> Rules {
    let limits = YamlLimits { max_bytes: 10_000, max_depth: 32, max_nodes: 1_000 };
    let specs: Vec<RuleSpec> = Document::yaml(text, "rules.yaml", limits).unwrap().read().expect("good YAML");
    Rules::new(&specs).expect("good rules")
}

fn allowed(rules: &Rules, arguments: &str) -> bool {
    matches!(rules.decide("t", arguments).expect("a decision"), Decision::Allow(_))
}

/// What meets the condition at `/x` and what does not. An absent value meets none.
fn check(condition: &str, meets: &[&str], misses: &[&str]) {
    let rules = yaml(&format!("[{{tool: t, when: {{/x: {condition}}}, decide: allow}}]"));
    for value in meets {
        assert!(allowed(&rules, &format!("{{\"x\":{value}}}")), "{condition} and {value}");
    }
    for value in misses {
        assert!(!allowed(&rules, &format!("{{\"x\":{value}}}")), "{condition} and {value}");
    }
    assert!(!allowed(&rules, "{}"), "{condition} and nothing");
}

#[test]
fn texts_are_compared_letter_by_letter() {
    check("{starts_with: ab}", &[r#""ab""#, r#""abc""#, r#""\u0061bc""#], &[r#""Abc""#, r#""xab""#, "1", "[\"ab\"]"]);
    check("{ends_with: .txt}", &[r#""a.txt""#], &[r#""a.TXT""#, r#""a.txt ""#, "null"]);
    check("{contains: rm}", &[r#""a rm b""#, r#"["rm"]"#], &[r#""r m""#, r#"["a rm b"]"#, r#"{"rm":1}"#]);
    // A letter that looks alike is another letter.
    check("{starts_with: admin}", &["\"admin2\""], &["\"\u{430}dmin\"", "\"ADMIN\"", "\"\u{ff41}dmin\""]);
}

#[test]
fn lists_have_items() {
    check("{contains: 1}", &["[1]", "[0, 1.0]", "[10e-1]"], &["[]", "[\"1\"]", "1", "[[1]]"]);
    check("{any: {gt: 5}}", &["[1, 6]"], &["[1, 5]", "[]", "6", "[\"6\"]", "[[6]]"]);
    check("{any: red}", &[r#"["blue","red"]"#], &[r#"["blue"]"#, r#""red""#]);
    check(
        "{all: {ends_with: '@example.org'}}",
        &[r#"["a@example.org"]"#],
        &[r#"["a@example.org","b@evil.org"]"#, "{}"],
    );
    check("{any: {any: 1}}", &["[[2],[1]]"], &["[1]", "[[2]]"]);
}

#[test]
fn all_of_nothing_is_not_all() {
    check("{all: {gt: 0}}", &["[1]"], &["[]"]);
    check("{len: 0}", &["[]", "\"\""], &["[0]", "{}", "null", "0"]);
}

#[test]
fn lengths_are_those_of_lists_and_texts() {
    check("{len: 2}", &["[1,2]", "\"ab\"", "\"\u{1f600}\u{e4}\""], &["[1]", "\"abc\"", "2", r#"{"a":1,"b":2}"#]);
    check("{len: {gt: 1, lte: 3}}", &["[1,2]", "\"abc\""], &["[1]", "[1,2,3,4]"]);
}

#[test]
fn presence_is_about_the_place_and_not_the_value() {
    check("{present: true}", &["1", "null", "\"\"", "[]"], &[]);
    let rules = yaml("[{tool: t, when: {/x: {present: false}}, decide: allow}]");
    assert!(allowed(&rules, "{}") && allowed(&rules, r#"{"X":1}"#));
    assert!(!allowed(&rules, r#"{"x":null}"#) && !allowed(&rules, r#"{"\u0078":1}"#));
    let rules = yaml("[{tool: t, when: {/a/b/0: {present: false}}, decide: allow}]");
    for arguments in ["{}", r#"{"a":1}"#, r#"{"a":{"b":[]}}"#, r#"{"a":{"b":{"1":0}}}"#] {
        assert!(allowed(&rules, arguments), "{arguments}");
    }
    assert!(!allowed(&rules, r#"{"a":{"b":[null]}}"#));
}

#[test]
fn a_path_that_escapes_never_matches() {
    check(
        "{path_under: /srv/data}",
        &[r#""/srv/data/a""#, r#""/srv//data/./b/../a""#],
        &[r#""/srv/data/../../etc""#, r#""/srv/database""#, r#""data/a""#, r#""/srv/data\\..\\..\\etc""#, "1"],
    );
    check("{path_under: [/a, /b]}", &[r#""/a/x""#, r#""/b""#], &[r#""/c""#]);
    check("{all: {path_under: /srv}}", &[r#"["/srv/a","/srv/b"]"#], &[r#"["/srv/a","/etc"]"#]);
}

#[test]
fn a_host_is_that_of_a_url() {
    check(
        "{host: example.com}",
        &[r#""https://example.com/""#, r#""HTTPS://Example.COM:444/x""#],
        &[r#""https://a.example.com/""#, r#""https://example.com.evil.org/""#, r#""example.com""#, "null"],
    );
    check(
        "{host: ['*.example.com', 10.0.0.1]}",
        &[r#""https://a.example.com/""#, r#""http://10.1/""#],
        &[r#""https://example.com/""#, r#""https://x@evil.org/""#],
    );
}

#[test]
fn operators_of_one_condition_must_all_hold() {
    check(
        "{starts_with: a, ends_with: z, len: {gte: 3}, ne: abz, matches: '^[a-z]+$'}",
        &["\"axz\""],
        &["\"az\"", "\"abz\"", "\"a1z\"", "\"xz\""],
    );
}

#[test]
fn arguments_with_a_name_twice_are_no_decision() {
    let rules = yaml("[{tool: t, when: {/x: 1}, decide: allow}]");
    let error = rules.decide("t", r#"{"x":2,"x":1}"#).unwrap_err();
    assert_eq!(error.to_string(), "the arguments have a name twice");
}
