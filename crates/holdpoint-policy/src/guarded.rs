//! A policy that cannot hurt: whatever goes wrong with it, the call is denied.

use std::collections::HashSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use holdpoint_codec::Context;
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{Code, Decision};

use crate::{AuthorizeRequest, Judgement, Policy, PolicyError, PolicyVersion, Shadow};

/// How long a policy may think unless told otherwise.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);

/// The reason of every denial for want of a policy.
const NO_POLICY: &str = "no policy is configured";
/// The reason of every denial by a policy that failed. Always the same: the cause is not for the model.
const UNDECIDED: &str = "the policy could not decide";

/// What the driver asks instead of the policy. Missing, failing, panicking and slow policies deny every call and hide no
/// tool; the cause goes to the operational log with the name of the tool and nothing else.
///
/// A policy that blocks its thread cannot be stopped: the timeout is for policies that wait.
#[derive(Clone)]
pub struct Guarded {
    policy: Option<Arc<dyn Policy>>,
    timeout: Duration,
}

/// What became of the question about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What holds.
    pub decision: Decision,
    /// How the policy failed, if it did.
    pub fault: Option<PolicyFault>,
    /// What would hold under a policy that is only being tried.
    pub shadow: Option<Shadow>,
}

/// How a policy failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyFault {
    /// It returned an error.
    Failed,
    /// It panicked.
    Panicked,
    /// It took too long.
    TimedOut,
}

impl PolicyFault {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            PolicyFault::Failed => "failed",
            PolicyFault::Panicked => "panicked",
            PolicyFault::TimedOut => "timed_out",
        }
    }

    /// The stable code.
    pub fn code(self) -> Code {
        match self {
            PolicyFault::Failed | PolicyFault::Panicked | PolicyFault::TimedOut => Code::PolicyFailed,
        }
    }
}

impl Guarded {
    /// Guards a policy, or the lack of one.
    pub fn new(policy: Option<Arc<dyn Policy>>, timeout: Duration) -> Self {
        Self { policy, timeout }
    }

    /// The visible tools: those given, without those that the policy left out, in the given order.
    pub async fn filter(&self, tools: Vec<Arc<ToolDefinition>>, context: &Context) -> Vec<Arc<ToolDefinition>> {
        let Some(policy) = &self.policy else {
            return tools;
        };
        match self.ask(async { policy.filter(tools.clone(), context).await }).await {
            Ok(visible) => only(tools, &visible),
            Err((fault, cause)) => {
                tracing::error!(fault = fault.as_str(), cause = cause_text(cause.as_ref()), "policy hides no tool");
                tools
            }
        }
    }

    /// The decision about one call, and how the policy failed if it did.
    pub async fn authorize(&self, request: &AuthorizeRequest<'_>) -> (Decision, Option<PolicyFault>) {
        let judged = self.judge(request).await;
        (judged.decision, judged.fault)
    }

    /// The same, with what a policy that is only being tried would have decided.
    pub async fn judge(&self, request: &AuthorizeRequest<'_>) -> Judged {
        let Some(policy) = &self.policy else {
            return Judged { decision: Decision::deny(NO_POLICY), fault: None, shadow: None };
        };
        match self.ask(async { policy.judge(request).await }).await {
            Ok(Judgement { decision, shadow }) => {
                let version = policy.version().map(PolicyVersion::into_text);
                Judged { decision: decision.by_policy(version), fault: None, shadow }
            }
            Err((fault, cause)) => {
                let cause = cause_text(cause.as_ref());
                tracing::error!(tool = request.tool.as_str(), fault = fault.as_str(), cause, "policy denies a call");
                Judged { decision: Decision::deny(UNDECIDED), fault: Some(fault), shadow: None }
            }
        }
    }

    /// The policy itself, to ask what it needs and which one it is. Calls are decided through the guard only.
    pub fn policy(&self) -> Option<&dyn Policy> {
        self.policy.as_deref()
    }

    /// Whether the policy looks at the earlier calls of a run.
    pub fn needs_history(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.needs_history())
    }

    /// Which policy decides, if it can tell.
    pub fn version(&self) -> Option<PolicyVersion> {
        self.policy.as_ref().and_then(|policy| policy.version())
    }

    /// What a panic said is not kept: it may quote arguments.
    async fn ask<T>(
        &self,
        question: impl Future<Output = Result<T, PolicyError>>,
    ) -> Result<T, (PolicyFault, Option<PolicyError>)> {
        // Whatever a panic leaves half-changed belongs to the policy; nothing of ours is shared with it.
        let guarded = AssertUnwindSafe(question).catch_unwind();
        match tokio::time::timeout(self.timeout, guarded).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err((PolicyFault::Failed, Some(error))),
            Ok(Err(_panic)) => Err((PolicyFault::Panicked, None)),
            Err(_elapsed) => Err((PolicyFault::TimedOut, None)),
        }
    }
}

impl Default for Guarded {
    /// No policy: everything is denied.
    fn default() -> Self {
        Self::new(None, TIMEOUT_DEFAULT)
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = if self.policy.is_some() { "a policy" } else { "no policy" };
        write!(f, "Guarded({policy}, {:?})", self.timeout)
    }
}

fn cause_text(cause: Option<&PolicyError>) -> String {
    cause.map(ToString::to_string).unwrap_or_default()
}

/// A filter only takes away: it can neither add a tool nor put another definition in the place of a registered one.
fn only(tools: Vec<Arc<ToolDefinition>>, visible: &[Arc<ToolDefinition>]) -> Vec<Arc<ToolDefinition>> {
    let names: HashSet<&str> = visible.iter().map(|tool| tool.name.as_str()).collect();
    tools.into_iter().filter(|tool| names.contains(tool.name.as_str())).collect()
}
