//! Hooks around each execution, in an explicit order.

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use holdpoint_core::{Code, Outcome, Settlement, Source, ToolResult};
use thiserror::Error;
use tokio::time::Instant;

use crate::{Extensions, ToolCall, ToolDefinition};

/// How long a call may be held by hooks at a stretch.
pub const HOOK_WAIT_MS_MAX: u64 = 60_000;

const HOOK_WAIT: Duration = Duration::from_millis(HOOK_WAIT_MS_MAX);

/// A hook. It sees the call, and runs what is inside it by [`Next::run`]: not at all (it answers itself), once, or again.
///
/// A refusal on purpose is a settlement ([`AroundCall::refused`]); an `Err` is infrastructure: the run stops, and the
/// model sees nothing of it.
///
/// ```
/// use holdpoint_core::Settlement;
/// use holdpoint_tools::{Around, AroundCall, HookError, Next};
///
/// struct Timed;
///
/// #[async_trait::async_trait]
/// impl Around for Timed {
///     async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
///         let settlement = next.run().await?;
///         tracing::info!(tool = %call.definition().name, latency_us = settlement.latency_us);
///         Ok(settlement)
///     }
/// }
/// ```
#[async_trait]
pub trait Around: Send + Sync {
    /// Runs around one execution.
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError>;
}

/// What a hook sees: the tool, the call, and how long the call may still be held.
#[derive(Debug)]
pub struct AroundCall {
    definition: Arc<ToolDefinition>,
    call: ToolCall,
    held: Mutex<Held>,
}

/// How long hooks have held a call. The time while its tool runs does not count: the tool has a limit of its own.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// When the hooks were entered, or the tool last ended.
    since: Option<Instant>,
    /// How many executions of the tool run now.
    inside: u32,
    entered: bool,
}

/// While this lives the tool runs.
struct Inside<'a>(&'a AroundCall);

impl AroundCall {
    /// A call of a tool.
    pub fn new(definition: Arc<ToolDefinition>, call: ToolCall) -> Self {
        Self { definition, call, held: Mutex::default() }
    }

    /// What is known of the tool.
    pub fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    /// The call: arguments, context, attempt, idempotency key.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The moment by which hooks must let the call through, or let go of it when its tool has run: they may hold it for
    /// [`HOOK_WAIT_MS_MAX`] at a stretch.
    pub fn deadline(&self) -> Instant {
        let held = *self.held();
        held.since.filter(|_| held.inside == 0).unwrap_or_else(Instant::now) + HOOK_WAIT
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken_by_hooks(&self) {
        let mut held = self.held();
        held.since = Some(Instant::now());
        held.entered = false;
    }

    fn enter(&self) -> Inside<'_> {
        let mut held = self.held();
        held.inside += 1;
        held.entered = true;
        Inside(self)
    }

    /// Returns when the hooks held the call for too long. While the tool runs the deadline is always ahead.
    async fn held_too_long(&self) {
        loop {
            let deadline = self.deadline();
            if deadline <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(deadline).await;
        }
    }

    /// A result in the tool's place.
    pub fn answered(&self, source: Source, result: impl Into<Arc<ToolResult>>) -> Settlement {
        let result = result.into();
        let (outcome, code) = Outcome::of_result(&result);
        Settlement { outcome, code, source: Some(source), result, latency_us: 0 }
    }

    /// A refusal on purpose, such as `rate_limited` or `circuit_open`: a failed result that the model sees.
    pub fn refused(&self, code: Code, text: impl Into<Arc<str>>) -> Settlement {
        Settlement {
            outcome: Outcome::Failed,
            code: Some(code),
            source: Some(Source::Hook),
            result: Arc::new(ToolResult::error(text)),
            latency_us: 0,
        }
    }

    /// The refusal of a call that waited until its [`AroundCall::deadline`]: `rate_limited`.
    pub fn waited_too_long(&self) -> Settlement {
        let seconds = HOOK_WAIT_MS_MAX / 1000;
        let text = format!("The call waited longer than {seconds} s to be let through. It was not executed.");
        self.refused(Code::RateLimited, text)
    }
}

impl Clone for AroundCall {
    fn clone(&self) -> Self {
        let held = Mutex::new(*self.held());
        Self { definition: Arc::clone(&self.definition), call: self.call.clone(), held }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut held = self.0.held();
        held.inside -= 1;
        held.since = Some(Instant::now());
    }
}

/// Why a hook came to no settlement. `Display` is for operators; nothing of it reaches the model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HookError {
    /// It failed or panicked: the run stops with `hook_failed`.
    #[error("{0}")]
    Failed(Arc<str>),
    /// What is inside the hooks could not be run: the run stops, and the driver knows why. Hooks pass it on.
    #[error("the run stops")]
    Interrupted,
}

impl HookError {
    /// The hook failed, for this reason.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self::Failed(message.into())
    }
}

/// What is inside a hook: the next hook, or the tool. May be cloned and run again, which is a new attempt.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    rest: &'a [Arc<dyn Around>],
    call: &'a AroundCall,
    extensions: &'a Extensions,
    innermost: &'a dyn Innermost,
}

