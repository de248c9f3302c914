//! A stage for hooks under test: a tool that gives what it is told, in order, and says how often it ran.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use holdpoint_core::{Code, Outcome, Repeat, Settlement, Source, ToolResult};
use serde_json::json;

use crate::testing::call;
use crate::{Around, AroundCall, Chain, HookError, ToolDefinition};

pub(super) fn around_call(tool: &str, repeat: Repeat) -> AroundCall {
    let mut definition = ToolDefinition::new(tool, "", json!({}));
    definition.metadata.repeat = repeat;
    AroundCall::new(Arc::new(definition), call(tool, r#"{"order":7}"#))
}

pub(super) fn succeeded() -> Settlement {
    settlement(Outcome::Succeeded, None)
}

pub(super) fn failed() -> Settlement {
    settlement(Outcome::Failed, Some(Code::ToolError))
}

pub(super) fn settlement(outcome: Outcome, code: Option<Code>) -> Settlement {
    let result = match outcome {
        Outcome::Succeeded => ToolResult::success("tool"),
        Outcome::Halted => ToolResult::halt("tool"),
        _ => ToolResult::error("tool"),
    };
    Settlement { outcome, code, source: Some(Source::Tool), result: Arc::new(result), latency_us: 100 }
}

/// Hooks around a tool that gives these results in order, and then succeeds.
pub(super) struct Stage {
    chain: Chain,
    call: AroundCall,
    results: Mutex<VecDeque<Settlement>>,
    ran: AtomicU32,
}

impl Stage {
    pub(super) fn new(hooks: Vec<Arc<dyn Around>>, call: AroundCall) -> Self {
        Self { chain: Chain::new(hooks), call, results: Mutex::default(), ran: AtomicU32::new(0) }
    }

    pub(super) fn giving(self, results: impl IntoIterator<Item = Settlement>) -> Self {
        self.results.lock().unwrap().extend(results);
        self
    }

    pub(super) async fn run(&self) -> Settlement {
        self.result().await.unwrap()
    }

    pub(super) async fn result(&self) -> Result<Settlement, HookError> {
        let inside = |_| async {
            self.ran.fetch_add(1, Ordering::Relaxed);
            Ok(self.results.lock().unwrap().pop_front().unwrap_or_else(succeeded))
        };
        self.chain.run(&self.call, inside).await
    }

    pub(super) fn ran(&self) -> u32 {
        self.ran.load(Ordering::Relaxed)
    }
}
