//! What policy may know of a run, and what people said about calls like the one that it is asked about.

use std::sync::Arc;

use holdpoint_codec::decode_grant;
use holdpoint_core::{CallIndex, EarlierCall, Grant, Run, ToolName};
use holdpoint_policy::{PastCall, RunFacts};

use crate::Error;
use crate::parts::Parts;

/// The facts of a run for one of its calls. The earlier calls are looked up only for a policy that wants to know them;
/// `denied` are calls of the same turn that it just said no to.
pub(crate) fn run_facts(parts: &Parts, run: &Run, index: CallIndex, denied: &[CallIndex]) -> RunFacts {
    let facts = RunFacts::new(run.id().clone(), run.turn());
    if !parts.policy.needs_history() {
        return facts;
    }
    let siblings = run.siblings_of(index).filter(|(other, _)| !denied.contains(other)).map(|(_, call)| call);
    let past: Vec<PastCall> = run.earlier_turns().into_iter().chain(siblings).map(past_call).collect();
    facts.with_past(move || past.clone())
}

/// A call as policy sees it afterwards.
pub(crate) fn past_call(call: EarlierCall) -> PastCall {
    PastCall::new(call.tool, call.arguments)
}

/// What people said about calls of a tool. One that cannot be read gives nobody a right.
pub(crate) async fn grants_for(parts: &Parts, run: &Run, tool: &ToolName) -> Result<Vec<Arc<Grant>>, Error> {
    let rows = parts.store.grants.matching(run.actor().tenant.as_deref(), tool).await?;
    let grants = rows.iter().filter_map(|row| match decode_grant(&row.body) {
        Ok(grant) => Some(Arc::new(grant)),
        Err(error) => {
            tracing::error!(target: "holdpoint", grant = %row.id, %error, "a grant cannot be read");
            None
        }
    });
    Ok(grants.collect())
}
