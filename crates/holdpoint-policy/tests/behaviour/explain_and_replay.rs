//! Why a call gets its decision, which rules these are, and what others would have decided.

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{Arguments, CallIndex, CallKey, Decision, RunId, ToolName, Turn};
use holdpoint_policy::{
    AuthorizeRequest, Decide, Explanation, PastCall, Policy, RecordedCall, Rules, RunFacts, Show, replay,
};
use serde_json::{Value, json};

const RULES: &str = r#"
[[rule]]
tool = "read"
decide = "allow"

[[rule]]
tool = "pay"
name = "blocked"
when = { "/to" = { contains = "sanctioned" } }
decide = "deny"

[[rule]]
tool = "pay"
name = "large"
when = { "/amount" = { gt = 100, lt = 1000 }, "/to" = { present = true } }
context = { roles = { contains = "clerk" } }
decide = "confirm"
reason = "above 100"
approvers = ["finance"]
quorum = 2

[[rule]]
tool = "p*"
history = { calls = { gte = 1 } }
decide = "deny"
"#;

fn arguments(text: &str) -> Arguments {
    arguments_for("pay", &parse_arguments(Some(text)).unwrap())
}

fn clerk() -> Context {
    Context::new().by(holdpoint_core::Actor { roles: ["clerk".into()].into(), ..Default::default() })
}

fn explain(rules: &Rules, text: &str, run: &RunFacts, show: Show) -> Explanation {
    let (tool, arguments, context) = (ToolName::new("pay"), arguments(text), clerk());
    rules.explain(&AuthorizeRequest { tool: &tool, arguments: &arguments, context: &context, run }, show)
}

fn run() -> RunFacts {
    RunFacts::new(RunId::new("r"), Turn(1)).with_past(Vec::new)
}

#[test]
fn an_explanation_has_a_stable_form_without_values() {
    let rules = Rules::parse(RULES, "policy.toml").unwrap();
    let text = r#"{"amount":250.5,"to":"secret sentinel"}"#;
    let explanation = explain(&rules, text, &run(), Show::Types);
    let json: Value = serde_json::from_str(&explanation.to_json()).unwrap();
    let wanted = json!({
        "tool": "pay",
        "version": rules.version().as_str(),
        "decides": "confirm",
        "reason": "above 100",
        "problem": null,
        "rule": {
            "rule": 3, "name": "large", "file": "policy.toml", "line": 12, "decides": "confirm",
            "conditions": [
                { "on": "arguments", "at": "/amount", "wants": { "gt": 100 }, "saw": { "type": "number" }, "held": true },
                { "on": "arguments", "at": "/amount", "wants": { "lt": 1000 }, "saw": { "type": "number" }, "held": true },
                { "on": "arguments", "at": "/to", "wants": { "present": true }, "saw": { "type": "text", "len": 15 }, "held": true },
                { "on": "context", "at": "roles", "wants": { "contains": "clerk" }, "saw": { "type": "list", "len": 1 }, "held": true },
            ],
        },
        "passed_over": [{
            "rule": 2, "name": "blocked", "file": "policy.toml", "line": 6, "decides": "deny",
            "conditions": [
                { "on": "arguments", "at": "/to", "wants": { "contains": "sanctioned" }, "saw": { "type": "text", "len": 15 }, "held": false },
            ],
        }],
        "elsewhere": 1,
    });
    assert_eq!(json, wanted);
    assert!(!format!("{explanation:?}").contains("sentinel"));
    let shown = explain(&rules, text, &run(), Show::Values).to_json();
    assert!(shown.contains("secret sentinel") && shown.contains("250.5"));
}

#[test]
fn an_explanation_says_when_no_rule_matches_and_when_none_could_be_decided() {
    let rules = Rules::parse(RULES, "policy.toml").unwrap();
    let none = explain(&rules, "{}", &run(), Show::Types);
    assert_eq!(
        (none.decides, none.reason.as_deref(), none.rule.is_none()),
        (Decide::Deny, Some("no rule allows it"), true)
    );
    let places: Vec<_> = none.passed_over.iter().map(|rule| rule.conditions[0].saw.to_string()).collect();
    assert_eq!(places, ["absent", "absent", "number"]);
    let unknown = RunFacts::new(RunId::new("r"), Turn(1));
    let failed = explain(&rules, "{}", &unknown, Show::Types);
    let problem = "a rule asks for the history of the run, which is not known here";
    assert_eq!((failed.decides, failed.problem.as_deref()), (Decide::Deny, Some(problem)));
    assert_eq!(failed.rule.map(|rule| rule.rule), Some(4));
}

