//! Rules that guard nothing are refused, or warned about, with their line and what to do.

use holdpoint_core::ToolName;
use holdpoint_policy::{KnownTools, Policy, Rules};

/// One rule on the third line with this in it.
fn rule(keys: &str) -> String {
    format!("\n\n[[rule]]\ntool = \"pay\"\ndecide = \"confirm\"\n{keys}")
}

/// The line, the sentence and the hint.
fn refused(text: &str) -> (usize, String, String) {
    let error = Rules::parse(text, "policy.toml").unwrap_err();
    let problem = error.problem().unwrap();
    (error.place().unwrap().line, problem.sentence(), problem.hint().unwrap_or_default().to_owned())
}

#[test]
fn conditions_that_nothing_can_meet_are_refused() {
    for (condition, why) in [
        ("{ gt = 5, lt = 3 }", "no number lies between `5` and `3`"),
        ("{ gt = 5, lt = 5 }", "no number lies between `5` and `5`"),
        ("{ gte = 5, lt = 5.0 }", "no number lies between `5` and `5`"),
        ("{ gte = 5, lte = 5, ne = 5.0 }", "no number lies between `5` and `5`"),
        ("{ in = [] }", "`in` is empty"),
        ("{ host = [] }", "`host` is empty"),
        ("{ path_under = [] }", "`path_under` is empty"),
        ("{ eq = 1, in = [2, 3] }", "no value of `eq` meets the rest"),
        ("{ eq = 1, ne = 1.0 }", "no value of `eq` meets the rest"),
        ("{ in = [1, 2], gt = 2 }", "no value of `in` meets the rest"),
        ("{ eq = \"abc\", starts_with = \"x\" }", "no value of `eq` meets the rest"),
        ("{ eq = \"/etc\", path_under = \"/srv\" }", "no value of `eq` meets the rest"),
        ("{ gt = 1, matches = \"a\" }", "no value has a type that suits `matches` and the rest"),
        ("{ any = 1, starts_with = \"a\" }", "no value has a type that suits `starts_with` and the rest"),
        ("{ contains = 1, ends_with = \"a\" }", "no value has a type that suits `ends_with` and the rest"),
        ("{ present = false, gt = 1 }", "what is not there meets no other operator"),
    ] {
        let (line, message, hint) = refused(&rule(&format!("when = {{ \"/x\" = {condition} }}")));
        assert_eq!((line, message), (6, format!("`rule[0].when./x` can never hold: {why}")));
        assert_eq!(hint, "a rule that never matches guards nothing: correct or remove it");
    }
}

#[test]
fn conditions_inside_conditions_are_looked_at_too() {
    for (keys, at, why) in [
        ("when = { \"/x\" = { any = { gt = 2, lt = 1 } } }", "when./x.any", "no number lies between `2` and `1`"),
        ("when = { \"/x\" = { all = { present = false } } }", "when./x.all", "`present` is for what can be absent"),
        ("when = { \"/x\" = { len = { lt = 0 } } }", "when./x.len", "no number lies between `0` and `0`"),
        ("when = { \"/x\" = { len = \"2\" } }", "when./x.len", "no value has a type that suits `eq` and the rest"),
        ("history = { calls = { lt = 0 } }", "history.calls", "no number lies between `0` and `0`"),
        (
            "history = { sum = { \"/n\" = \"9\" } }",
            "history.sum./n",
            "no value has a type that suits `eq` and the rest",
        ),
        (
            "history = { sum = { \"/n\" = { present = true } } }",
            "history.sum./n",
            "`present` is for what can be absent",
        ),
        ("context = { roles = \"finance\" }", "context.roles", "no value has a type that suits `eq` and the rest"),
        ("context = { actor = { gt = 1 } }", "context.actor", "no value has a type that suits `gt` and the rest"),
    ] {
        let (line, message, _) = refused(&rule(keys));
        assert_eq!((line, message), (6, format!("`rule[0].{at}` can never hold: {why}")));
    }
}

