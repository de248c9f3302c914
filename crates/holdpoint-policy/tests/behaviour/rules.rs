//! What rules decide.

use holdpoint_config::{Document, YamlLimits};
use holdpoint_core::{Decision, Ground, Terms};
use holdpoint_policy::{Condition, Decide, RuleSpec, Rules};
use proptest::prelude::*;

fn yaml(text: &str) -> Rules {
    let limits = YamlLimits { max_bytes: 10_000, max_depth: 32, max_nodes: 1_000 };
    let specs: Vec<RuleSpec> = Document::yaml(text, "rules.yaml", limits).unwrap().read().expect("good YAML");
    Rules::new(&specs).expect("good rules")
}

/// A condition from the text of a value in a rules file.
fn condition(text: &str) -> Condition {
    Document::toml(&format!("condition = {text}"), "rules.toml").unwrap().read_at("condition").expect("a condition")
}

fn decided(rules: &Rules, tool: &str, arguments: &str) -> &'static str {
    match rules.decide(tool, arguments).expect("a decision") {
        Decision::Allow(_) => "allow",
        Decision::Deny(_) => "deny",
        Decision::Confirm(..) => "confirm",
    }
}

/// Allows what meets the condition at `/x`.
fn check(condition: &str, meets: &[&str], misses: &[&str]) {
    let rules = yaml(&format!("[{{tool: t, when: {{/x: {condition}}}, decide: allow}}]"));
    for value in meets {
        assert_eq!(decided(&rules, "t", &format!("{{\"x\":{value}}}")), "allow", "{condition} and {value}");
    }
    for value in misses {
        assert_eq!(decided(&rules, "t", &format!("{{\"x\":{value}}}")), "deny", "{condition} and {value}");
    }
    assert_eq!(decided(&rules, "t", "{}"), "deny", "{condition} and nothing");
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rules = yaml(
        "
        - {tool: refund, when: {/amount: {gt: 100}}, decide: confirm, reason: large}
        - {tool: refund, decide: allow}
        - {tool: '*', decide: deny, reason: never}
        ",
    );
    assert_eq!(decided(&rules, "refund", r#"{"amount":250}"#), "confirm");
    assert_eq!(decided(&rules, "refund", r#"{"amount":100}"#), "allow");
    assert_eq!(decided(&rules, "refund", "{}"), "allow");
    assert_eq!(decided(&rules, "wipe", "{}"), "deny");
}

#[test]
fn what_no_rule_matches_is_denied_with_a_reason_and_without_a_rule() {
    let rules = yaml("[{tool: read, decide: allow}]");
    let decision = rules.decide("write", "{}").unwrap();
    assert_eq!(decision, Decision::Deny(Ground { reason: Some("no rule allows it".into()), rule: None, policy: None }));
    assert_eq!(decided(&yaml("[]"), "read", "{}"), "deny");
}

#[test]
fn a_decision_names_its_rule_and_its_reason() {
    let rules = yaml(
        "
        - {tool: a, decide: allow}
        - {tool: b, name: big, decide: confirm, reason: why, approvers: [ops, sec], quorum: 2, expires_in: 4h}
        - {tool: c, decide: confirm, expires_in_ms: 500}
        ",
    );
    let allow = rules.decide("a", "{}").unwrap();
    assert_eq!(allow, Decision::Allow(Ground { reason: None, rule: Some("rule 1".into()), policy: None }));
    let mut terms = Terms { approvers: ["ops".into(), "sec".into()].into(), quorum: 2, ..Terms::default() };
    terms.expires_in_ms = Some(14_400_000);
    let ground = Ground { reason: Some("why".into()), rule: Some("big".into()), policy: None };
    assert_eq!(rules.decide("b", "{}").unwrap(), Decision::Confirm(ground, terms));
    let ground = Ground { reason: None, rule: Some("rule 3".into()), policy: None };
    let terms = Terms { expires_in_ms: Some(500), ..Terms::default() };
    assert_eq!(rules.decide("c", "{}").unwrap(), Decision::Confirm(ground, terms));
}

#[test]
fn globs_are_on_the_whole_registered_name() {
    for (glob, matches, misses) in [
        ("refund", vec!["refund"], vec!["Refund", "refund2", "a_refund", ""]),
        ("fs_*", vec!["fs_read", "fs_"], vec!["fs", "xfs_read"]),
        ("*", vec!["a", "a.b", "mcp/x", ""], vec![]),
        ("{read,write}_file", vec!["read_file", "write_file"], vec!["read", "append_file"]),
        ("v?", vec!["v1"], vec!["v", "v12"]),
        ("[ab]c", vec!["ac", "bc"], vec!["cc"]),
    ] {
        let rules = Rules::new(&[RuleSpec::new(glob, Decide::Allow)]).unwrap();
        for name in matches {
            assert_eq!(decided(&rules, name, "{}"), "allow", "{glob} and {name}");
        }
        for name in misses {
            assert_eq!(decided(&rules, name, "{}"), "deny", "{glob} and {name}");
        }
    }
}

#[test]
fn literals_are_compared_by_value_and_type() {
    check("7", &["7", "7.0", "70e-1"], &["8", "\"7\"", "[7]", "null"]);
    check("'7'", &["\"7\"", "\"\\u0037\""], &["7", "\"07\""]);
    check("true", &["true"], &["false", "\"true\"", "1"]);
    check("null", &["null"], &["0", "false", "\"\""]);
    check("[1, a]", &["[1,\"a\"]", "[1.0, \"a\"]"], &["[1]", "[\"a\",1]", "[1,\"a\",2]", "1"]);
    check("{eq: {a: 1, b: [x]}}", &[r#"{"b":["x"],"a":1.0}"#], &[r#"{"a":1}"#, r#"{"a":1,"b":["x"],"c":0}"#, "{}"]);
}

#[test]
fn bounds_are_for_numbers_only() {
    check("{gt: 100}", &["101", "100.0001", "1e3"], &["100", "100.0", "99", "\"101\"", "true", "null", "[101]"]);
    check("{gte: 100}", &["100", "1e2"], &["99.999"]);
    check("{lt: 0}", &["-1", "-1e-9"], &["0", "-0", "1"]);
    check("{lte: 0.5}", &["0.5", "5e-1", "-3"], &["0.51"]);
}

#[test]
fn numbers_are_never_rounded() {
    check("{gt: 9007199254740992}", &["9007199254740993"], &["9007199254740992", "9007199254740992.0"]);
    check("9223372036854775807", &["9223372036854775807"], &["9223372036854775806", "9223372036854775808", "9.2e18"]);
    check("{lt: 18446744073709551615}", &["18446744073709551614"], &["18446744073709551615", "18446744073709551616"]);
    check("{gt: 100}", &["123456789012345678901234567890", "1e400"], &["-1e400", "1e-400"]);
}

#[test]
fn decimals_of_rules_keep_every_digit() {
    check("{gt: 0.10000000000000000000001}", &["0.10000000000000000000002"], &["0.10000000000000000000001", "0.1"]);
    check("123456789012345678901234567890", &["123456789012345678901234567890"], &["123456789012345678901234567891"]);
}

#[test]
fn several_operators_and_several_pointers_must_all_hold() {
    check("{gte: 10, lt: 20, ne: 15}", &["10", "19.9"], &["9", "15", "15.0", "20"]);
    let rules = yaml("[{tool: t, when: {/a: 1, /b/0: {matches: x}}, decide: allow}]");
    assert_eq!(decided(&rules, "t", r#"{"a":1,"b":["xx"]}"#), "allow");
    for arguments in [r#"{"a":1}"#, r#"{"b":["x"]}"#, r#"{"a":2,"b":["x"]}"#, r#"{"a":1,"b":["y"]}"#] {
        assert_eq!(decided(&rules, "t", arguments), "deny", "{arguments}");
    }
}

#[test]
fn membership_and_difference_need_the_value_to_be_there() {
    check("{in: [a, 1, null]}", &["\"a\"", "1.0", "null"], &["\"b\"", "2", "[1]"]);
    check("{ne: a}", &["\"b\"", "null", "1"], &["\"a\""]);
}

#[test]
fn a_regular_expression_is_searched_for_in_text() {
    check(
        "{matches: '@example\\.org$'}",
        &["\"ana@example.org\""],
        &["\"ana@example.com\"", "\"@example.org.evil\"", "1"],
    );
    check("{matches: '^rm '}", &["\"rm -rf /\"", "\"\\u0072m x\""], &["\"arm x\"", "null", "[\"rm x\"]"]);
}

#[test]
fn a_hidden_tool_is_neither_seen_nor_called() {
    let rules = yaml(
        "
        - {tool: secret_santa, decide: allow}
        - {tool: 'secret_*', hide: true}
        - {tool: other, hide: true, decide: allow}
        - {tool: '*', decide: allow}
        - {tool: late, hide: true}
        ",
    );
    assert!(rules.hides("secret_key") && rules.hides("other"));
    // The first rule that matches a name says whether it is seen.
    assert!(!rules.hides("secret_santa") && !rules.hides("read") && !rules.hides("late"));
    assert_eq!(decided(&rules, "secret_key", "{}"), "deny");
    assert_eq!(decided(&rules, "other", "{}"), "deny");
    assert_eq!(decided(&rules, "read", "{}"), "allow");
}

#[test]
fn arguments_that_are_not_json_are_no_decision() {
    let rules = yaml("[{tool: t, when: {/x: {ne: 1}}, decide: allow}]");
    let error = rules.decide("t", "{\"x\": sentinel").unwrap_err();
    assert!(!error.to_string().contains("sentinel"));
}

/// A rule on tool `a` or `b` or both, with or without a lower bound on `/n`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AnyRule {
    tool: &'static str,
    decide: Decide,
    bound: Option<i64>,
}

fn any_rule() -> impl Strategy<Value = AnyRule> {
    let tool = prop_oneof![Just("a"), Just("b"), Just("*")];
    let decide = prop_oneof![Just(Decide::Allow), Just(Decide::Deny), Just(Decide::Confirm)];
    let bound = proptest::option::of(-3_i64..3);
    (tool, decide, bound).prop_map(|(tool, decide, bound)| AnyRule { tool, decide, bound })
}

/// Two rules that ask the same are refused.
fn without_duplicates(rules: Vec<AnyRule>) -> Vec<AnyRule> {
    let mut kept: Vec<AnyRule> = Vec::new();
    for rule in rules {
        if !kept.iter().any(|known| known.tool == rule.tool && known.bound == rule.bound) {
            kept.push(rule);
        }
    }
    kept
}

fn specs(rules: &[AnyRule]) -> Vec<RuleSpec> {
    let spec = |rule: &AnyRule| {
        let mut spec = RuleSpec::new(rule.tool, rule.decide);
        spec.when.extend(rule.bound.map(|bound| ("/n".to_owned(), condition(&format!("{{ gt = {bound} }}")))));
        spec
    };
    rules.iter().map(spec).collect()
}

/// The plainest reading of a list of rules.
fn expected(rules: &[AnyRule], tool: &str, n: Option<i64>) -> &'static str {
    let matches = |rule: &&AnyRule| {
        let met = match (rule.bound, n) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(bound), Some(n)) => n > bound,
        };
        (rule.tool == "*" || rule.tool == tool) && met
    };
    rules.iter().find(matches).map_or("deny", |rule| rule.decide.as_str())
}

proptest! {
    #[test]
    fn rules_decide_as_the_plainest_reading_does(
        rules in proptest::collection::vec(any_rule(), 0..8).prop_map(without_duplicates),
        tool in prop_oneof![Just("a"), Just("b"), Just("c")],
        n in proptest::option::of(-4_i64..4),
    ) {
        let made = Rules::new(&specs(&rules)).expect("good rules");
        let arguments = n.map_or("{}".to_owned(), |n| format!("{{\"n\":{n}}}"));
        prop_assert_eq!(decided(&made, tool, &arguments), expected(&rules, tool, n));
    }

    #[test]
    fn an_absent_pointer_meets_no_condition(pointer in "/[a-z]{1,3}(/[a-z0-9]{1,2})?", operator in 0..8_usize) {
        let operators =
            ["eq = 0", "ne = 0", "gt = 0", "gte = 0", "lt = 0", "lte = 0", "in = [false]", "matches = ''"];
        let mut rule = RuleSpec::new("t", Decide::Allow);
        rule.when.insert(pointer, condition(&format!("{{ {} }}", operators[operator])));
        let rules = Rules::new(&[rule]).expect("good rules");
        prop_assert_eq!(decided(&rules, "t", r#"{"UPPER":0}"#), "deny");
    }

    #[test]
    fn every_spelling_of_a_number_meets_the_same_bound(n in -1000_i64..1000, bound in -1000_i64..1000) {
        let mut rule = RuleSpec::new("t", Decide::Allow);
        rule.when.insert("/n".to_owned(), condition(&format!("{{ lte = {bound} }}")));
        let rules = Rules::new(&[rule]).expect("good rules");
        let wanted = if n <= bound { "allow" } else { "deny" };
        // No JSON number begins with two zeros.
        let scaled = if n == 0 { "0E-2".to_owned() } else { format!("{n}00E-2") };
        for spelling in [format!("{n}"), format!("{n}.0"), format!("{n}e0"), scaled] {
            prop_assert_eq!(decided(&rules, "t", &format!("{{\"n\":{spelling}}}")), wanted);
        }
    }
}
