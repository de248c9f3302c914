//! `[agents.NAME]`: one agent.

use std::path::PathBuf;

use holdpoint::{Parallel, Settings, Siblings};
use holdpoint_core::{ContextWindow, ErrorDetail, FinalTools, Limits, ParallelToolCalls, Recheck, ResultOrder, Route};

use super::hooks::{self, HookTable};
use super::mcp::{self, McpTable};
use super::model::{self, ModelTable};
use super::source::{Located, Source};
use super::table::{Read, Table};
use super::tools::{self, ToolTable};

/// The keys that are not about the model.
pub(super) const KEYS: &[&str] = &[
    "description",
    "system_prompt",
    "system_prompt_file",
    "executor",
    "routes",
    "parallel",
    "max_concurrency",
    "siblings",
    "policy",
    "skills",
    "context_keys",
    "max_turns",
    "max_tool_calls_per_turn",
    "parallel_tool_calls",
    "recheck_policy",
    "result_order",
    "tool_timeout_ms",
    "task_deadline_ms",
    "max_task_attempts",
    "max_tool_output_bytes",
    "error_detail",
    "context_window",
    "reserved_output_tokens",
    "fix_empty_final",
    "fix_empty_final_text",
    "fix_empty_final_disable_tools",
    "lease_ms",
    "tools",
    "mcp",
    "hooks",
];
pub(super) const ROUTE_KEYS: &[&str] = &["tools", "executor"];

/// The longest name of an agent.
const NAME_BYTES_MAX: usize = 64;
const SYSTEM_PROMPT_BYTES_MAX: u64 = 1024 * 1024;
const CONCURRENCY_MOST: u64 = 10_000;
const TURNS_MOST: u64 = 10_000;
const TIMEOUT_MS_MOST: u64 = 24 * 60 * 60 * 1000;
const DEADLINE_MS_MOST: u64 = 366 * 24 * 60 * 60 * 1000;
const ATTEMPTS_MOST: u64 = 1_000;
const OUTPUT_BYTES_MOST: u64 = 64 * 1024 * 1024;
const TOKENS_MOST: u64 = 1_000_000_000;
const LEASE_MS_MOST: u64 = 3_600_000;

/// One agent, read but not built.
#[derive(Clone, Debug)]
pub(crate) struct AgentTable {
    pub(crate) name: Located<String>,
    pub(crate) description: Option<String>,
    pub(crate) system_prompt: Option<String>,
    pub(crate) model: ModelTable,
    pub(crate) settings: Settings,
    pub(crate) lease_ms: Option<u64>,
    pub(crate) policy: Option<Located<PathBuf>>,
    pub(crate) skills: Vec<Located<PathBuf>>,
    pub(crate) tools: Vec<ToolTable>,
    pub(crate) mcp: Vec<McpTable>,
    pub(crate) hooks: Vec<HookTable>,
    pub(crate) span: std::ops::Range<usize>,
}

/// All keys of an agent.
pub(super) fn keys() -> Vec<&'static str> {
    model::KEYS.iter().chain(KEYS).copied().collect()
}

pub(super) fn read(root: &mut Table<'_>) -> Read<Vec<AgentTable>> {
    root.named_tables("agents")?.into_iter().map(|(name, table)| agent(name, table)).collect()
}

fn agent(name: Located<String>, mut table: Table<'_>) -> Read<AgentTable> {
    let source = table.source();
    check_name(source, &name)?;
    table.check_keys(&keys())?;
    let model = model::read(&mut table)?;
    let settings = settings(&mut table)?;
    let path = |text: Located<String>| Located { value: source.path(text.value), span: text.span };
    Ok(AgentTable {
        description: table.text("description")?.map(|text| text.value),
        system_prompt: system_prompt(&mut table)?,
        model,
        settings,
        lease_ms: table.whole("lease_ms", 100..=LEASE_MS_MOST)?,
        policy: table.text("policy")?.map(path),
        skills: table.texts("skills")?.unwrap_or_default().into_iter().map(path).collect(),
        tools: tools::read(&mut table)?,
        mcp: mcp::read(&mut table)?,
        hooks: hooks::read(&mut table)?,
        span: table.span().clone(),
        name,
    })
}

/// Agents are named in addresses, logs and metrics.
fn check_name(source: &Source, name: &Located<String>) -> Read<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !name.value.is_empty() && name.value.len() <= NAME_BYTES_MAX && name.value.bytes().all(plain) {
        return Ok(());
    }
    let wrong = source.wrong(&name.span, "the name of an agent cannot be used");
    Err(wrong.hint(format!("it has at most {NAME_BYTES_MAX} letters, digits, `-`, `_` and `.`")))
}

fn system_prompt(table: &mut Table<'_>) -> Read<Option<String>> {
    let (text, file) = (table.text("system_prompt")?, table.text("system_prompt_file")?);
    match (text, file) {
        (Some(_), Some(file)) => {
            let wrong = table.source().wrong(&file.span, "`system_prompt_file` stands beside `system_prompt`");
            Err(wrong.hint("keep one of them"))
        }
        (Some(text), None) => Ok(Some(text.value)),
        (None, None) => Ok(None),
        (None, Some(file)) => {
            let path = table.source().path(&file.value);
            let wrong = |why: String| {
                table.source().wrong(&file.span, format!("`system_prompt_file` is `{}`, and {why}", file.value))
            };
            let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {}", error.kind()));
            if std::fs::metadata(&path).map_err(unreadable)?.len() > SYSTEM_PROMPT_BYTES_MAX {
                return Err(wrong(format!("has more than {SYSTEM_PROMPT_BYTES_MAX} bytes")));
            }
            std::fs::read_to_string(&path).map(Some).map_err(unreadable)
        }
    }
}

