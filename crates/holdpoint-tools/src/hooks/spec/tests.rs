//! The forms that are read, and the settings that are refused by name.

use holdpoint_core::Repeat;
use serde_json::{Value, json};

use super::super::testing::{Stage, around_call};
use super::*;
use crate::hooks::system_time;
use crate::tool;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register(tool("lookup", "", async || "found").repeat(Repeat::Safe)).unwrap();
    registry.register(tool("refund", "", async || "done")).unwrap();
    registry.register(tool("charge", "", async || "done").repeat(Repeat::WithKey)).unwrap();
    registry
}

fn built(spec: Value) -> Result<Arc<dyn Around>, HookConfigError> {
    let spec: HookSpec = serde_json::from_value(spec).unwrap();
    spec.build(&registry(), &system_time())
}

#[test]
fn every_form_is_read_and_built() {
    let forms = [
        json!({"cache": {}}),
        json!({"cache": {"tool": "lookup", "ttl_ms": 1000, "max_entries": 5, "shared": true}}),
        json!({"cache": {"tool": "look*", "context_keys": ["user"]}}),
        json!({"rate_limit": {"per_second": 5, "burst": 5}}),
        json!({"rate_limit": {"per_second": 5}}),
        json!({"rate_limit": {"tool": "refund", "calls": 10, "window_ms": 60_000, "per": "tenant", "on_limit": "refuse"}}),
        json!({"rate_limit": {"per_second": 1, "per": {"key": "user"}, "on_limit": "wait"}}),
        json!({"rate_limit": {"per_second": 1, "per": "global"}}),
        json!({"circuit_breaker": {"failures": 3, "open_ms": 1000}}),
        json!({"circuit_breaker": {"failures": 3, "open_ms": 1000, "tool": "refund"}}),
        json!({"dry_run": {}}),
        json!({"dry_run": {"tool": "refund"}}),
        json!({"retry": {"attempts": 3, "base_ms": 10}}),
        json!({"retry": {"attempts": 3, "tool": "lookup"}}),
        json!({"concurrency": {"max": 2}}),
        json!({"concurrency": {"max": 2, "tool": "refund", "shared": "spec-tests"}}),
        json!({"instrument": {}}),
        json!({"instrument": {"tool": "ref*"}}),
        json!({"fail": "boom"}),
    ];
    for form in forms {
        assert!(built(form.clone()).is_ok(), "{form}");
    }
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let refused = [
        (json!({"rate_limit": {"per_second": 0}}), "rate_limit", "per_second"),
        (json!({"rate_limit": {}}), "rate_limit", "per_second"),
        (json!({"rate_limit": {"per_second": 1, "calls": 1}}), "rate_limit", "per_second"),
        (json!({"rate_limit": {"per_second": 4_000_000_000_u64}}), "rate_limit", "per_second"),
        (json!({"rate_limit": {"per_second": 1, "burst": 0}}), "rate_limit", "burst"),
        (json!({"rate_limit": {"calls": 1, "window_ms": 86_400_000, "burst": 4_000_000}}), "rate_limit", "burst"),
        (json!({"rate_limit": {"calls": 1, "window_ms": 0}}), "rate_limit", "window_ms"),
        (json!({"rate_limit": {"calls": 1}}), "rate_limit", "window_ms"),
        (json!({"rate_limit": {"calls": 0, "window_ms": 5}}), "rate_limit", "calls"),
        (json!({"rate_limit": {"per_second": 1, "tool": ""}}), "rate_limit", "tool"),
        (json!({"rate_limit": {"per_second": 1, "per": {"key": ""}}}), "rate_limit", "per"),
        (json!({"cache": {"ttl_ms": 0}}), "cache", "ttl_ms"),
        (json!({"cache": {"max_entries": 0}}), "cache", "max_entries"),
        (json!({"cache": {"tool": "refund"}}), "cache", "tool"),
        (json!({"cache": {"tool": "charge"}}), "cache", "tool"),
        (json!({"cache": {"tool": "unknown"}}), "cache", "tool"),
        (json!({"cache": {"tool": ""}}), "cache", "tool"),
        (json!({"cache": {"shared": true, "context_keys": ["user"]}}), "cache", "context_keys"),
        (json!({"circuit_breaker": {"failures": 0, "open_ms": 1}}), "circuit_breaker", "failures"),
        (json!({"circuit_breaker": {"failures": 1, "open_ms": 0}}), "circuit_breaker", "open_ms"),
        (json!({"retry": {"attempts": 0}}), "retry", "attempts"),
        (json!({"concurrency": {"max": 0}}), "concurrency", "max"),
        (json!({"concurrency": {"max": 1, "shared": ""}}), "concurrency", "shared"),
    ];
    for (spec, hook, field) in refused {
        let error = built(spec.clone()).err().unwrap_or_else(|| panic!("{spec} was built"));
        assert_eq!((error.hook, error.field), (hook, field), "{spec}: {error}");
    }
}

#[test]
fn unknown_hooks_and_settings_and_more_than_one_hook_are_not_read() {
    let unreadable = [
        json!({"caches": {}}),
        json!({"rate_limit": {"per_second": -1}}),
        json!({"rate_limit": {"per_second": 5_000_000_000_u64}}),
        json!({"rate_limit": {"per_second": 1, "burst": -3}}),
        json!({"cache": {"ttl_ms": -1}}),
        json!({"retry": {"attempts": 2, "base_ms": -1}}),
        json!({"concurrency": {"max": -1}}),
        json!({"cache": {"size": 3}}),
        json!({"rate_limit": {"per_minute": 3}}),
        json!({"rate_limit": {"per_second": 3, "on_limit": "explode"}}),
        json!({"dry_run": {"always": true}}),
        json!({"cache": {}, "dry_run": {}}),
        json!({}),
    ];
    for spec in unreadable {
        assert!(serde_json::from_value::<HookSpec>(spec.clone()).is_err(), "{spec}");
    }
}

#[tokio::test]
async fn a_hook_that_is_told_to_fail_fails_with_its_message() {
    let stage = Stage::new(vec![built(json!({"fail": "boom"})).unwrap()], around_call("lookup", Repeat::Safe));
    let error = stage.result().await.unwrap_err();
    assert_eq!(error, HookError::new("boom"));
    assert_eq!(stage.ran(), 0);
}
