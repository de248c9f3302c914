//! Files of rules: what is read, and what is refused with its line.

use holdpoint_core::{Code, Decision};
use holdpoint_policy::{Decide, RuleProblem, RuleSpec, Rules, RulesError};

const GOOD: &str = r#"
mode = "enforce"

[[rule]]
tool = "refund"
when = { "/amount" = { gt = 100 } }
decide = "confirm"
reason = "refund above 100"
approvers = ["finance"]
quorum = 1
expires_in = "4h"
[[rule.example]]
arguments = { amount = 250 }
decides = "confirm"
[[rule.example]]
arguments = { amount = 99 }
decides = "allow"

[[rule]]
tool = "re*"
decide = "allow"
[[rule.example]]
decides = "allow"
[[rule.example]]
tool = "read"
decides = "allow"
"#;

fn refused(text: &str) -> RulesError {
    let error = Rules::parse(text, "policy.toml").expect_err("it is wrong");
    assert_eq!(error.code(), Code::InvalidConfig);
    error
}

/// The message with its place, and the hint.
fn check(text: &str, message: &str, hint: Option<&str>) {
    let error = refused(text);
    assert_eq!(error.to_string(), message);
    assert_eq!(error.hint().as_deref(), hint, "{message}");
}

#[test]
fn the_grammar_of_the_documentation_is_read() {
    let rules = Rules::parse(GOOD, "policy.toml").unwrap();
    assert_eq!(rules.len(), 2);
    let decision = rules.decide("refund", r#"{"amount":100.01}"#).unwrap();
    let Decision::Confirm(ground, terms) = decision else { panic!("{decision:?}") };
    assert_eq!(ground.reason.as_deref(), Some("refund above 100"));
    assert_eq!(terms.expires_in_ms, Some(14_400_000));
    assert!(terms.approvers.contains("finance"));
}

#[test]
fn an_empty_file_denies_everything() {
    let rules = Rules::parse("", "policy.toml").unwrap();
    assert!(rules.is_empty());
    assert!(matches!(rules.decide("a", "{}").unwrap(), Decision::Deny(_)));
}

#[test]
fn unknown_keys_are_named_with_their_line_and_the_nearest_key() {
    check(
        "mode = \"enforce\"\n[[rules]]\ntool = \"a\"",
        "policy.toml:2: unknown key `rules`",
        Some("did you mean `rule`?"),
    );
    check(
        "[[rule]]\ntool = \"a\"\n\naprovers = []\nbad = 1",
        "policy.toml:4: unknown key `aprovers`",
        Some("did you mean `approvers`?"),
    );
    check(
        "[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { gtt = 1 } }",
        "policy.toml:3: unknown key `gtt`",
        Some("did you mean `gt`?"),
    );
    check(
        "[[rule]]\ntool = \"a\"\n[[rule.example]]\ndecide = \"allow\"",
        "policy.toml:4: unknown key `decide`",
        Some("did you mean `decides`?"),
    );
    check("[[rule]]\ntool = \"a\"\ncolour = 1", "policy.toml:3: unknown key `colour`", None);
}

#[test]
fn wrong_values_are_named_with_their_line() {
    for (text, line, part) in [
        ("[[rule]]\ntool = 7", 2, "expected a string"),
        ("[[rule]]\ntool = \"a\"\ndecide = \"maybe\"", 3, "unknown variant `maybe`"),
        ("[[rule]]\ndecide = \"allow\"", 1, "missing field `tool`"),
        ("[[rule]]\ntool = \"a\"\ntool = \"b\"", 3, "duplicate key"),
        ("\n[[rule]\n", 2, ""),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { gt = \"1\" } }", 3, "`gt` needs a number"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { in = 1 } }", 3, "`in` needs a list"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { matches = 1 } }", 3, "`matches` needs a text"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = {} }", 3, "needs an operator"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = nan }", 3, "not a number"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = 2024-01-01 }", 3, "write it as a text"),
        ("[[rule]]\ntool = \"a\"\nquorum = -1", 3, "invalid value"),
        ("rule = 1", 1, "expected a sequence"),
    ] {
        let error = refused(text);
        assert_eq!(error.line(), Some(line), "{text}: {error}");
        assert!(matches!(error, RulesError::Syntax { .. }), "{error:?}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn four_eyes_keep_the_requester_from_answering() {
    let rules = Rules::parse("[[rule]]\ntool = \"a\"\ndecide = \"confirm\"\nfour_eyes = true", "p").unwrap();
    let Decision::Confirm(_, terms) = rules.decide("a", "{}").unwrap() else { panic!("it asks") };
    assert_eq!(terms.four_eyes, holdpoint_core::FourEyes::On);
}

#[test]
fn rules_that_cannot_work_are_refused_at_the_line_of_the_rule() {
    let second = |keys: &str| format!("[[rule]]\ntool = \"x\"\ndecide = \"allow\"\n\n[[rule]]\n{keys}");
    for (keys, message) in [
        ("tool = \"a\"", "it decides nothing"),
        ("tool = \"\"\ndecide = \"allow\"", "`` is not a glob on tool names"),
        ("tool = \"a[\"\ndecide = \"allow\"", "`a[` is not a glob on tool names"),
        ("tool = \"a\"\nhide = true\nwhen = { \"/x\" = 1 }", "a rule that hides cannot depend on arguments or history"),
        ("tool = \"a\"\ndecide = \"deny\"\nwhen = { x = 1 }", "`x` is not a JSON pointer"),
        ("tool = \"a\"\ndecide = \"confirm\"\nquorum = 0", "a quorum of `0` is not between `1` and `100`"),
        ("tool = \"a\"\ndecide = \"confirm\"\nquorum = 101", "a quorum of `101` is not between `1` and `100`"),
        ("tool = \"a\"\ndecide = \"confirm\"\napprovers = [\"\"]", "an approver role is empty"),
        ("tool = \"a\"\ndecide = \"allow\"\nquorum = 1", "`quorum` is for rules that decide `confirm`"),
        ("tool = \"a\"\ndecide = \"deny\"\napprovers = [\"x\"]", "`approvers` is for rules that decide `confirm`"),
        ("tool = \"a\"\ndecide = \"allow\"\nfour_eyes = true", "`four_eyes` is for rules that decide `confirm`"),
        (
            "tool = \"a\"\ndecide = \"confirm\"\nexpires_in = \"4 hours\"",
            "`4 hours` is not a duration of at most `3650` days",
        ),
        (
            "tool = \"a\"\ndecide = \"confirm\"\nexpires_in = \"3651d\"",
            "`3651d` is not a duration of at most `3650` days",
        ),
        (
            "tool = \"a\"\ndecide = \"confirm\"\nexpires_in = \"4h\"\nexpires_in_ms = 1",
            "`expires_in` and `expires_in_ms` are both there",
        ),
        (
            "tool = \"a\"\ndecide = \"deny\"\nwhen = { \"/x\" = { matches = \"(\" } }",
            "the regular expression at `/x` cannot be used: unclosed group",
        ),
        (
            "tool = \"a\"\ndecide = \"deny\"\nwhen = { \"/x\" = { matches = '\\w{2000}' } }",
            "the regular expression at `/x` cannot be used: it is larger than `1048576` bytes when compiled",
        ),
    ] {
        let error = refused(&second(keys));
        assert_eq!(error.to_string(), format!("policy.toml:5: rule 2: {message}"));
    }
}

#[test]
fn a_rule_with_both_spellings_of_a_duration_in_turn_is_read() {
    for (key, ms) in [("expires_in = \"2d\"", 172_800_000), ("expires_in_ms = 250", 250)] {
        let rules = Rules::parse(&format!("[[rule]]\ntool = \"a\"\ndecide = \"confirm\"\n{key}"), "p").unwrap();
        let Decision::Confirm(_, terms) = rules.decide("a", "{}").unwrap() else { panic!("not a question") };
        assert_eq!(terms.expires_in_ms, Some(ms));
    }
}

#[test]
fn an_example_that_comes_out_otherwise_is_refused_at_its_line() {
    let text = "
[[rule]]
tool = \"*\"
decide = \"allow\"

[[rule]]
tool = \"refund\"
decide = \"confirm\"
[[rule.example]]
decides = \"confirm\"
";
    check(
        text,
        "policy.toml:9: rule 2: example 1 decides `allow` by rule 1, not `confirm`",
        Some("the first rule that matches decides: look at those before"),
    );
    let unmatched =
        "[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = 1 }\ndecide = \"allow\"\n[[rule.example]]\ndecides = \"allow\"";
    check(
        unmatched,
        "policy.toml:5: rule 1: example 1 decides `deny` by no rule allows it, not `allow`",
        Some("the first rule that matches decides: look at those before"),
    );
}

#[test]
fn an_example_is_about_a_tool_of_its_rule() {
    let rule = |example: &str| format!("[[rule]]\ntool = \"[ab]\"\ndecide = \"allow\"\n[[rule.example]]\n{example}");
    check(
        &rule("decides = \"allow\""),
        "policy.toml:4: rule 1: example 1 does not say which tool it calls",
        Some("add `tool` to the example"),
    );
    check(
        &rule("tool = \"c\"\ndecides = \"allow\""),
        "policy.toml:4: rule 1: example 1 calls `c`, which the rule is not about",
        None,
    );
    assert!(Rules::parse(&rule("tool = \"b\"\ndecides = \"allow\""), "p").is_ok());
}

#[test]
fn examples_keep_integers_that_no_double_holds() {
    let text = "[[rule]]
tool = \"a\"
when = { \"/n\" = { gt = 9007199254740992 } }
decide = \"confirm\"
[[rule.example]]
arguments = { n = 9007199254740993, nested = { list = [1, \"two\", true] } }
decides = \"confirm\"
[[rule.example]]
arguments = { n = 9007199254740992 }
decides = \"deny\"
";
    assert!(Rules::parse(text, "p").is_ok());
}

#[test]
fn a_file_is_loaded_and_a_missing_one_is_named() {
    let folder = std::env::temp_dir().join(format!("holdpoint-policy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("policy.toml");
    std::fs::write(&path, GOOD).unwrap();
    assert_eq!(Rules::load(&path).unwrap().len(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
    let error = Rules::load(&path).unwrap_err();
    assert!(matches!(error, RulesError::Read { .. }), "{error:?}");
    assert!(error.to_string().ends_with("policy.toml` cannot be read"), "{error}");
}

#[test]
fn specs_from_elsewhere_refuse_unknown_keys_and_say_which_rule_is_wrong() {
    for text in ["[{tool: a, decide: allow, colour: 1}]", "[{tool: a, decide: allow, when: {/x: {gtt: 1}}}]"] {
        assert!(serde_saphyr::from_str::<Vec<RuleSpec>>(text).is_err(), "{text}");
    }
    let specs = vec![RuleSpec::new("a", Decide::Allow), RuleSpec { tool: "b".to_owned(), ..RuleSpec::default() }];
    let error = Rules::new(specs).unwrap_err();
    assert!(matches!(&error, RulesError::Rule { problem: RuleProblem::DecidesNothing, .. }));
    assert_eq!(error.to_string(), "rule 2: it decides nothing");
}
