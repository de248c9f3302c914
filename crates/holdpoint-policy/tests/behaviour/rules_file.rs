//! Files of rules: what is read, and what is refused with its line.

use holdpoint_config::ConfigError;
use holdpoint_core::{Code, Decision};
use holdpoint_policy::{Decide, RuleSpec, Rules};

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

fn refused(text: &str) -> ConfigError {
    let error = Rules::parse(text, "policy.toml").expect_err("it is wrong");
    assert_eq!(error.code(), Code::InvalidConfig);
    error
}

/// The message with its place and its hint.
fn check(text: &str, message: &str) {
    assert_eq!(refused(text).to_string(), message);
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
    for (text, message) in [
        (
            "mode = \"enforce\"\n[[rules]]\ntool = \"a\"",
            "policy.toml:2:3: `rules` is an unknown key\nhint: did you mean `rule`?",
        ),
        (
            "[[rule]]\ntool = \"a\"\n\naprovers = []\nbad = 1",
            "policy.toml:4:1: `rule[0].aprovers` is an unknown key\nhint: did you mean `approvers`?",
        ),
        (
            "[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { gtt = 1 } }",
            "policy.toml:3:19: `rule[0].when./x.gtt` is an unknown key\nhint: did you mean `gte`?",
        ),
        (
            "[[rule]]\ntool = \"a\"\n[[rule.example]]\ndecide = \"allow\"",
            "policy.toml:4:1: `rule[0].example[0].decide` is an unknown key\nhint: did you mean `decides`?",
        ),
    ] {
        check(text, message);
    }
    let error = refused("[[rule]]\ntool = \"a\"\ncolour = 1").to_string();
    assert!(
        error.starts_with("policy.toml:3:1: `rule[0].colour` is an unknown key\nhint: known are `tool`,"),
        "{error}"
    );
}

#[test]
fn wrong_values_are_named_with_their_line() {
    for (text, line, part) in [
        ("[[rule]]\ntool = 7", 2, "`rule[0].tool` must be a string, but is a number"),
        ("[[rule]]\ntool = \"a\"\ndecide = \"maybe\"", 3, "`rule[0].decide` cannot be `maybe`"),
        ("[[rule]]\ndecide = \"allow\"", 1, "`rule[0]` needs `tool`"),
        ("[[rule]]\ntool = \"a\"\ntool = \"b\"", 3, "duplicate key"),
        ("\n[[rule]\n", 2, "is not TOML"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { gt = \"1\" } }", 3, "`rule[0].when./x.gt` must be a number"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { in = 1 } }", 3, "must be a list"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { matches = 1 } }", 3, "must be a string"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = {} }", 3, "needs an operator"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = nan }", 3, "must be a number"),
        ("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = 2024-01-01 }", 3, "must not be a date"),
        ("[[rule]]\ntool = \"a\"\nquorum = -1", 3, "must not be negative"),
        (
            "[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { matches = \"(\" } }",
            3,
            "`rule[0].when./x.matches` is not a regular expression: unclosed group",
        ),
        (
            "[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { matches = '\\w{2000}' } }",
            3,
            "is larger than 1048576 bytes when compiled",
        ),
        ("[[rule]]\ntool = \"a\"\nexpires_in = \"4 hours\"", 3, "is not a duration"),
        ("rule = 1", 1, "`rule` must be a list"),
    ] {
        let error = refused(text);
        assert_eq!(error.place().map(|place| place.line), Some(line), "{text}: {error}");
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
fn rules_that_cannot_work_are_refused_at_their_keys() {
    let second = |keys: &str| format!("[[rule]]\ntool = \"x\"\ndecide = \"allow\"\n\n[[rule]]\n{keys}");
    for (keys, message) in [
        ("tool = \"a\"", "`rule[1]` decides nothing"),
        ("tool = \"\"\ndecide = \"allow\"", "`rule[1].tool` is not a glob on tool names"),
        ("tool = \"a[\"\ndecide = \"allow\"", "`rule[1].tool` is not a glob on tool names"),
        ("tool = \"a\"\nhide = true\nwhen = { \"/x\" = 1 }", "`rule[1].hide` cannot depend on arguments or history"),
        ("tool = \"a\"\ndecide = \"deny\"\nwhen = { x = 1 }", "`rule[1].when.x` is not a JSON pointer"),
        ("tool = \"a\"\ndecide = \"confirm\"\nquorum = 0", "`rule[1].quorum` is 0, and must be between 1 and 100"),
        ("tool = \"a\"\ndecide = \"confirm\"\nquorum = 101", "`rule[1].quorum` is 101, and must be between 1 and 100"),
        ("tool = \"a\"\ndecide = \"confirm\"\napprovers = [\"\"]", "`rule[1].approvers[0]` is empty"),
        ("tool = \"a\"\ndecide = \"allow\"\nquorum = 1", "`rule[1].quorum` is for rules that decide `confirm`"),
        (
            "tool = \"a\"\ndecide = \"deny\"\napprovers = [\"x\"]",
            "`rule[1].approvers` is for rules that decide `confirm`",
        ),
        (
            "tool = \"a\"\ndecide = \"allow\"\nfour_eyes = true",
            "`rule[1].four_eyes` is for rules that decide `confirm`",
        ),
        ("tool = \"a\"\ndecide = \"confirm\"\nexpires_in = \"3651d\"", "`rule[1].expires_in` is more than 3650 days"),
        (
            "tool = \"a\"\ndecide = \"confirm\"\nexpires_in = \"4h\"\nexpires_in_ms = 1",
            "`rule[1].expires_in_ms` stands beside `expires_in`",
        ),
    ] {
        let error = refused(&second(keys));
        assert!(error.place().unwrap().line >= 5, "{error}");
        assert_eq!(error.problem().unwrap().sentence(), message);
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
        "policy.toml:9:1: `rule[1].example[0]` decides `allow` by rule 1, not `confirm`\n\
         hint: the first rule that matches decides: look at those before",
    );
    let unmatched =
        "[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = 1 }\ndecide = \"allow\"\n[[rule.example]]\ndecides = \"allow\"";
    check(
        unmatched,
        "policy.toml:5:1: `rule[0].example[0]` decides `deny` by no rule allows it, not `allow`\n\
         hint: the first rule that matches decides: look at those before",
    );
}

#[test]
fn an_example_is_about_a_tool_of_its_rule() {
    let rule = |example: &str| format!("[[rule]]\ntool = \"[ab]\"\ndecide = \"allow\"\n[[rule.example]]\n{example}");
    check(
        &rule("decides = \"allow\""),
        "policy.toml:4:1: `rule[0].example[0]` does not say which tool it calls\nhint: add `tool` to the example",
    );
    check(
        &rule("tool = \"c\"\ndecides = \"allow\""),
        "policy.toml:5:8: `rule[0].example[0].tool` is not one that the rule is about",
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
    assert!(error.to_string().ends_with("policy.toml: the file cannot be read: entity not found"), "{error}");
}

#[test]
fn rules_without_a_file_say_which_rule_is_wrong() {
    let specs = [RuleSpec::new("a", Decide::Allow), RuleSpec { tool: "b".to_owned(), ..RuleSpec::default() }];
    let problem = Rules::new(&specs).unwrap_err();
    assert_eq!(problem.sentence(), "`[1]` decides nothing");
}
