//! Hooks around each execution, in an explicit order.

mod patience;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use holdpoint_codec::Context;
use holdpoint_core::{Arguments, Attempt, Code, IdempotencyKey, Outcome, Settlement, Source, ToolResult};
use thiserror::Error;
use tokio::time::Instant;

use crate::{Extensions, ToolCall, ToolDefinition, ToolMetadata};
use patience::{Held, Patience};

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
    held_since: Mutex<Option<Instant>>,
}

impl AroundCall {
    /// A call of a tool.
    pub fn new(definition: Arc<ToolDefinition>, call: ToolCall) -> Self {
        Self { definition, call, held_since: Mutex::new(None) }
    }

    /// What is known of the tool.
    pub fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    /// What executors, policies and recovery know of the tool.
    pub fn metadata(&self) -> &ToolMetadata {
        &self.definition.metadata
    }

    /// The call itself.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The canonical arguments.
    pub fn arguments(&self) -> &Arguments {
        self.call.arguments()
    }

    /// What the application gave along.
    pub fn context(&self) -> &Context {
        self.call.context()
    }

    /// The attempt that is next when the hooks are entered.
    pub fn attempt(&self) -> Attempt {
        self.call.attempt()
    }

    /// Equal over attempts.
    pub fn idempotency_key(&self) -> &IdempotencyKey {
        self.call.idempotency_key()
    }

    /// The moment by which hooks must let the call through, or let go of it when its tool has run: they may hold it for
    /// [`HOOK_WAIT_MS_MAX`] at a stretch.
    pub fn deadline(&self) -> Instant {
        let held_since = *self.held_since.lock().unwrap_or_else(PoisonError::into_inner);
        held_since.unwrap_or_else(Instant::now) + HOOK_WAIT
    }

    /// A stretch of being held begins.
    fn held_from(&self, now: Instant) {
        *self.held_since.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// A result in the tool's place.
    pub fn answered(&self, source: Source, result: ToolResult) -> Settlement {
        let (outcome, code) = Outcome::of_result(&result);
        Settlement { outcome, code, source: Some(source), result: Arc::new(result), latency_us: 0 }
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
        let held_since = *self.held_since.lock().unwrap_or_else(PoisonError::into_inner);
        Self { definition: Arc::clone(&self.definition), call: self.call.clone(), held_since: Mutex::new(held_since) }
    }
}

/// A hook's own failure. `Display` is for operators; nothing of it reaches the model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct HookError {
    fault: HookFault,
    message: Arc<str>,
}

/// In which way a hook did not come to a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFault {
    /// It failed.
    Failed,
    /// It panicked.
    Panicked,
    /// It did not fail: the run stops, and the driver knows why.
    Interrupted,
}

impl HookError {
    /// The hook failed, for this reason.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self { fault: HookFault::Failed, message: message.into() }
    }

    /// What is inside the hooks could not be run: the run stops, and the driver knows why. Hooks pass it on.
    pub fn interrupted() -> Self {
        Self { fault: HookFault::Interrupted, message: "the run stops".into() }
    }

    fn panicked() -> Self {
        Self { fault: HookFault::Panicked, message: "a hook panicked".into() }
    }

    /// In which way.
    pub fn fault(&self) -> HookFault {
        self.fault
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

    fn was_entered(&self) -> bool;
}

/// What a hook's closure returns.
pub type HookFuture<'a> = BoxFuture<'a, Result<Settlement, HookError>>;

impl<'a> Next<'a> {
    /// Runs it.
    pub async fn run(self) -> Result<Settlement, HookError> {
        match self.rest.split_first() {
            None => self.innermost.run(self.extensions.clone()).await,
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
        self.innermost.was_entered()
    }
}

fn caught(call: &AroundCall, payload: Box<dyn Any + Send>) -> HookError {
    // The message of a panic may hold anything, so only the fact is told.
    drop(payload);
    tracing::error!(tool = %call.definition.name, "a hook panicked");
    HookError::panicked()
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} hooks)", self.rest.len())
    }
}

/// Hooks in order, outermost first.
#[derive(Clone, Default)]
pub struct Chain {
    hooks: Arc<[Arc<dyn Around>]>,
}

impl Chain {
    /// These hooks, outermost first.
    pub fn new(hooks: Vec<Arc<dyn Around>>) -> Self {
        Self { hooks: hooks.into() }
    }

    /// These hooks and one more inside them.
    #[must_use]
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
        let patience = Patience::new(call);
        let inner = Watched { innermost, patience: &patience };
        let next = Next { rest: &self.hooks, call, extensions, innermost: &inner };
        tokio::select! {
            biased;
            // One net under all hooks: a panic unwinds through those outside it, which clean up as they are dropped.
            result = AssertUnwindSafe(next.run()).catch_unwind() => {
                result.unwrap_or_else(|payload| Err(caught(call, payload)))
            }
            held = patience.ran_out() => {
                tracing::warn!(tool = %call.definition.name, "hooks held a call for too long");
                match held {
                    Held::BeforeTheTool => Ok(call.waited_too_long()),
                    Held::AfterTheTool => Err(HookError::new("a hook held a call for too long after its tool had ended")),
                }
            }
        }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({} hooks)", self.hooks.len())
    }
}

struct Watched<'a, F> {
    innermost: F,
    patience: &'a Patience<'a>,
}

impl<F, Fut> Innermost for Watched<'_, F>
where
    F: Fn(Extensions) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Settlement, HookError>> + Send,
{
    fn run(&self, extensions: Extensions) -> HookFuture<'_> {
        Box::pin(async move {
            let _inside = self.patience.enter();
            (self.innermost)(extensions).await
        })
    }

    fn was_entered(&self) -> bool {
        self.patience.was_entered()
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
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        // Both references are shortened to one lifetime, which the closure's future then has.
        shortened(&self.0, call, next).await
    }
}

fn shortened<'a, F>(hook: &F, call: &'a AroundCall, next: Next<'a>) -> HookFuture<'a>
where
    F: Fn(&'a AroundCall, Next<'a>) -> HookFuture<'a>,
{
    hook(call, next)
}
