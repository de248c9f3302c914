//! The question that is asked about every call.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::Context;
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{Arguments, Decision, ToolName};
use thiserror::Error;

use crate::RunFacts;

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

    /// The decision, with what a policy that is only being tried would have decided. This is what the driver asks.
    async fn judge(&self, request: &AuthorizeRequest<'_>) -> Result<Judgement, PolicyError> {
        Ok(Judgement { decision: self.authorize(request).await?, shadow: None })
    }

    /// Whether it looks at the earlier calls of the run. If not, nobody need read them.
    fn needs_history(&self) -> bool {
        false
    }

    /// Which policy this is, for receipts and for replays. Nothing if it cannot tell.
    fn version(&self) -> Option<PolicyVersion> {
        None
    }

    /// Whether it reads only attributes of the context that are kept with a run. Asked once, when an agent is built.
    fn accepts_context_keys(&self, _keys: &BTreeSet<Arc<str>>) -> Result<(), PolicyError> {
        Ok(())
    }

    /// Whether all that it names is registered. Asked once, when an agent is built.
    fn accepts_tools(&self, _tools: &KnownTools) -> Result<(), PolicyError> {
        Ok(())
    }
}

/// The tools that a policy may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTools {
    /// Those that are registered, and those that are there and withheld.
    pub names: Vec<ToolName>,
    /// Beginnings of names of which not all are known, such as `files__` for an MCP server that is not reached.
    pub open_prefixes: Vec<Arc<str>>,
}

impl KnownTools {
    /// Whether a pattern may be about a tool that is not known yet.
    pub fn is_open(&self, pattern: &str) -> bool {
        self.open_prefixes.iter().any(|prefix| pattern.starts_with(&**prefix))
    }
}

impl<N: Into<ToolName>> FromIterator<N> for KnownTools {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), open_prefixes: Vec::new() }
    }
}

/// A decision, and what another policy would have made of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What holds.
    pub decision: Decision,
    /// What would hold under a policy that is only being tried.
    pub shadow: Option<Shadow>,
}

/// What a policy would have decided that is not enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadow {
    /// Which policy.
    pub version: Option<PolicyVersion>,
    /// Its decision. Nothing if it could not decide: then it would have denied.
    pub decision: Option<Decision>,
}

impl Shadow {
    /// What it would have decided, as it is kept: whoever cannot decide denies.
    pub fn recorded(self) -> Decision {
        let decision = self.decision.unwrap_or_else(|| Decision::deny("the policy could not decide"));
        decision.by_policy(self.version.map(PolicyVersion::into_text))
    }
}

/// Which policy decided: equal for policies that decide alike, whatever else their files say.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyVersion(Arc<str>);

impl PolicyVersion {
    /// Takes the text as it is.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, to keep.
    pub fn into_text(self) -> Arc<str> {
        self.0
    }
}

impl fmt::Display for PolicyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PolicyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyVersion({})", self.0)
    }
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
