//! Every mistake is told with its place, its key and what was meant.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdpoint_core::Repeat;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Document, Flatten, KeyPath, Millis, Named, Problem, RawJson, SecretSource, TableOr, Variants, from_json, named,
    within,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Server {
    listen: String,
    max_runs: u32,
    ratio: f64,
    worker: bool,
    mode: Mode,
    deadline: Option<Millis>,
    files: Vec<PathBuf>,
    secret: Option<SecretSource>,
    hooks: Vec<Hook>,
    names: BTreeMap<String, u64>,
    inner: Option<Inner>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Enforce,
    LogOnly,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Hook {
    #[allow(dead_code, reason = "only read")]
    RateLimit(RateLimit),
    DryRun,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateLimit {
    #[allow(dead_code, reason = "only read")]
    per_second: u32,
}

#[derive(Debug, Deserialize)]
struct Inner {
    #[allow(dead_code, reason = "only read")]
    name: String,
}

fn told<T: serde::de::DeserializeOwned>(text: &str) -> String {
    match Document::toml(text, "f.toml").and_then(|document| document.read::<T>()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn mistakes_are_told_with_place_key_and_hint() {
    for (text, wanted) in [
        ("listen = 1\n", "f.toml:1:10: `listen` must be a string, but is a number"),
        ("\n  listen = [1]", "f.toml:2:12: `listen` must be a string, but is a list"),
        ("max_runs = \"7\"", "f.toml:1:12: `max_runs` must be a whole number, but is a string"),
        ("max_runs = -1", "f.toml:1:12: `max_runs` is -1, and must not be negative"),
        ("max_runs = 5_000_000_000", "f.toml:1:12: `max_runs` is 5000000000, which is too large"),
        ("max_runs = 1.5", "f.toml:1:12: `max_runs` must be a whole number, but is a decimal number"),
        ("ratio = true", "f.toml:1:9: `ratio` must be a number, but is a boolean"),
        ("worker = \"yes\"", "f.toml:1:10: `worker` must be `true` or `false`, but is a string"),
        ("mode = \"log_onli\"", "f.toml:1:8: `mode` cannot be `log_onli`\nhint: did you mean `log_only`?"),
        ("mode = \"off\"", "f.toml:1:8: `mode` cannot be `off`\nhint: known are `enforce`, `log_only`"),
        ("listen = 2020-01-01", "f.toml:1:10: `listen` must not be a date\nhint: write it as a string in quotes"),
        ("files = [\"a\", 2]", "f.toml:1:15: `files[1]` must be a path, but is a number"),
        ("files = \"a\"", "f.toml:1:9: `files` must be a list, but is a string"),
        ("names = { a = 1, b = \"x\" }", "f.toml:1:22: `names.b` must be a whole number, but is a string"),
        ("inner = 3", "f.toml:1:9: `inner` must be a table, but is a number"),
        ("[inner]\n", "f.toml:1:1: `inner` needs `name`"),
        ("[inner]\nnam = \"a\"", "f.toml:2:1: `inner.nam` is an unknown key\nhint: did you mean `name`?"),
        ("listem = \"a\"", "f.toml:1:1: `listem` is an unknown key\nhint: did you mean `listen`?"),
        ("max = 3", "f.toml:1:1: `max` is an unknown key\nhint: did you mean `max_runs`?"),
        (
            "deadline = \"4x\"",
            "f.toml:1:12: `deadline` is not a duration\nhint: write a whole number and `ms`, `s`, `m`, `h` or `d`, as in `30s` or `4h`",
        ),
        ("listen = \"a\"\nlisten = \"b\"", "f.toml:2:1: the file is not TOML: duplicate key"),
        (
            "[[hooks]]\nrate_limt = {}",
            "f.toml:2:1: `hooks[0].rate_limt` is an unknown key\nhint: did you mean `rate_limit`?",
        ),
        (
            "[[hooks]]\n",
            "f.toml:1:1: `hooks[0]` must have one key, but has 0\nhint: it is one of `rate_limit`, `dry_run`",
        ),
        (
            "[[hooks]]\nrate_limit = { per_secnd = 1 }",
            "f.toml:2:16: `hooks[0].rate_limit.per_secnd` is an unknown key\nhint: did you mean `per_second`?",
        ),
        ("[[hooks]]\nrate_limit = {}", "f.toml:2:14: `hooks[0].rate_limit` needs `per_second`"),
    ] {
        assert_eq!(told::<Server>(text), wanted, "{text}");
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_never_quoted() {
    for text in [
        "secret = \"s3cret\"",
        "secret = { env = \"s3cret-token\" }",
        "secret = { env = \"A\", file = \"s3cret\" }",
        "secret = [\"s3cret\"]",
        "max_runs = \"s3cret\"",
        "worker = \"s3cret\"",
        "deadline = \"s3cret\"",
        "inner = \"s3cret\"",
    ] {
        let told = told::<Server>(text);
        assert!(!told.contains("s3cret"), "{told}");
    }
    assert_eq!(
        told::<Server>("secret = \"s3cret\""),
        "f.toml:1:10: `secret` must be a table with `env` or `file`, but is a string"
    );
    let document = Document::toml("listen = \"s3cret\"", "f.toml").unwrap();
    assert_eq!(format!("{document:?}"), "Document(f.toml)");
}

#[test]
fn columns_count_characters() {
    assert_eq!(
        told::<Server>("# ünïcode\nlisten = \"ü\"\nlisen = \"\""),
        "f.toml:3:1: `lisen` is an unknown key\nhint: did you mean `listen`?"
    );
    assert_eq!(
        told::<Server>("inner = { name = \"üü\", nam = \"\" }"),
        "f.toml:1:24: `inner.nam` is an unknown key\nhint: did you mean `name`?"
    );
}

#[derive(Debug, Deserialize)]
struct Model {
    model: String,
    temperature: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Limits {
    #[serde(default)]
    max_turns: u32,
}

type Agent = Flatten<Model, Flatten<Limits, Server>>;

#[test]
fn structs_share_a_table() {
    let document = Document::toml("max_turns = 3\nmodel = \"m\"\nlisten = \"here\"", "f.toml").unwrap();
    let Flatten(model, Flatten(limits, server)) = document.read::<Agent>().unwrap();
    assert_eq!((model.model.as_str(), limits.max_turns, server.listen.as_str()), ("m", 3, "here"));
    assert_eq!(model.temperature, None);
}

#[test]
fn a_key_that_no_struct_of_the_table_has_is_unknown() {
    assert_eq!(
        told::<Agent>("model = \"m\"\nlisten = \"a\"\nmax_turn = 3"),
        "f.toml:3:1: `max_turn` is an unknown key\nhint: did you mean `max_turns`?"
    );
    // A missing key may only be misspelt.
    assert_eq!(told::<Agent>("modle = \"m\""), "f.toml:1:1: `modle` is an unknown key\nhint: did you mean `model`?");
    assert_eq!(told::<Agent>("max_turns = 3"), "f.toml:1:1: the file needs `model`");
    assert_eq!(told::<Agent>("model = 3"), "f.toml:1:9: `model` must be a string, but is a number");
}

#[derive(Debug, Deserialize)]
struct Tool {
    #[serde(default, deserialize_with = "named")]
    repeat: Repeat,
    parameters: Option<TableOr<Limits, String>>,
}

#[test]
fn words_of_the_core_and_values_of_two_forms_are_read() {
    let document = Document::toml("repeat = \"with_key\"\nparameters = \"a.json\"", "f.toml").unwrap();
    let tool: Tool = document.read().unwrap();
    assert_eq!(tool.repeat, Repeat::WithKey);
    assert!(matches!(tool.parameters, Some(TableOr::Other(path)) if path == "a.json"));
    assert_eq!(
        told::<Tool>("repeat = \"safee\""),
        "f.toml:1:10: `repeat` cannot be `safee`\nhint: did you mean `safe`?"
    );
    assert_eq!(
        told::<Tool>("parameters = { max_turns = -1 }"),
        "f.toml:1:28: `parameters.max_turns` is -1, and must not be negative"
    );
    assert_eq!(told::<Tool>("parameters = 3"), "f.toml:1:14: `parameters` must be a string, but is a number");
}

#[test]
fn a_value_of_a_program_is_checked_like_a_document() {
    let Flatten(model, _): Agent = from_json(json!({ "model": "m", "max_turns": 3 })).unwrap();
    assert_eq!(model.model, "m");
    let problem = from_json::<Agent>(json!({ "model": "m", "max_turn": 3 })).unwrap_err();
    assert_eq!(problem.to_string(), "`max_turn` is an unknown key\nhint: did you mean `max_turns`?");
    assert_eq!(problem.code().as_str(), "invalid_config");
}

#[test]
fn a_key_that_cannot_be_a_name_is_told_at_the_key() {
    let document = Document::toml("[agents.\"my agent\"]\n", "f.toml").unwrap();
    let error = document.error(Problem::at_key(["agents", "my agent"], "cannot be a name"));
    assert_eq!(error.to_string(), "f.toml:1:9: `agents.my agent` cannot be a name");
}

#[test]
fn free_keys_keep_the_order_of_the_file() {
    let document = Document::toml("b = 1\na = 2\nc = 3", "f.toml").unwrap();
    let Named(entries) = document.read::<Named<u64>>().unwrap();
    assert_eq!(entries.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
}

#[test]
fn a_value_can_be_taken_as_json_with_every_digit() {
    let document =
        Document::toml("n = { b = 1.50, a = 0xff, c = 9007199254740993, d = [true, \"x\"] }", "f.toml").unwrap();
    let RawJson(text) = document.read_at("n").unwrap();
    assert_eq!(text, r#"{"b":1.50,"a":255,"c":9007199254740993,"d":[true,"x"]}"#);
}

#[test]
fn problems_found_later_get_the_place_of_their_key() {
    let text = "[a.tools.t]\nurl = \"x\"\nheaders = { A = \"b\" }\n[[a.hooks]]\n[[a.hooks]]\n";
    let document = Document::toml(text, "f.toml").unwrap();
    let tool = KeyPath::from(["a", "tools", "t"]);
    for (problem, wanted) in [
        (Problem::at("url", "is wrong").below(tool.clone()), "f.toml:2:7: `a.tools.t.url` is wrong"),
        (Problem::at(["headers", "A"], "is wrong").below(tool.clone()), "f.toml:3:17: `a.tools.t.headers.A` is wrong"),
        (Problem::at("method", "is missing").below(tool.clone()), "f.toml:1:1: `a.tools.t.method` is missing"),
        (Problem::at(KeyPath::from(["a", "hooks"]).index(1), "is wrong"), "f.toml:5:1: `a.hooks[1]` is wrong"),
        (Problem::at(KeyPath::from(["a", "hooks"]).index(7), "is wrong"), "f.toml:4:1: `a.hooks[7]` is wrong"),
        (Problem::new("has no agent\nhint: begin one"), "f.toml:1:1: the file has no agent\nhint: begin one"),
        (within("url", 7, 1..=3).unwrap_err(), "f.toml:1:1: `url` is 7, and must be between 1 and 3"),
    ] {
        assert_eq!(document.error(problem).to_string(), wanted);
    }
}

#[test]
fn several_problems_are_told_together() {
    let document = Document::toml("a = 1\nb = 2", "f.toml").unwrap();
    let error = document.errors([Problem::at("a", "is wrong\nhint: do this"), Problem::at("b", "is wrong too")]);
    assert_eq!(error.to_string(), "f.toml:1:5: `a` is wrong\nhint: do this\nf.toml:2:5: `b` is wrong too");
    assert_eq!(error.problems().len(), 2);
}

#[test]
fn a_file_that_cannot_be_read_has_no_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.toml");
    let load = |max_bytes| Document::load_toml(&path, max_bytes).unwrap_err().to_string();
    assert_eq!(load(10), format!("{}: the file cannot be read: entity not found", path.display()));
    std::fs::write(&path, "a = \"0123456789\"").unwrap();
    assert_eq!(load(10), format!("{}: the file has more than 10 bytes", path.display()));
    std::fs::write(&path, b"\xff").unwrap();
    assert_eq!(load(10), format!("{}: the file is not UTF-8", path.display()));
    std::fs::write(&path, "a = 1").unwrap();
    assert_eq!(Document::load_toml(&path, 10).unwrap().path("b"), folder.path().join("b"));
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Check {
    Turns(u64),
    Text(Option<String>),
}

#[derive(Debug, Deserialize)]
struct Expecting {
    #[serde(default)]
    expect: Variants<Check>,
}

#[test]
fn the_keys_of_a_table_can_be_variants_in_the_order_of_the_file() {
    let document = Document::toml("text = \"a\"\nturns = 3", "f.toml").unwrap();
    let Variants(checks) = document.read::<Variants<Check>>().unwrap();
    assert_eq!(checks, [Check::Text(Some("a".to_owned())), Check::Turns(3)]);
    for (text, wanted) in [
        ("turn = 3", "f.toml:1:1: `turn` is an unknown key\nhint: did you mean `turns`?"),
        ("text = \"a\"\nturns = \"b\"", "f.toml:2:9: `turns` must be a whole number, but is a string"),
    ] {
        assert_eq!(told::<Variants<Check>>(text), wanted);
    }
    assert_eq!(told::<Expecting>("expect = [1]"), "f.toml:1:10: `expect` must be a table, but is a list");
}

#[test]
fn an_enum_can_share_a_table_with_a_struct() {
    type Step = Flatten<Expecting, Hook>;
    let document = Document::toml("rate_limit = { per_second = 1 }\nexpect = { turns = 1 }", "f.toml").unwrap();
    let Flatten(Expecting { expect }, hook) = document.read::<Step>().unwrap();
    assert!(matches!(hook, Hook::RateLimit(_)) && expect.0.len() == 1);
    for (text, wanted) in [
        ("expect = {}\nrate_limt = {}", "f.toml:2:1: `rate_limt` is an unknown key\nhint: did you mean `rate_limit`?"),
        (
            "expect = {}",
            "f.toml:1:1: the file must have one key, but has 0\nhint: it is one of `rate_limit`, `dry_run`",
        ),
    ] {
        assert_eq!(told::<Step>(text), wanted);
    }
}

#[test]
fn a_table_can_be_read_otherwise_than_other_values() {
    type Limit = BTreeMap<String, TableOr<Inner, Vec<u32>>>;
    let document = Document::toml("a = { name = \"x\" }\nb = [7]", "f.toml").unwrap();
    let read = document.read::<Limit>().unwrap();
    assert!(matches!(&read["a"], TableOr::Table(inner) if inner.name == "x"));
    assert!(matches!(&read["b"], TableOr::Other(list) if list[..] == [7]));
    for (text, wanted) in [
        ("a = { nam = 1 }", "f.toml:1:7: `a.nam` is an unknown key\nhint: did you mean `name`?"),
        ("a = [7, \"x\"]", "f.toml:1:9: `a[1]` must be a whole number, but is a string"),
        ("a = true", "f.toml:1:5: `a` must be a list, but is a boolean"),
    ] {
        assert_eq!(told::<Limit>(text), wanted);
    }
}

#[test]
fn dates_and_infinite_numbers_have_no_json() {
    for text in ["a = 2020-01-01", "a = [2020-01-01]", "a = inf", "a = { b = nan }"] {
        assert!(told::<BTreeMap<String, RawJson>>(text).starts_with("f.toml:1:5: `a` must not be "), "{text}");
    }
}
