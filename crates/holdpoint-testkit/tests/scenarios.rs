//! Every scenario of the project holds, and a scenario that should not hold does not.

use std::path::{Path, PathBuf};

use holdpoint_testkit::{Report, RunOptions, Summary, Verdict, run_path, run_text};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn run(text: &str) -> Report {
    run_text(text, "inline.yaml", &RunOptions::default())
}

/// The step and the path at which it fails.
fn failure(text: &str) -> (usize, String) {
    match run(text).verdict {
        Verdict::Failed { step: Some((step, _)), difference } => (step, difference.path),
        other => panic!("expected a failure, found {other:?}"),
    }
}

#[test]
fn every_scenario_of_the_project_holds() {
    let reports = run_path(&[folder()], &RunOptions::default());
    let bad: Vec<String> = reports.iter().filter(|report| !report.ok()).map(|r| format!("{}: {r}", r.file)).collect();
    assert!(bad.is_empty(), "{} of {} do not hold\n{}", bad.len(), reports.len(), bad.join("\n"));
    assert!(reports.len() >= 90, "only {} scenarios", reports.len());
}

#[test]
fn scenario_names_are_sentences_of_their_own() {
    let mut names = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder()).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let scenario = holdpoint_testkit::parse(&text, &path.display().to_string()).expect("a scenario");
        assert!(scenario.name.contains(' '), "`{}` is not a sentence", scenario.name);
        if let Some(other) = names.insert(scenario.name.clone(), path.clone()) {
            panic!("`{}` is the name of {} and {}", scenario.name, other.display(), path.display());
        }
    }
}

const ONE_CALL: &str = "
name: one call
tools: {pay: {does: {return: paid}}}
policy: [{tool: pay, decide: confirm, reason: money}]
model: [{calls: [{id: a, tool: pay, arguments: {n: 1}}]}, {text: done}]
steps:
  - run: {input: go}
";

#[test]
fn wrong_expectations_fail_at_their_path() {
    for (expect, path) in [
        ("{stop_reason: end_turn}", "stop_reason"),
        ("{executed: [pay]}", "executed"),
        ("{pending: [{id: a, arguments: {n: 2}}]}", "pending[0].arguments.n"),
        ("{messages: [{role: assistant, calls: [b]}]}", "messages[0].calls"),
        ("{model_calls: 2}", "model_calls"),
        ("{events: [done, paused]}", "events"),
        ("{status: finished}", "status"),
        ("{records: [{outcome: succeeded}]}", "records[0].outcome"),
        ("{error: wrong_pause}", "error"),
        ("{continuation: {new: false}}", "continuation.new"),
        ("{logged: [a text that nobody logs]}", "logged[0]"),
        ("{not_logged: [holdpoint.pause]}", "not_logged[0]"),
    ] {
        assert_eq!(failure(&format!("{ONE_CALL}    expect: {expect}\n")), (1, path.to_owned()), "{expect}");
    }
}

#[test]
fn wrong_expectations_of_later_steps_name_their_step() {
    let steps = "  - save: {as: s}\n    expect: {saved: {/turn: 2}}\n";
    assert_eq!(failure(&format!("{ONE_CALL}{steps}")), (2, "saved./turn".to_owned()));
    let steps = "  - race: {n: 3, answer: {decisions: {a: allow}}}\n    expect: {won: 3}\n";
    assert_eq!(failure(&format!("{ONE_CALL}{steps}")), (2, "won".to_owned()));
    let steps = "  - answer: {decisions: {a: allow}}\n    expect: {messages: [{text: paid}, {text: other}]}\n";
    assert_eq!(failure(&format!("{ONE_CALL}{steps}")), (2, "messages[1].text".to_owned()));
}

#[test]
fn an_error_that_is_not_expected_fails_the_scenario() {
    let steps = "  - answer: {decisions: {b: allow}}\n";
    assert_eq!(failure(&format!("{ONE_CALL}{steps}")), (2, "error".to_owned()));
}

#[test]
fn running_out_of_replies_fails_the_scenario() {
    let text = "
name: out of replies
tools: {look: {}}
policy: [{tool: look, decide: allow}]
model: [{calls: [{id: a, tool: look, arguments: {}}]}]
steps:
  - run: {input: go}
    expect: {stop_reason: provider_error}
";
    assert_eq!(failure(text), (1, "model".to_owned()));
}

