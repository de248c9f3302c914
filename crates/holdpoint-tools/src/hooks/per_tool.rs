//! What a hook keeps for each tool, within a bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use holdpoint_core::ToolName;

/// For how many tools a hook keeps something. Tools beyond it pass through.
pub(super) const TOOLS_MAX: usize = 1_000;

/// One `T` for each registered name.
pub(super) struct PerTool<T> {
    tools: RwLock<HashMap<ToolName, Arc<Mutex<T>>>>,
}

impl<T> Default for PerTool<T> {
    fn default() -> Self {
        Self { tools: RwLock::default() }
    }
}

impl<T> PerTool<T> {
    /// What is kept for this tool, made if it is new and there is room.
    pub(super) fn of(&self, tool: &ToolName, new: impl FnOnce() -> T) -> Option<Arc<Mutex<T>>> {
        if let Some(kept) = self.find(tool) {
            return Some(kept);
        }
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        if tools.len() >= TOOLS_MAX && !tools.contains_key(tool) {
            return None;
        }
        Some(Arc::clone(tools.entry(tool.clone()).or_insert_with(|| Arc::new(Mutex::new(new())))))
    }

    /// What is kept for this tool.
    pub(super) fn find(&self, tool: &ToolName) -> Option<Arc<Mutex<T>>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }

    /// All of it, by name.
    pub(super) fn all(&self) -> Vec<Arc<Mutex<T>>> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = tools.iter().collect();
        all.sort_unstable_by_key(|(tool, _)| *tool);
        all.into_iter().map(|(_, kept)| Arc::clone(kept)).collect()
    }
}

/// Nothing that a hook does while it holds a lock leaves it half done.
pub(super) fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
