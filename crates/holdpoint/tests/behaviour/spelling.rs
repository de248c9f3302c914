//! Whatever text a model writes for a call, or a person for its arguments: the rule that decides is the rule for what the
//! tool receives. Nobody here trusts the driver: the tool tells what it got, and the rules are asked about that again.

use std::sync::{Arc, LazyLock, Mutex};

use holdpoint::internal::RecordedRuns;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::Rules;
use holdpoint::tools::{Tool, ToolCall, raw_tool};
use holdpoint::{Agent, CallAnswer, Decision, Decisions, EditedArguments, RunResult};
use holdpoint_policy::{Decide, RecordedCall};
use holdpoint_store::{MemoryStore, RunFilter, Store};
use proptest::prelude::*;
use serde_json::json;

const RULES: &str = r#"
[[rule]]
name = "exactly one"
tool = "{pay,fs_write}"
when = { "/amount" = 1 }
decide = "deny"
[[rule]]
name = "zero"
tool = "pay"
when = { "/amount" = 0 }
decide = "confirm"
[[rule]]
name = "beyond a double"
tool = "pay"
when = { "/amount" = { gt = 9007199254740992 } }
decide = "confirm"
[[rule]]
name = "small"
tool = "pay"
when = { "/amount" = { gte = 0.5, lte = 100 } }
decide = "allow"
[[rule]]
name = "negative"
tool = "pay"
when = { "/amount" = { lt = 0 } }
decide = "deny"
[[rule]]
name = "no amount"
tool = "pay"
when = { "/amount" = { present = false } }
decide = "allow"
[[rule]]
name = "vault"
tool = "fs_*"
when = { "/to/path" = { path_under = "/srv/vault" } }
decide = "deny"
[[rule]]
name = "below srv"
tool = "fs_*"
when = { "/to/path" = { path_under = "/srv" } }
decide = "allow"
[[rule]]
name = "admin"
tool = "{pay,fs_*}"
when = { "/to/tags" = { any = { starts_with = "admin" } } }
decide = "confirm"
[[rule]]
name = "our host"
tool = "fs_write"
when = { "/url" = { host = ["example.com", "*.example.com"] } }
decide = "allow"
[[rule]]
name = "null"
tool = "fs_write"
when = { "/amount" = { present = true, ne = 7 } }
decide = "confirm"
[[rule]]
name = "upper case"
tool = "FS_WRITE"
decide = "deny"
[[rule]]
name = "rest"
tool = "*"
decide = "confirm"
"#;

const TOOLS: [&str; 5] = ["pay", "fs_write", "fs_read", "FS_WRITE", "fs.list"];

static PARSED: LazyLock<Arc<Rules>> = LazyLock::new(|| Arc::new(Rules::parse(RULES, "policy.toml").unwrap()));

/// What the tools received, and what the log says was decided.
struct Outcome {
    executed: Vec<(String, String)>,
    recorded: Vec<RecordedCall>,
}

