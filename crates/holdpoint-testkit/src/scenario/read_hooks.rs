//! The hooks of a scenario: their keys and types here, their meaning in the tools crate.

use holdpoint_tools::hooks::{
    CacheSpec, CircuitBreakerSpec, ConcurrencySpec, HookSpec, OnLimitSpec, PerSpec, RateLimitSpec, RetrySpec, ScopeSpec,
};

use super::HookEntry;
use crate::reader::{At, Read};
use crate::yaml::NodeValue;

pub(super) fn hooks(at: &At<'_>) -> Read<Vec<HookEntry>> {
    at.list()?.iter().map(hook).collect()
}

fn hook(at: &At<'_>) -> Read<HookEntry> {
    let mut fields = at.fields()?;
    let kinds = [
        fields.optional("cache", cache)?,
        fields.optional("rate_limit", rate_limit)?,
        fields.optional("circuit_breaker", circuit_breaker)?,
        fields.optional("dry_run", scope)?.map(HookSpec::DryRun),
        fields.optional("retry", retry)?,
        fields.optional("concurrency", concurrency)?,
        fields.optional("instrument", scope)?.map(HookSpec::Instrument),
        fields.optional("fail", At::text)?.map(HookSpec::Fail),
    ];
    fields.finish()?;
    let mut kinds = kinds.into_iter().flatten();
    match (kinds.next(), kinds.next(), at.entries()?.first()) {
        (Some(spec), None, Some((key, inside))) => {
            Ok(HookEntry { line: key.line, path: inside.path.clone(), fields: lines(inside), spec })
        }
        _ => Err(at.problem("a hook has exactly one key")),
    }
}

/// Where each setting stands. A setting that cannot be is found only when the hook is built.
fn lines(at: &At<'_>) -> Vec<(String, u64)> {
    match &at.node.value {
        NodeValue::Map(entries) => entries.iter().map(|(key, _)| (key.text.clone(), key.line)).collect(),
        _ => Vec::new(),
    }
}

fn cache(at: &At<'_>) -> Read<HookSpec> {
    let mut fields = at.fields_or_nothing()?;
    let spec = CacheSpec {
        tool: fields.optional("tool", At::text)?,
        ttl_ms: fields.optional("ttl_ms", At::signed)?,
        max_entries: fields.optional("max_entries", At::signed)?,
        shared: fields.optional("shared", At::flag)?.unwrap_or(false),
        context_keys: fields.optional("context_keys", At::texts)?,
    };
    fields.finish()?;
    Ok(HookSpec::Cache(spec))
}

fn rate_limit(at: &At<'_>) -> Read<HookSpec> {
    let on_limit = [("wait", OnLimitSpec::Wait), ("refuse", OnLimitSpec::Refuse)];
    let mut fields = at.fields()?;
    let spec = RateLimitSpec {
        tool: fields.optional("tool", At::text)?,
        per_second: fields.optional("per_second", At::signed)?,
        calls: fields.optional("calls", At::signed)?,
        window_ms: fields.optional("window_ms", At::signed)?,
        burst: fields.optional("burst", At::signed)?,
        per: fields.optional("per", per)?.unwrap_or_default(),
        on_limit: fields.optional("on_limit", |at| at.word(&on_limit))?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(HookSpec::RateLimit(spec))
}

fn per(at: &At<'_>) -> Read<PerSpec> {
    if let NodeValue::Map(_) = at.node.value {
        let mut fields = at.fields()?;
        let name = fields.required("key", At::text)?;
        fields.finish()?;
        return Ok(PerSpec::Key(name));
    }
    let words = [("tool", &PerSpec::Tool), ("tenant", &PerSpec::Tenant), ("global", &PerSpec::Global)];
    at.word(&words).cloned()
}

fn circuit_breaker(at: &At<'_>) -> Read<HookSpec> {
    let mut fields = at.fields()?;
    let spec = CircuitBreakerSpec {
        tool: fields.optional("tool", At::text)?,
        failures: fields.required("failures", At::signed)?,
        open_ms: fields.required("open_ms", At::signed)?,
    };
    fields.finish()?;
    Ok(HookSpec::CircuitBreaker(spec))
}

fn retry(at: &At<'_>) -> Read<HookSpec> {
    let mut fields = at.fields()?;
    let spec = RetrySpec {
        tool: fields.optional("tool", At::text)?,
        attempts: fields.required("attempts", At::signed)?,
        base_ms: fields.optional("base_ms", At::signed)?.unwrap_or(0),
    };
    fields.finish()?;
    Ok(HookSpec::Retry(spec))
}

fn concurrency(at: &At<'_>) -> Read<HookSpec> {
    let mut fields = at.fields()?;
    let spec = ConcurrencySpec {
        tool: fields.optional("tool", At::text)?,
        max: fields.required("max", At::signed)?,
        shared: fields.optional("shared", At::text)?,
    };
    fields.finish()?;
    Ok(HookSpec::Concurrency(spec))
}

fn scope(at: &At<'_>) -> Read<ScopeSpec> {
    let mut fields = at.fields_or_nothing()?;
    let spec = ScopeSpec { tool: fields.optional("tool", At::text)? };
    fields.finish()?;
    Ok(spec)
}
