//! The question that is asked about every call.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::Context;
use holdpoint_core::{Arguments, Decision, RunId, ToolName, Turn};
use holdpoint_tools::ToolDefinition;
use thiserror::Error;

/// Decides which tools a model may see and which calls may run.
///
/// ```
/// use holdpoint_core::Decision;
/// use holdpoint_policy::policy_fn;
///
/// let policy = policy_fn(|request| match request.tool.as_str() {
///     "read" => Decision::allow(),
///     "write" => Decision::confirm("changes files"),
///     _ => Decision::deny("not for agents"),
/// });
/// ```
#[async_trait]
pub trait Policy: Send + Sync {
    /// The tools that the model may see: some of those given. What is added here is dropped.
    async fn filter(
        &self,
        tools: Vec<Arc<ToolDefinition>>,
        _context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        Ok(tools)
    }

    /// Whether one call may run. Asked with the registered name and with exactly the arguments that would run.
    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError>;
}

/// One call that waits for a decision. The name that the model wrote is not here: a policy must not see it.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizeRequest<'a> {
    /// The registered name.
    pub tool: &'a ToolName,
    /// What would run.
    pub arguments: &'a Arguments,
    /// Who asks, and what the program said about them.
    pub context: &'a Context,
    /// The run that the call belongs to.
    pub run: &'a RunFacts,
}

impl AuthorizeRequest<'_> {
    /// The same, to take along.
    pub fn to_owned_request(&self) -> OwnedRequest {
        OwnedRequest {
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            context: self.context.clone(),
            run: self.run.clone(),
        }
    }
}

/// An [`AuthorizeRequest`] that borrows nothing.
#[derive(Clone, Debug)]
pub struct OwnedRequest {
    /// The registered name.
    pub tool: ToolName,
    /// What would run.
    pub arguments: Arguments,
    /// Who asks, and what the program said about them.
    pub context: Context,
    /// The run that the call belongs to.
    pub run: RunFacts,
}

/// What a policy may know of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunFacts {
    /// The run.
    pub run: RunId,
    /// The turn of the call.
    pub turn: Turn,
}

impl RunFacts {
    /// A run in one of its turns.
    pub fn new(run: RunId, turn: Turn) -> Self {
        Self { run, turn }
    }
}

/// Why a policy could not decide. The text goes to the operational log and never to the model: whoever makes one keeps
/// arguments, results and context values out of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PolicyError {
    message: Arc<str>,
}

impl PolicyError {
    /// A failure, told to the operator.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self { message: message.into() }
    }
}