/// Runs one call; a person who is asked says this.
async fn run(name: &str, raw: &str, person: impl Fn(&str) -> CallAnswer) -> Outcome {
    let executed = Arc::new(Mutex::new(Vec::new()));
    let tool = |name: &&str| -> Arc<dyn Tool> {
        let (executed, registered) = (Arc::clone(&executed), (*name).to_owned());
        Arc::new(raw_tool(*name, "", json!({}), move |call: ToolCall| {
            executed.lock().unwrap().push((registered.clone(), call.arguments().expose().to_owned()));
            async { "ok".to_owned() }
        }))
    };
    let store = Store::from(MemoryStore::new());
    let model = ScriptedModel::new(vec![ScriptedReply::call("c", name, raw), ScriptedReply::text("done")]);
    let agent = Agent::builder().model(model).tools(TOOLS.iter().map(tool)).store(store.clone());
    let agent = agent.shared_policy(Some(PARSED.clone())).build().unwrap();
    let mut result: Option<RunResult> = Some(agent.chat("go").await.unwrap());
    while let Some(paused) = result.filter(RunResult::is_awaiting_confirmation) {
        let asked = paused.pending_confirmations().remove(0);
        assert!(executed.lock().unwrap().is_empty(), "nothing runs before a person says so");
        let decisions = Decisions::new().decide(asked.id.clone(), person(asked.arguments.expose())).by("ana");
        // An edit that cannot be understood changes nothing.
        result = agent.resume(paused.continuation().unwrap(), decisions).await.ok();
    }
    let recorded = RecordedRuns::new(store, RunFilter::default()).next().await.unwrap();
    let executed = executed.lock().unwrap().clone();
    Outcome { executed, recorded: recorded.map(|run| run.calls).unwrap_or_default() }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// What the rules say about what a tool received.
fn again(tool: &str, arguments: &str) -> Decision {
    PARSED.decide(tool, arguments).unwrap()
}

/// Every decision of the log is the one for its arguments, and what ran is what was last decided about and not denied.
fn consistent(outcome: &Outcome, name: &str) -> Result<(), TestCaseError> {
    for RecordedCall { tool, arguments, decided, .. } in &outcome.recorded {
        prop_assert_eq!(&decided.clone().by_policy(None), &again(tool.as_str(), arguments.expose()));
    }
    prop_assert!(outcome.executed.len() <= 1);
    let last = outcome.recorded.last();
    let Some((tool, arguments)) = outcome.executed.first() else {
        return Ok(());
    };
    let last = last.expect("nothing runs undecided");
    prop_assert!(name == tool || name.replace('.', "_") == *tool, "{} runs {}", name, tool);
    prop_assert_eq!(last.tool.as_str(), tool);
    prop_assert_eq!(last.arguments.expose(), arguments);
    let decided = again(tool, arguments);
    prop_assert_eq!(&last.decided.clone().by_policy(None), &decided, "another rule decided than the one for what ran");
    prop_assert_ne!(Decide::of(&decided), Decide::Deny, "what ran is denied");
    Ok(())
}

/// Forms of numbers, many of them of the same ones.
const NUMBERS: [&str; 34] = [
    "1",
    "1.0",
    "1e0",
    "100e-2",
    "10E-1",
    "0.1e1",
    "1.00000000000000000000",
    "1.0000000000000000000001",
    "0.99999999999999999999",
    "0",
    "-0",
    "0.0",
    "-0.0e9",
    "0e400",
    "-1",
    "-1.0",
    "0.5",
    "5e-1",
    "0.49999999999999999999",
    "100",
    "1e2",
    "1E+02",
    "100.00000000000000001",
    "101",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0",
    "90071992547409930e-1",
    "18446744073709551617",
    "1e19",
    "123456789012345678901234567890",
    "1e400",
    "01",
    "+1",
];

/// Texts that rules look for, that look alike, and that lead elsewhere.
const WORDS: [&str; 20] = [
    "admin",
    "Admin",
    "\u{430}dmin",
    "\\u0061dmin",
    "adm\\u0069n",
    "a\u{200b}dmin",
    "admin\u{301}",
    "/srv/a",
    "/srv/vault/k",
    "/srv\\/vault",
    "/srv/x/../vault/k",
    "/srv/./vault",
    "\\u002fsrv/vault/k",
    "/SRV/vault",
    "/srv/vau\u{217c}t",
    "https://example.com/",
    "https://example.com@evil.org/",
    "HTTPS://A.EXAMPLE.COM",
    "https://ex\u{430}mple.com",
    "1",
];

/// Names of members: those that rules ask for, and others that look like them.
const KEYS: [&str; 12] = [
    "amount",
    "amount",
    "to",
    "path",
    "tags",
    "url",
    "Amount",
    "\\u0061mount",
    "\u{430}mount",
    "amount ",
    "arguments",
    "",
];

fn space() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["", "", " ", "\n\t"])
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => proptest::sample::select(NUMBERS.to_vec()).prop_map(str::to_owned),
        3 => proptest::sample::select(WORDS.to_vec()).prop_map(|word| format!("\"{word}\"")),
        1 => proptest::sample::select(vec!["null", "true", "false", "{}", "[]", "\"\"", "nul", "NaN"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            object(inner.clone()),
            proptest::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

fn object(inner: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let member = (proptest::sample::select(KEYS.to_vec()), inner, space());
    proptest::collection::vec(member, 0..4).prop_map(|members| {
        let members = members.into_iter().map(|(key, value, space)| format!("{space}\"{key}\"{space}:{value}{space}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    })
}

/// A call that rules are about: places that they look at, with values in all forms.
fn likely() -> impl Strategy<Value = String> {
    let numbers = || proptest::sample::select(NUMBERS[..32].to_vec());
    let words = || proptest::sample::select(WORDS.to_vec());
    let parts = (proptest::option::of(numbers()), proptest::option::of(words()), words(), words(), any::<bool>());
    parts.prop_map(|(amount, path, tag, url, twice)| {
        let mut members = vec![format!("\"to\":{{\"tags\":[\"{tag}\"]}}"), format!("\"url\":\"{url}\"")];
        if let Some(path) = path {
            members[0] = format!("\"to\" : {{\"path\":\"{path}\",\"tags\":[1, \"{tag}\"]}}");
        }
        members.extend(amount.map(|amount| format!("\"amount\":{amount}")));
        if twice && amount.is_some() {
            members.push(format!("\"\\u0061mount\":{}", 7));
        }
        format!("{{{}}}", members.join(", "))
    })
}

/// The text of a call's arguments, wrapped as models wrap it.
fn raw() -> impl Strategy<Value = String> {
    let inner = prop_oneof![3 => likely(), 2 => object(value().boxed()), 1 => value()];
    (inner, 0..7_u8).prop_map(|(text, wrapping)| match wrapping {
        0 => serde_json::Value::from(text).to_string(),
        1 => format!("```json\n{text}\n```"),
        2 => format!("```\n{}\n```", serde_json::Value::from(text)),
        3 => format!("{{\"arguments\":{text}}}"),
        4 => format!("  {text}\n"),
        _ => text,
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(TOOLS.to_vec()).prop_map(str::to_owned),
        2 => "fs[._]write|fs[._]read|fs[._]list|FS[._]WRITE",
        1 => "[pP][aA\u{430}][yY\u{443}]|fs_writ(\u{435}|e\u{301}|e\u{200b})| ?pay ?|fs[\u{ff3f}\u{2024}]write",
    ]
}

proptest! {
    #[test]
    fn the_rule_that_decides_is_the_rule_for_what_the_tool_receives(name in name(), raw in raw()) {
        let outcome = wait(run(&name, &raw, |_| CallAnswer::Allow));
        consistent(&outcome, &name)?;
        let asked = outcome.recorded.first().map(|call| Decide::of(&call.decided));
        match asked {
            Some(Decide::Allow | Decide::Confirm) => prop_assert_eq!(outcome.executed.len(), 1),
            Some(Decide::Deny) | None => prop_assert!(outcome.executed.is_empty()),
        }
    }

    #[test]
    fn what_a_person_writes_instead_is_decided_about_as_it_runs(raw in raw(), edited in raw()) {
        let outcome = wait(run("fs.list", &raw, |shown| {
            // Whoever sees their own edit is asked again, and agrees.
            let text = holdpoint_codec::parse_arguments(Some(&edited)).ok();
            if text.is_some_and(|text| text.expose() == shown) {
                CallAnswer::Allow
            } else {
                CallAnswer::AllowEdited(EditedArguments::from_text(edited.as_str()))
            }
        }));
        consistent(&outcome, "fs.list")?;
    }
}

/// Sets of texts that one rule is about. A whole number stays exact; one with a fraction or an exponent runs as a double,
/// and is decided about as one.
#[test]
fn spellings_of_one_call_run_alike() {
    let alike: [(&str, &[&str], &str); 5] = [
        ("pay", &["1", "1.0", "1e0", "100e-2", "10E-1", "0.1e1", "1.0000000000000000000001"], "exactly one"),
        ("pay", &["0", "-0", "0.0", "-0.0e9", "0e400"], "zero"),
        ("pay", &["9007199254740993", "9007199254740994.0", "1e19", "18446744073709551617"], "beyond a double"),
        ("pay", &["100", "1e2", "1E+02", "100.0"], "small"),
        ("pay", &["-1", "-1.0", "-10e-1"], "negative"),
    ];
    for (tool, spellings, rule) in alike {
        for spelling in spellings {
            let outcome = wait(run(tool, &format!("{{\"amount\":{spelling}}}"), |_| CallAnswer::Allow));
            let decided = &outcome.recorded[0].decided;
            assert_eq!(decided.ground().rule.as_deref(), Some(rule), "{spelling}");
            assert_eq!(outcome.executed.is_empty(), Decide::of(decided) == Decide::Deny, "{spelling}");
        }
    }
}
