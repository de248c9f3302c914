use proptest::prelude::*;

use super::*;

fn accepted(raw: &str) -> String {
    parse_arguments(Some(raw)).unwrap_or_else(|problem| panic!("{raw}: {problem}")).expose().to_owned()
}

fn refused(raw: &str) -> Code {
    parse_arguments(Some(raw)).expect_err(raw).code()
}

#[test]
fn nothing_blank_and_null_mean_no_arguments() {
    assert_eq!(parse_arguments(None).unwrap().expose(), "{}");
    for raw in
        ["", "  ", "\n", "null", " null ", "\"null\"", "\"\"", "\" \"", "```\nnull\n```", "```json\n```", "``````"]
    {
        assert_eq!(accepted(raw), "{}", "{raw:?}");
    }
}

#[test]
fn an_object_is_accepted_fenced_or_quoted_or_both() {
    for raw in [
        r#"{"b":1,"a":"x"}"#,
        r#"  { "b" : 1.0 , "a" : "x" }  "#,
        "```\n{\"b\":1,\"a\":\"x\"}\n```",
        "```json\n{\"b\":1,\"a\":\"x\"}\n```",
        "```JSON {\"b\":1,\"a\":\"x\"}```",
        "```{\"b\":1,\"a\":\"x\"}```",
        "```json\r\n{\"b\":1,\"a\":\"x\"}\r\n```\n",
        r#""{\"b\":1,\"a\":\"x\"}""#,
        r#""```json\n{\"b\":1,\"a\":\"x\"}\n```""#,
        "```json\n\"{\\\"b\\\":1,\\\"a\\\":\\\"x\\\"}\"\n```",
    ] {
        assert_eq!(accepted(raw), r#"{"a":"x","b":1}"#, "{raw:?}");
    }
}

#[test]
fn anything_else_is_invalid() {
    for raw in [
        "[]",
        "1",
        "true",
        "text",
        "\"text\"",
        "{",
        "{\"a\":1}{}",
        "{\"a\":1} trailing",
        "```json\n[1]\n```",
        "```json\n{}",
        "```\n```json\n{}\n```\n```",
        r#""\"{}\"""#,
        "{'a':1}",
        "{\"a\":1,}",
        "nullx",
        "```",
        "`````",
    ] {
        assert_eq!(refused(raw), Code::InvalidArguments, "{raw:?}");
    }
}

#[test]
fn a_repeated_key_is_invalid_at_any_depth_and_the_model_is_told_which() {
    let problem = parse_arguments(Some(r#"{"x":{"secret":1,"secret":2}}"#)).unwrap_err();
    assert_eq!(problem.code(), Code::InvalidArguments);
    assert!(problem.to_string().contains("`secret` occurs twice"));
    assert!(!format!("{problem:?}").contains("secret"));
}

#[test]
fn too_large_is_told_before_anything_is_parsed() {
    let at_limit = format!("{{\"a\":\"{}\"}}", "x".repeat(Limits::ARGUMENTS_BYTES_MAX - 8));
    assert_eq!(at_limit.len(), Limits::ARGUMENTS_BYTES_MAX);
    assert_eq!(accepted(&at_limit), at_limit);
    assert_eq!(refused(&(at_limit + " ")), Code::ArgumentsTooLarge);
    assert_eq!(refused(&"[".repeat(Limits::ARGUMENTS_BYTES_MAX + 1)), Code::ArgumentsTooLarge);
}

#[test]
fn deep_nesting_is_invalid_and_harmless() {
    assert_eq!(refused(&"{\"a\":".repeat(30_000)), Code::InvalidArguments);
}

#[test]
fn large_integers_survive() {
    assert_eq!(
        accepted(r#"{"id":12345678901234567890,"n":-9007199254740993}"#),
        r#"{"id":12345678901234567890,"n":-9007199254740993}"#
    );
}

#[test]
fn the_digest_covers_name_and_arguments() {
    let text = parse_arguments(Some(r#"{"a":1}"#)).unwrap();
    let other = parse_arguments(Some(r#"{"a":2}"#)).unwrap();
    let digest = arguments_for("pay", &text).digest();
    assert_eq!(digest, arguments_for("pay", &parse_arguments(Some("{ \"a\": 1.0 }")).unwrap()).digest());
    assert_ne!(digest, arguments_for("pay", &other).digest());
    assert_ne!(digest, arguments_for("payx", &text).digest());
    // Golden: a digest that was shown must stay the same over releases.
    assert_eq!(digest.to_string(), "1d6210676ba943393573c0787820afe7a3b44fd6a41fdf8c0cc3afd28efc1327");
}

#[test]
fn the_idempotency_key_differs_by_run_turn_index_and_digest() {
    let digest = Digest([7; 32]);
    let key = |run: &str, turn, index, digest| idempotency_key(&RunId::from(run), Turn(turn), CallIndex(index), digest);
    let base = key("r1", 1, 0, digest);
    assert_eq!(base, key("r1", 1, 0, digest));
    for other in
        [key("r2", 1, 0, digest), key("r1", 2, 0, digest), key("r1", 1, 1, digest), key("r1", 1, 0, Digest([8; 32]))]
    {
        assert_ne!(base, other);
    }
    assert_eq!(base.as_str(), "5ff5383dfd25769818df45580c11eef0");
}

#[test]
fn a_summary_has_names_and_sizes_only() {
    let text = parse_arguments(Some(r#"{"to":"ana@example.com","amount":250}"#)).unwrap();
    let summary = arguments_summary(&arguments_for("pay", &text));
    assert_eq!(summary, "amount (3 bytes), to (17 bytes)");
    assert_eq!(arguments_summary(&arguments_for("pay", &CanonicalText::empty())), "no arguments");
}

#[test]
fn a_summary_of_very_many_arguments_stays_short() {
    let many: Vec<String> = (0..500).map(|n| format!("\"{}{n:03}\":1", "k".repeat(200))).collect();
    let text = parse_arguments(Some(&format!("{{{}}}", many.join(",")))).unwrap();
    let summary = arguments_summary(&arguments_for("pay", &text));
    assert!(summary.ends_with("and 480 more"), "{summary}");
    assert!(summary.len() < 2_000);
}

#[test]
fn debug_shows_only_the_length() {
    let text = parse_arguments(Some(r#"{"secret":"hunter2"}"#)).unwrap();
    assert_eq!(format!("{text:?}"), "CanonicalText(20 bytes)");
}

proptest! {
    #[test]
    fn parsing_is_idempotent(raw in "\\PC{0,60}") {
        if let Ok(text) = parse_arguments(Some(&raw)) {
            prop_assert_eq!(parse_arguments(Some(text.expose())).unwrap(), text);
        }
    }

    #[test]
    fn quoting_and_fencing_change_nothing(members in prop::collection::btree_map("[a-z]{1,5}", any::<i64>(), 0..5)) {
        let plain = serde_json::to_string(&members).unwrap();
        let expected = accepted(&plain);
        prop_assert_eq!(accepted(&serde_json::to_string(&plain).unwrap()), expected.clone());
        prop_assert_eq!(accepted(&format!("```json\n{plain}\n```")), expected);
    }
}