#[test]
fn operands_that_mean_nothing_are_refused_with_a_hint() {
    for (keys, message, hint) in [
        (
            "when = { \"/x\" = { starts_with = \"\" } }",
            "`rule[0].when./x.starts_with` is empty",
            "use `present = true` for any value",
        ),
        (
            "when = { \"/x\" = { contains = \"\" } }",
            "`rule[0].when./x.contains` is empty",
            "use `present = true` for any value",
        ),
        (
            "when = { \"/x\" = { path_under = \"data\" } }",
            "`rule[0].when./x.path_under` is not the absolute path of a folder",
            "a folder starts with `/` and has no `..`, as in `/srv/data`",
        ),
        (
            "when = { \"/x\" = { host = [\"a\", \"https://example.com\"] } }",
            "`rule[0].when./x.host[1]` is not a host",
            "write `example.com` or `*.example.com`, without scheme, port and path",
        ),
        (
            "context = { user_id = 1, \"/user_id\" = 2 }",
            "`rule[0].context.user_id` has a condition already",
            "put both into one condition",
        ),
        (
            "context = { \"\" = 1 }",
            "`rule[0].context.` is not a JSON pointer",
            "a pointer starts with `/`, as in `/amount`",
        ),
        (
            "history = { sum = { amount = 1 } }",
            "`rule[0].history.sum.amount` is not a JSON pointer",
            "a pointer starts with `/`, as in `/amount`",
        ),
    ] {
        assert_eq!(refused(&rule(keys)), (6, message.to_owned(), hint.to_owned()));
    }
}

#[test]
fn misspelt_keys_are_named_wherever_they_stand() {
    for (keys, key, near) in [
        ("contxt = {}", "contxt", "context"),
        ("four_eye = true", "four_eye", "four_eyes"),
        ("history = { call = 1 }", "history.call", "calls"),
        ("when = { \"/x\" = { any = { start_with = \"a\" } } }", "when./x.any.start_with", "starts_with"),
        ("context = { user = { presnt = true } }", "context.user.presnt", "present"),
        ("history = { calls = { gtee = 1 } }", "history.calls.gtee", "gte"),
        ("history = { sum = { \"/n\" = { lte = 1, gtt = 2 } } }", "history.sum./n.gtt", "gte"),
    ] {
        let wanted = (6, format!("`rule[0].{key}` is an unknown key"), format!("did you mean `{near}`?"));
        assert_eq!(refused(&rule(keys)), wanted);
    }
}

#[test]
fn a_rule_that_asks_the_same_as_an_earlier_one_is_refused() {
    let twice = |first: &str, second: &str| {
        format!(
            "[[rule]]\ntool = \"a\"\ndecide = \"deny\"\n{first}\n[[rule]]\ntool = \"a\"\ndecide = \"allow\"\n{second}"
        )
    };
    let wanted = (
        5,
        "`rule[1]` asks the same as policy.toml:1: rule 1".to_owned(),
        "the first rule that matches decides: remove one of the two".to_owned(),
    );
    assert_eq!(refused(&twice("", "")), wanted);
    assert_eq!(refused(&twice("when = {\"/x\" = {gt = 1}}", "when = {\"/x\" = {gt = 1.0}}")), wanted);
    assert_eq!(refused(&twice("when = {\"/x\" = 1}", "when = {\"/x\" = {eq = 1}}")), wanted);
    assert_eq!(refused(&twice("context = {u = 1}", "context = {\"/u\" = 1}")), wanted);
    assert!(Rules::parse(&twice("when = {\"/x\" = 1}", "when = {\"/x\" = 2}"), "p").is_ok());
    assert!(Rules::parse(&twice("when = {\"/u\" = 1}", "context = {\"/u\" = 1}"), "p").is_ok());
}

/// Whether a second rule never decides after a first; each is a glob and other keys.
fn covered(first: [&str; 2], second: [&str; 2]) -> bool {
    let rule = |[tool, keys]: [&str; 2]| format!("[[rule]]\ntool = \"{tool}\"\ndecide = \"deny\"\n{keys}\n");
    let rules = Rules::parse(&format!("{}{}", rule(first), rule(second)), "p").unwrap();
    !rules.warnings().is_empty()
}

#[test]
fn a_rule_that_an_earlier_one_covers_is_warned_about_with_both_places() {
    let text = "[[rule]]\ntool = \"pay*\"\ndecide = \"allow\"\n\n[[rule]]\nname = \"large\"\ntool = \"payout\"\n\
                when = { \"/x\" = { gt = 1 } }\ndecide = \"confirm\"";
    let warnings = Rules::parse(text, "p").unwrap().warnings();
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        warnings[0].to_string(),
        "p:5: rule 2: it never decides, because p:1: rule 1 comes first and is about all of it"
    );
    assert_eq!(warnings[0].hint(), "move it before the other one, or remove it");
    assert_eq!((warnings[0].rule.line, warnings[0].by.line), (Some(5), Some(1)));
    assert_eq!((&*warnings[0].rule.name, &*warnings[0].by.name), ("large", "rule 1"));
}

