//! One call as a tool and a hook see it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_codec::Context;
use holdpoint_core::{Arguments, Attempt, CallId, CallKey, Given, IdempotencyKey, RequestedName, ToolName};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ToolError;

/// One call: what was asked, by whom, and how it may be told to stop. Cheap to clone; `Debug` hides the arguments and
/// the context.
#[derive(Clone)]
#[must_use]
pub struct ToolCall {
    facts: CallFacts,
    deadline: Option<Instant>,
    cancellation: CancellationToken,
    extensions: Extensions,
    progress: Option<Arc<ProgressSink>>,
    given: Option<Arc<Given>>,
    gate: Option<Gate>,
}

/// Says whether a tool may take effect now. `false` keeps it from starting.
pub type Gate = Arc<dyn Fn() -> bool + Send + Sync>;

type ProgressSink = dyn Fn(&str) + Send + Sync;

/// What a call is made of.
#[derive(Clone)]
pub struct CallFacts {
    /// The id that people and messages show.
    pub id: CallId,
    /// Our key.
    pub key: CallKey,
    /// What the model wrote.
    pub requested: RequestedName,
    /// What is registered.
    pub tool: ToolName,
    /// What is run.
    pub arguments: Arguments,
    /// What the application gave along.
    pub context: Arc<Context>,
    /// How often it was started, this time included.
    pub attempt: Attempt,
    /// Equal over attempts.
    pub idempotency_key: IdempotencyKey,
}

impl ToolCall {
    /// A call without a deadline, which nobody cancels until it is given a token.
    pub fn new(facts: CallFacts) -> Self {
        Self {
            facts,
            deadline: None,
            cancellation: CancellationToken::new(),
            extensions: Extensions::default(),
            progress: None,
            given: None,
            gate: None,
        }
    }

    /// Told to stop by this token.
    pub fn with_cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// To be done by this moment.
    pub fn with_deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// With what the application keeps for its tools.
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// Reports of progress go here.
    pub fn with_progress(mut self, sink: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        self.progress = Some(sink);
        self
    }

    /// With what a person said to what the tool asked.
    pub fn with_given(mut self, given: Option<Arc<Given>>) -> Self {
        self.given = given;
        self
    }

    /// With what is asked right before it takes effect.
    pub(crate) fn with_gate(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// The same call as another attempt.
    pub fn with_attempt(mut self, attempt: Attempt) -> Self {
        self.facts.attempt = attempt;
        self
    }

    /// The id that people and messages show.
    pub fn id(&self) -> &CallId {
        &self.facts.id
    }

    /// Our key: run, turn, index.
    pub fn key(&self) -> &CallKey {
        &self.facts.key
    }

    /// What the model wrote. For display only.
    pub fn requested(&self) -> &RequestedName {
        &self.facts.requested
    }

    /// The registered tool.
    pub fn tool(&self) -> &ToolName {
        &self.facts.tool
    }

    /// The canonical arguments.
    pub fn arguments(&self) -> &Arguments {
        &self.facts.arguments
    }

    /// The arguments as a type.
    pub fn arguments_as<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        serde_json::from_str(self.facts.arguments.expose())
            .map_err(|error| ToolError::invalid_arguments(error.to_string()))
    }

    /// What the application gave along.
    pub fn context(&self) -> &Context {
        &self.facts.context
    }

    /// How often it was started, this time included.
    pub fn attempt(&self) -> Attempt {
        self.facts.attempt
    }

    /// Equal over attempts, crashes, workers and imports: what a payment service wants to see.
    pub fn idempotency_key(&self) -> &IdempotencyKey {
        &self.facts.idempotency_key
    }

    /// The moment after which nobody waits for the result.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How long somebody will still wait for the result.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Cancelled when nobody waits for the result any more.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// To be asked right before the effect by a tool that waits first, for a connection or a place. Whoever called the tool
    /// may have lost the call meanwhile: another process has it, or a person was asked about it.
    ///
    /// # Errors
    /// [`ToolError::not_started`], to be returned as it is: nothing was done.
    pub fn may_start(&self) -> Result<(), ToolError> {
        if self.gate.as_ref().is_none_or(|gate| gate()) { Ok(()) } else { Err(ToolError::not_started()) }
    }

    /// The same, to be asked elsewhere.
    pub fn gate(&self) -> Gate {
        self.gate.clone().unwrap_or_else(|| Arc::new(|| true))
    }

    /// What the application and its hooks keep for its tools.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// What the application and its hooks keep for its tools, by type.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.extensions.find()
    }

    /// What a person said to what the tool asked when it was called before.
    pub fn given(&self) -> Option<&Arc<Given>> {
        self.given.as_ref()
    }

    /// Says how far it is, to those who listen right now.
    pub fn progress(&self, text: &str) {
        if let Some(sink) = &self.progress {
            sink(text);
        }
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.facts, f)
    }
}

impl fmt::Debug for CallFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("key", &self.key)
            .field("id", &self.id)
            .field("requested", &self.requested)
            .field("tool", &self.tool)
            .field("arguments", &self.arguments)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Values that an application keeps for its tools, one per type.
#[derive(Clone, Default)]
#[must_use]
pub struct Extensions {
    values: Option<Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl Extensions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more; a value of the same type is replaced.
    pub fn with<T: Send + Sync + 'static>(self, value: T) -> Self {
        let mut values = self.values.map(Arc::unwrap_or_clone).unwrap_or_default();
        values.insert(TypeId::of::<T>(), Arc::new(value));
        Self { values: Some(Arc::new(values)) }
    }

    /// The value of this type.
    pub fn find<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.values.as_ref()?.get(&TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extensions({})", self.values.as_ref().map_or(0, |values| values.len()))
    }
}