/// What the driver puts inside all hooks: it commits the intent and invokes the tool.
trait Innermost: Send + Sync {
    fn run(&self, extensions: Extensions) -> HookFuture<'_>;
}

impl<F, Fut> Innermost for F
where
    F: Fn(Extensions) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Settlement, HookError>> + Send,
{
    fn run(&self, extensions: Extensions) -> HookFuture<'_> {
        Box::pin(async move { self(extensions).await })
    }
}

/// What a hook's closure returns.
pub type HookFuture<'a> = BoxFuture<'a, Result<Settlement, HookError>>;

impl<'a> Next<'a> {
    /// Runs it.
    pub async fn run(self) -> Result<Settlement, HookError> {
        match self.rest.split_first() {
            None => {
                let _inside = self.call.enter();
                self.innermost.run(self.extensions.clone()).await
            }
            Some((hook, rest)) => hook.around(self.call, Next { rest, ..self }).await,
        }
    }

    /// Runs it so that the tool finds this value among the extensions of its call, by its type.
    pub async fn run_with<T: Send + Sync + 'static>(self, value: T) -> Result<Settlement, HookError> {
        let extensions = self.extensions.clone().with(value);
        Next { extensions: &extensions, ..self }.run().await
    }

    /// Whether the hooks let the call through at least once, so that its tool may have taken effect.
    pub fn has_begun(&self) -> bool {
        self.call.held().entered
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} hooks)", self.rest.len())
    }
}

/// Hooks in order, outermost first.
#[derive(Clone, Default)]
#[must_use]
pub struct Chain {
    hooks: Arc<[Arc<dyn Around>]>,
}

impl Chain {
    /// These hooks, outermost first.
    pub fn new(hooks: Vec<Arc<dyn Around>>) -> Self {
        Self { hooks: hooks.into() }
    }

    /// These hooks and one more inside them.
    pub fn with(&self, hook: Arc<dyn Around>) -> Self {
        Self { hooks: self.hooks.iter().cloned().chain([hook]).collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.hooks.len()
    }

    /// Runs the hooks around `innermost`, which commits the intent and invokes the tool, each time it is called, with
    /// what the hooks added to the call's extensions. Without hooks this is `innermost` and nothing else.
    ///
    /// Hooks that hold the call longer than [`HOOK_WAIT_MS_MAX`] at a stretch lose it: before the tool has run the call
    /// is `rate_limited`; after it a hook hangs, which is a failure.
    pub async fn run<F, Fut>(&self, call: &AroundCall, innermost: F) -> Result<Settlement, HookError>
    where
        F: Fn(Extensions) -> Fut + Send + Sync,
        Fut: Future<Output = Result<Settlement, HookError>> + Send,
    {
        let extensions = call.call.extensions();
        if self.hooks.is_empty() {
            return innermost(extensions.clone()).await;
        }
        call.taken_by_hooks();
        let next = Next { rest: &self.hooks, call, extensions, innermost: &innermost };
        let tool = &call.definition.name;
        tokio::select! {
            biased;
            // One net under all hooks: a panic unwinds through those outside it, which clean up as they are dropped.
            result = AssertUnwindSafe(next.run()).catch_unwind() => result.unwrap_or_else(|_| {
                // The message of a panic may hold anything, so only the fact is told.
                tracing::error!(%tool, "a hook panicked");
                Err(HookError::new("a hook panicked"))
            }),
            () = call.held_too_long() => {
                tracing::warn!(%tool, "hooks held a call for too long");
                if next.has_begun() {
                    return Err(HookError::new("a hook held a call for too long after its tool had ended"));
                }
                Ok(call.waited_too_long())
            }
        }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({} hooks)", self.hooks.len())
    }
}

/// A hook from a closure.
///
/// ```
/// use holdpoint_core::{Source, ToolResult};
/// use holdpoint_tools::around_fn;
///
/// let dry_run = around_fn(|call, _next| {
///     Box::pin(async move { Ok(call.answered(Source::DryRun, ToolResult::success("would have run"))) })
/// });
/// let passing = around_fn(|_call, next| Box::pin(next.run()));
/// ```
pub fn around_fn<F>(hook: F) -> Arc<dyn Around>
where
    F: for<'a> Fn(&'a AroundCall, Next<'a>) -> HookFuture<'a> + Send + Sync + 'static,
{
    Arc::new(FunctionHook(hook))
}

/// A hook around the executions of one tool, by its registered name; the others pass it by.
pub fn around_tool(tool: &str, hook: Arc<dyn Around>) -> Arc<dyn Around> {
    Arc::new(OneTool { tool: tool.into(), hook })
}

struct OneTool {
    tool: Box<str>,
    hook: Arc<dyn Around>,
}

#[async_trait]
impl Around for OneTool {
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if call.definition().name.as_str() == &*self.tool {
            self.hook.around(call, next).await
        } else {
            next.run().await
        }
    }
}

struct FunctionHook<F>(F);

#[async_trait]
impl<F> Around for FunctionHook<F>
where
    F: for<'a> Fn(&'a AroundCall, Next<'a>) -> HookFuture<'a> + Send + Sync + 'static,
{
    async fn around(&self, _: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        // The same call, for as long as `next` lives: the closure's future has one lifetime.
        (self.0)(next.call, next).await
    }
}
