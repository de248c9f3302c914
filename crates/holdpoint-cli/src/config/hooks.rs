//! `[[agents.NAME.hooks]]`: what stands around each execution, the outermost first.

use std::sync::Arc;

use holdpoint_endpoints::fields_of;
use holdpoint_tools::hooks::{
    CacheSpec, CircuitBreakerSpec, ConcurrencySpec, HookSpec, RateLimitSpec, RetrySpec, ScopeSpec, system_time,
};
use holdpoint_tools::{Around, Registry};

use super::source::{ConfigError, Source};
use super::table::{Read, Table};
use super::tools::Places;

/// The hooks and their settings. `fail` is for scenarios: nobody wants a hook that always fails.
pub(crate) fn keys_of_kinds() -> [(&'static str, &'static [&'static str]); 7] {
    [
        ("cache", fields_of::<CacheSpec>()),
        ("rate_limit", fields_of::<RateLimitSpec>()),
        ("circuit_breaker", fields_of::<CircuitBreakerSpec>()),
        ("dry_run", fields_of::<ScopeSpec>()),
        ("retry", fields_of::<RetrySpec>()),
        ("concurrency", fields_of::<ConcurrencySpec>()),
        ("instrument", fields_of::<ScopeSpec>()),
    ]
}

/// One hook, with the places of its settings.
#[derive(Clone, Debug)]
pub(crate) struct HookTable {
    spec: HookSpec,
    places: Places,
}

pub(super) fn read(agent: &mut Table<'_>) -> Read<Vec<HookTable>> {
    agent.tables("hooks")?.into_iter().map(hook).collect()
}

fn hook(table: Table<'_>) -> Read<HookTable> {
    let known = keys_of_kinds();
    table.check_keys(&known.map(|(kind, _)| kind))?;
    let source = table.source();
    let mut there = known.into_iter().filter(|(kind, _)| table.has(kind));
    let (kind, settings) = match (there.next(), there.next()) {
        (Some(only), None) => only,
        (None, _) => {
            let wrong = source.wrong(table.span(), "a hook needs a key that says what it is");
            return Err(wrong.hint(format!("known are `{}`", known.map(|(kind, _)| kind).join("`, `"))));
        }
        (Some(_), Some((second, _))) => {
            let wrong = source.wrong(&table.span_of(second), "a hook has one key only");
            return Err(wrong.hint("begin another `[[…hooks]]`: their order counts"));
        }
    };
    let places = match table.peek_table(kind, settings)? {
        Some(settings) => Places::of(&settings),
        None => Places::of(&table),
    };
    Ok(HookTable { spec: table.read()?, places })
}

impl HookTable {
    /// The hook itself. The registry has the agent's tools.
    pub(crate) fn build(&self, source: &Source, registry: &Registry) -> Result<Arc<dyn Around>, ConfigError> {
        self.spec
            .build(registry, &system_time())
            .map_err(|error| source.wrong(self.places.of_key(error.field), error.to_string()))
    }
}
