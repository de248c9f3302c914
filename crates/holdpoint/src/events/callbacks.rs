//! Functions that are called as a run goes on, with or without a stream. One that panics is reported and disturbs
//! nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use holdpoint_core::{Arguments, CallRecord, Message, Role, Settlement};

type Callback<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// A call that is about to start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StartedCall {
    /// The call as far as it is.
    pub call: CallRecord,
    /// What it runs with.
    pub arguments: Option<Arguments>,
}

/// A call that has its result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndedCall {
    /// The call.
    pub call: CallRecord,
    /// How it ended.
    pub settlement: Settlement,
}

/// What to call when.
#[derive(Clone, Default)]
pub(crate) struct Callbacks {
    pub(crate) new_message: Option<Callback<Role>>,
    pub(crate) tool_call: Option<Callback<StartedCall>>,
    pub(crate) tool_result: Option<Callback<EndedCall>>,
    pub(crate) end_message: Option<Callback<Message>>,
}

impl Callbacks {
    pub(crate) fn on_new_message(&self, role: Role) {
        call("on_new_message", self.new_message.as_ref(), &role);
    }

    pub(crate) fn on_tool_call(&self, started: &StartedCall) {
        call("on_tool_call", self.tool_call.as_ref(), started);
    }

    pub(crate) fn on_tool_result(&self, ended: &EndedCall) {
        call("on_tool_result", self.tool_result.as_ref(), ended);
    }

    pub(crate) fn on_end_message(&self, message: &Message) {
        call("on_end_message", self.end_message.as_ref(), message);
    }
}

fn call<T>(name: &'static str, callback: Option<&Callback<T>>, value: &T) {
    let Some(callback) = callback else { return };
    if catch_unwind(AssertUnwindSafe(|| callback(value))).is_err() {
        tracing::error!(target: "holdpoint", callback = name, "a callback panicked; the run goes on");
    }
}
