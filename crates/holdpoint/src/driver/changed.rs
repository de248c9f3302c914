//! A tool may have changed while a run was paused, or since the process before died. What was decided about a call was
//! decided about the tool as it was: policy is asked again, and so is whoever approved.

use holdpoint_core::{Arguments, Call, CallIndex, Input, Problem, Refit, ToolChanged, ToolFacts};
use holdpoint_tools::{RegisteredTool, Registry};

use super::understand::schema_problem;
use super::{Driver, Interrupted};

impl Driver {
    /// Looks at calls that are about to run. Returns whether any of them is not about to run any more.
    pub(super) async fn take_changes(&mut self, calls: &[CallIndex]) -> Result<bool, Interrupted> {
        let mut changed = false;
        for index in calls {
            // A question about one of them may hold the others: they are looked at when it is answered.
            let about_to_run = self.run().call(*index).filter(|call| self.run().is_executable(call));
            let found = about_to_run.and_then(|call| changed_tool(&self.parts.registry, call));
            let Some((tool, problem)) = found else { continue };
            let refit = match problem {
                Some(problem) => Refit::Unfit(problem),
                None => Refit::Decided(self.ask_policy(*index, &[]).await.decision),
            };
            self.feed(Input::ToolChanged(Box::new(ToolChanged { call: *index, task: None, tool, refit })))?;
            changed = true;
        }
        Ok(changed)
    }
}

/// What the tool of a call is by now if it changed, and what that means for its arguments.
fn changed_tool(registry: &Registry, call: &Call) -> Option<(ToolFacts, Option<Problem>)> {
    let was = call.tool.as_ref()?;
    let registered = registry.find(was.name.as_str())?;
    let unfit = || call.canonical().and_then(|arguments| unfit_arguments(registered, arguments));
    has_changed(was, registered).then(|| (registered.facts().clone(), unfit()))
}

/// Whether a tool takes other arguments by now, or comes from elsewhere.
pub(crate) fn has_changed(was: &ToolFacts, registered: &RegisteredTool) -> bool {
    was.definition.is_some() && was.definition != registered.facts().definition
}

/// Why arguments do not fit a tool as it is by now.
pub(crate) fn unfit_arguments(registered: &RegisteredTool, arguments: &Arguments) -> Option<Problem> {
    let problem = schema_problem(registered, arguments)?;
    let text = format!("The tool has changed since this call was made. {}", problem.text);
    Some(Problem { text: text.into(), ..problem })
}
