//! The hooks that a configuration lists are built as the guide's sample shows them, or refused by name.

use std::collections::BTreeMap;
use std::path::Path;

use holdpoint_core::Repeat;
use holdpoint_tools::hooks::{HookConfigError, HookSpec, system_time};
use holdpoint_tools::{Chain, Registry, tool};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    agents: BTreeMap<String, AgentTable>,
}

#[derive(Deserialize)]
struct AgentTable {
    hooks: Vec<HookSpec>,
}

fn parse(text: &str) -> Result<Vec<HookSpec>, toml::de::Error> {
    let mut file: File = toml::from_str(text)?;
    Ok(file.agents.remove("support").expect("the agent is there").hooks)
}

fn one(hook: &str) -> String {
    format!("[[agents.support.hooks]]\n{hook}\n")
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register(tool("search_web", "Searches", async || "found").repeat(Repeat::Safe)).expect("a new name");
    registry.register(tool("refund", "Pays money back", async || "paid")).expect("a new name");
    registry
}

fn build(specs: &[HookSpec]) -> Result<Chain, HookConfigError> {
    let (registry, time) = (registry(), system_time());
    specs.iter().map(|spec| spec.build(&registry, &time)).collect::<Result<_, _>>().map(Chain::new)
}

#[test]
fn the_sample_of_the_guide_is_built_in_its_order() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/samples/hooks.toml");
    let specs = parse(&std::fs::read_to_string(sample).expect("the sample is there")).expect("hooks");
    let names: Vec<&str> = specs.iter().map(name).collect();
    assert_eq!(
        names,
        [
            "concurrency",
            "rate_limit",
            "rate_limit",
            "rate_limit",
            "cache",
            "retry",
            "circuit_breaker",
            "concurrency",
            "instrument",
            "dry_run"
        ]
    );
    assert_eq!(build(&specs).expect("good settings").len(), specs.len());
}

fn name(spec: &HookSpec) -> &'static str {
    match spec {
        HookSpec::Cache(_) => "cache",
        HookSpec::RateLimit(_) => "rate_limit",
        HookSpec::CircuitBreaker(_) => "circuit_breaker",
        HookSpec::DryRun(_) => "dry_run",
        HookSpec::Retry(_) => "retry",
        HookSpec::Concurrency(_) => "concurrency",
        HookSpec::Instrument(_) => "instrument",
        HookSpec::Fail(_) => "fail",
    }
}

#[test]
fn what_is_not_a_hook_is_not_read() {
    for hook in [
        "caches = {}",
        "cache = { ttl = 3 }",
        "cache = {}\ndry_run = {}",
        "rate_limit = { per_second = 1, burst = -1 }",
        "retry = { base_ms = 3 }",
        "concurrency = { max = \"two\" }",
        "rate_limit = { per_second = 1, per = \"day\" }",
        "dry_run = { tools = \"a\" }",
    ] {
        assert!(parse(&one(hook)).is_err(), "{hook}");
    }
}

#[test]
fn impossible_settings_are_refused_by_hook_and_field() {
    for (hook, names) in [
        ("rate_limit = { per_second = 0 }", ("rate_limit", "per_second")),
        ("rate_limit = { calls = 1, window_ms = 0 }", ("rate_limit", "window_ms")),
        ("circuit_breaker = { failures = 1, open_ms = 0 }", ("circuit_breaker", "open_ms")),
        ("retry = { attempts = 0 }", ("retry", "attempts")),
        ("concurrency = { max = 0 }", ("concurrency", "max")),
        ("cache = { tool = \"refund\" }", ("cache", "tool")),
        ("cache = { tool = \"serach_web\" }", ("cache", "tool")),
        ("cache = { max_entries = 0 }", ("cache", "max_entries")),
    ] {
        let error = build(&parse(&one(hook)).expect(hook)).expect_err(hook);
        assert_eq!((error.hook, error.field), names, "{error}");
    }
}