fn settings(table: &mut Table<'_>) -> Read<Settings> {
    let mut settings = Settings::default();
    execution(table, &mut settings)?;
    limits(table, &mut settings)?;
    final_answer(table, &mut settings)?;
    if let Some(siblings) = table.word("siblings", &[("hold", Siblings::Hold), ("run", Siblings::Run)])? {
        settings.siblings = siblings;
    }
    if let Some(recheck) = table.flag("recheck_policy")? {
        settings.recheck_policy = if recheck { Recheck::On } else { Recheck::Off };
    }
    if let Some(many) = table.flag("parallel_tool_calls")? {
        settings.parallel_tool_calls = if many { ParallelToolCalls::Allowed } else { ParallelToolCalls::One };
    }
    let orders = [("request", ResultOrder::Request), ("completion", ResultOrder::Completion)];
    if let Some(order) = table.word("result_order", &orders)? {
        settings.result_order = order;
    }
    let details = [("safe", ErrorDetail::Safe), ("debug", ErrorDetail::Debug)];
    if let Some(detail) = table.word("error_detail", &details)? {
        settings.error_detail = detail;
    }
    let keys = table.texts("context_keys")?.unwrap_or_default();
    settings.context_keys = keys.into_iter().map(|key| key.value.into()).collect();
    Ok(settings)
}

fn execution(table: &mut Table<'_>, settings: &mut Settings) -> Read<()> {
    let executors = EXECUTORS.map(|name| (name, name));
    if let Some(name) = table.word("executor", &executors)? {
        settings.executor.name = name.into();
    }
    for mut route in table.tables("routes")? {
        route.check_keys(ROUTE_KEYS)?;
        let pattern = route.required_text("tools")?.value.into();
        let executor = route.word("executor", &executors)?;
        let missing = || route.source().wrong(route.span(), "a route needs `executor`");
        settings.executor.routes.push(Route { pattern, executor: executor.ok_or_else(missing)?.into() });
    }
    if let Some(parallel) = table.word("parallel", &[("marked", Parallel::Marked), ("all", Parallel::All)])? {
        settings.executor.parallel = parallel;
    }
    if let Some(max) = table.whole("max_concurrency", 1..=CONCURRENCY_MOST)? {
        settings.executor.max_concurrency = u32::try_from(max).ok();
    }
    Ok(())
}

/// The executors that a configuration can name.
const EXECUTORS: [&str; 6] = ["inline", "sequential", "concurrent", "async", "threads", "defer_all"];

fn limits(table: &mut Table<'_>, settings: &mut Settings) -> Read<()> {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    if let Some(turns) = table.whole("max_turns", 1..=TURNS_MOST)? {
        settings.max_turns = small(turns);
    }
    let calls_most = u64::from(Limits::TOOL_CALLS_PER_TURN_MAX);
    if let Some(calls) = table.whole("max_tool_calls_per_turn", 1..=calls_most)? {
        settings.max_tool_calls_per_turn = small(calls);
    }
    if let Some(timeout) = table.whole("tool_timeout_ms", 1..=TIMEOUT_MS_MOST)? {
        settings.tool_timeout_ms = timeout;
    }
    settings.task_deadline_ms = table.whole("task_deadline_ms", 1..=DEADLINE_MS_MOST)?;
    if let Some(attempts) = table.whole("max_task_attempts", 1..=ATTEMPTS_MOST)? {
        settings.max_task_attempts = small(attempts);
    }
    if let Some(bytes) = table.whole("max_tool_output_bytes", 1..=OUTPUT_BYTES_MOST)? {
        settings.max_tool_output_bytes = bytes;
    }
    let reserved_at = table.span_of("reserved_output_tokens");
    let (tokens, reserved) =
        (table.whole("context_window", 1..=TOKENS_MOST)?, table.whole("reserved_output_tokens", 0..=TOKENS_MOST)?);
    match (tokens, reserved) {
        (None, None) => {}
        (None, Some(_)) => {
            let wrong = table.source().wrong(&reserved_at, "`reserved_output_tokens` needs `context_window` beside it");
            return Err(wrong);
        }
        (Some(tokens), reserved) => {
            let reserved_output_tokens = reserved.unwrap_or_default();
            if reserved_output_tokens >= tokens {
                let message = "`reserved_output_tokens` must be less than `context_window`";
                return Err(table.source().wrong(&reserved_at, message));
            }
            settings.context_window = Some(ContextWindow { tokens, reserved_output_tokens });
        }
    }
    Ok(())
}

fn final_answer(table: &mut Table<'_>, settings: &mut Settings) -> Read<()> {
    if let Some(text) = table.text("fix_empty_final_text")? {
        settings.final_answer.ask = Some(text.value.into());
    }
    if let Some(disable) = table.flag("fix_empty_final_disable_tools")? {
        settings.final_answer.tools = if disable { FinalTools::Disabled } else { FinalTools::Enabled };
    }
    if table.flag("fix_empty_final")? == Some(false) {
        settings.final_answer.ask = None;
    }
    Ok(())
}