#[tokio::test]
async fn an_explanation_decides_as_the_rules_do() {
    let rules = Rules::parse(RULES, "policy.toml").unwrap();
    for text in ["{}", r#"{"to":"x"}"#, r#"{"amount":101,"to":""}"#, r#"{"amount":1e3,"to":"sanctioned"}"#] {
        let (tool, arguments, context, run) = (ToolName::new("pay"), arguments(text), clerk(), run());
        let request = AuthorizeRequest { tool: &tool, arguments: &arguments, context: &context, run: &run };
        let decision = rules.authorize(&request).await.unwrap();
        let explanation = rules.explain(&request, Show::Types);
        assert_eq!(explanation.decides, Decide::of(&decision), "{text}");
        assert_eq!(explanation.rule.map(|rule| rule.name), decision.ground().rule.as_ref().map(ToString::to_string));
    }
}

#[test]
fn the_version_is_that_of_what_the_rules_decide() {
    let version = |text: &str| Rules::parse(text, "p").unwrap().version().to_string();
    let base = version(RULES);
    assert_eq!(base.len(), 32);
    let same = RULES.replace("gt = 100,", "gt = 1e2,").replace("decide = \"allow\"", "decide = \"allow\" # a note");
    assert_eq!(version(&format!("\n\n{same}")), base);
    let with_example = format!("{RULES}[[rule.example]]\ntool = \"pay\"\npast = [{{}}]\ndecides = \"deny\"");
    assert_eq!(version(&with_example), base);
    for (from, to) in [
        ("gt = 100,", "gt = 101,"),
        ("\"p*\"", "\"pa*\""),
        ("quorum = 2", "quorum = 3"),
        ("quorum = 2", "quorum = 2\nfour_eyes = true"),
        ("\"finance\"", "\"legal\""),
        ("above 100", "above a hundred"),
        ("name = \"large\"", "name = \"big\""),
        ("contains = \"clerk\"", "contains = \"boss\""),
        ("gte = 1 }", "gte = 2 }"),
        ("decide = \"allow\"", "decide = \"deny\""),
        ("decide = \"allow\"", "hide = true"),
    ] {
        assert_ne!(version(&RULES.replace(from, to)), base, "{from} {to}");
    }
}

#[test]
fn the_version_of_these_rules_never_changes() {
    // A change here makes every recorded version unknown.
    let rules = Rules::parse("[[rule]]\ntool = \"a\"\nwhen = { \"/x\" = { gt = 1.50 } }\ndecide = \"allow\"", "p");
    let version = rules.unwrap().version().to_string();
    assert_eq!(version, "716649bdcadcf7ed433f5af53a02acb2");
}

fn recorded(index: u32, text: &str, decided: Decision) -> RecordedCall {
    RecordedCall {
        call: CallKey { run: RunId::new("r"), turn: Turn(2), index: CallIndex(index) },
        tool: ToolName::new("pay"),
        arguments: arguments(text),
        context: clerk(),
        past: vec![PastCall::new(ToolName::new("pay"), arguments("{}"))],
        decided,
    }
}

#[test]
fn a_replay_lists_what_comes_out_otherwise() {
    let rules = Rules::parse(RULES, "policy.toml").unwrap();
    let large = r#"{"amount":500,"to":"x"}"#;
    let stays = explain(&rules, large, &run(), Show::Types);
    assert_eq!(stays.decides, Decide::Confirm);
    let replayed = replay(
        &rules,
        [
            recorded(0, "{}", Decision::deny("an older reason")),
            recorded(1, "{}", Decision::allow()),
            recorded(2, large, Decision::confirm("anyone may say yes")),
            recorded(3, large, rules_decision(&rules, large)),
        ],
    );
    assert_eq!(replayed.calls, 4);
    let changes: Vec<_> = replayed.changes.iter().map(|change| change.call.index.0).collect();
    assert_eq!(changes, [1, 2]);
    let wanted = json!({
        "run_id": "r", "turn": 2, "index": 2, "tool": "pay",
        "was": { "decides": "confirm", "rule": null, "reason": "anyone may say yes", "approvers": [], "quorum": 1, "expires_in_ms": null, "four_eyes": false },
        "becomes": { "decides": "confirm", "rule": "large", "reason": "above 100", "approvers": ["finance"], "quorum": 2, "expires_in_ms": null, "four_eyes": false },
    });
    assert_eq!(replayed.to_json()["changes"][1], wanted);
    assert_eq!(replayed.to_json()["calls"], 4);
}

fn rules_decision(rules: &Rules, text: &str) -> Decision {
    let changed = replay(rules, [recorded(0, text, Decision::allow())]);
    changed.changes[0].becomes.clone().unwrap()
}