#[test]
fn wider_globs_cover_narrower_ones() {
    for (wide, narrow) in [
        ("*", "a"),
        ("*", "a*"),
        ("*", "[ab]"),
        ("a*", "ab*"),
        ("a*", "ab?c"),
        ("*z", "*yz"),
        ("{a,b}", "a"),
        ("[ab]", "a"),
        ("a*", "{ab,ac}"),
    ] {
        assert!(covered([wide, ""], [narrow, ""]), "{wide} {narrow}");
        assert!(!covered([narrow, ""], [wide, ""]), "{narrow} {wide}");
    }
    assert!(!covered(["a*", ""], ["{ab,bc}", ""]));
    assert!(!covered(["a*", ""], ["?ab", ""]));
}

#[test]
fn weaker_conditions_cover_stronger_ones() {
    let when = |condition: &str| format!("when = {{ \"/x\" = {condition} }}");
    for (wide, narrow) in [
        ("{ gt = 1 }", "{ gt = 2 }"),
        ("{ gte = 1 }", "{ gt = 1 }"),
        ("{ gt = 1 }", "{ gte = 1.1, lt = 9 }"),
        ("{ lt = 5 }", "{ eq = 3 }"),
        ("{ in = [1, 2, 3] }", "{ in = [1, 3] }"),
        ("{ ne = 1 }", "{ gt = 1 }"),
        ("{ ne = \"a\" }", "{ starts_with = \"b\" }"),
        ("{ present = true }", "{ matches = \"x\" }"),
        ("{ starts_with = \"a\" }", "{ starts_with = \"ab\", len = 3 }"),
        ("{ path_under = \"/srv\" }", "{ path_under = [\"/srv/a\", \"/srv/b\"] }"),
        ("{ host = \"*.example.com\" }", "{ host = \"a.example.com\" }"),
        ("{ len = { gt = 1 } }", "{ len = { gt = 2 } }"),
        ("{ any = { gt = 1 } }", "{ all = { gt = 2 } }"),
        ("{ matches = \"a+\" }", "{ eq = \"caat\" }"),
    ] {
        assert!(covered(["t", &when(wide)], ["t", &when(narrow)]), "{wide} {narrow}");
        assert!(!covered(["t", &when(narrow)], ["t", &when(wide)]), "{narrow} {wide}");
    }
    assert!(covered(["t", ""], ["t", &when("1")]));
    for wide in ["{ ne = 1 }", "{ present = true }", "{ lt = 1 }"] {
        assert!(!covered(["t", &when(wide)], ["t", &when("{ present = false }")]), "{wide}");
    }
    assert!(!covered(["t", "context = { \"/x\" = 1 }"], ["t", &when("1")]));
    assert!(covered(["t", "history = { calls = { gt = 1 } }"], ["t", "history = { calls = 3 }"]));
}

#[test]
fn a_rule_about_no_registered_tool_is_refused() {
    let rules = Rules::parse(
        "[[rule]]\ntool = \"re*\"\ndecide = \"allow\"\n[[rule]]\ntool = \"refnd\"\ndecide = \"deny\"",
        "p",
    )
    .unwrap();
    let tools = |names: &[&str]| names.iter().map(|name| ToolName::new(*name)).collect::<KnownTools>();
    assert!(rules.check_tools(&tools(&["refnd"])).is_ok());
    let error = rules.check_tools(&tools(&["read", "refund"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "p:5:8: `rule[1].tool` is `refnd`, which matches no registered tool\nhint: did you mean `refund`?"
    );
    let error = rules.check_tools(&tools(&["write"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "p:2:8: `rule[0].tool` is `re*`, which matches no registered tool\nhint: register the tool or remove the rule"
    );
    let open = KnownTools { open_prefixes: vec!["ref".into()], ..tools(&["read"]) };
    assert!(rules.check_tools(&open).is_ok());
    let told = rules.accepts_tools(&tools(&["refund"])).unwrap_err();
    assert!(told.to_string().ends_with("\nhint: did you mean `refund`?"), "{told}");
}

#[test]
fn an_attribute_that_is_not_kept_with_the_run_is_refused() {
    let rules = Rules::parse(
        "[[rule]]\ntool = \"a\"\ncontext = { \"/user_id/x\" = 1, actor = \"ana\" }\ndecide = \"allow\"",
        "p",
    )
    .unwrap();
    assert!(rules.check_context_keys(["user_id"]).is_ok());
    let error = rules.check_context_keys(["userid"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "p:3:11: `rule[0].context` reads the attribute `user_id`, which is not in `context_keys`\nhint: did you mean `userid`?"
    );
    assert_eq!(rules.check_context_keys([""; 0]).unwrap_err().hint(), Some("add it to `context_keys`"));
}