#[test]
fn what_is_not_a_scenario_is_named_with_its_line() {
    for (text, line) in [
        ("name: x\nsteps: []\nagents: {}\n", 3),
        ("name: x\nsteps:\n  - run: {input: a}\n    expect: {executd: []}\n", 4),
        ("name: x\npolicy:\n  - {tool: '[', decide: allow}\nsteps: []\n", 3),
        ("name: x\npolicy:\n  - {tool: a, decide: allow}\n  - {tool: a, decide: allow, quorum: 2}\nsteps: []\n", 4),
        ("name: x\nsteps:\n  - policy: [{tool: a, decide: allow, when: {/a: {matches: '('}}}]\n", 3),
    ] {
        let report = run(text);
        let Verdict::NotAScenario(error) = &report.verdict else { panic!("{text}: {report}") };
        assert_eq!(error.place().map(|place| place.line), Some(line), "{error}");
        assert_eq!(Summary::of(&[report]).exit_code(), 2);
    }
}

#[test]
fn impossible_hooks_are_refused_with_their_line_and_field() {
    for (hook, line, key) in [
        ("{rate_limit: {per_second: 0, burst: 1}}", 5, "rate_limit.per_second"),
        ("rate_limit:\n      per_second: 1\n      burst: -1", 7, "rate_limit.burst"),
        ("rate_limit:\n      burst: 1", 6, "rate_limit.per_second"),
        ("rate_limit:\n      calls: 1\n      window_ms: 0", 7, "rate_limit.window_ms"),
        ("{circuit_breaker: {failures: 0, open_ms: 1}}", 5, "circuit_breaker.failures"),
        ("{circuit_breaker: {failures: 1, open_ms: 0}}", 5, "circuit_breaker.open_ms"),
        ("{retry: {attempts: 0, base_ms: 1}}", 5, "retry.attempts"),
        ("{concurrency: {max: 0}}", 5, "concurrency.max"),
        ("{cache: {ttl_ms: 0}}", 5, "cache.ttl_ms"),
        ("{cache: {tool: pay}}", 5, "cache.tool"),
        ("{dry_run: {tool: ''}}", 5, "dry_run.tool"),
    ] {
        let report = run(&format!("name: x\ntools: {{pay: {{}}}}\nhooks:\n  - {{fail: a}}\n  - {hook}\nsteps: []\n"));
        let Verdict::NotAScenario(error) = &report.verdict else { panic!("{hook}: {report}") };
        let place = error.place().expect("a place");
        let path = error.problem().expect("a problem").path().to_string();
        assert_eq!((place.line, path), (line, format!("hooks[1].{key}")), "{error}");
        assert_eq!(Summary::of(&[report]).exit_code(), 2);
    }
}

#[test]
fn exit_codes_say_the_worst() {
    let held = run("name: nothing happens\nsteps: []\n");
    let failed = run(&format!("{ONE_CALL}    expect: {{turns: 9}}\n"));
    let broken = run("name: [\n");
    let code = |reports: &[&Report]| Summary::of(&reports.iter().map(|r| (*r).clone()).collect::<Vec<_>>()).exit_code();
    assert_eq!(code(&[&held]), 0);
    assert_eq!(code(&[&held, &failed]), 1);
    assert_eq!(code(&[&failed, &broken, &held]), 2);
}

#[test]
fn reports_have_a_line_and_a_stable_json_form() {
    let held = run("name: nothing happens\nsteps: []\n");
    assert_eq!(held.to_string(), "ok nothing happens");
    let failed = run(&format!("{ONE_CALL}    expect: {{turns: 9}}\n"));
    assert_eq!(failed.to_string(), "FAILED one call\n  step 1 (run)\n  path turns\n  expected 9\n  seen 1");
    assert_eq!(
        failed.to_json(),
        r#"{"file":"inline.yaml","name":"one call","ok":false,"step":1,"path":"turns","expected":9,"seen":1}"#
    );
}

#[test]
fn missing_files_and_empty_folders_are_not_scenarios() {
    let reports = run_path(&[PathBuf::from("no-such-file.yaml")], &RunOptions::default());
    assert_eq!(Summary::of(&reports).exit_code(), 2);
}
