//! Asks policy about calls that the model asked for. It sees registered names and canonical arguments only (I5).

use holdpoint_core::{Authorized, CallIndex, Decision, Input};
use holdpoint_policy::{AuthorizeRequest, RunFacts};

use super::{Driver, Interrupted};

impl Driver {
    pub(super) async fn authorize(&mut self, calls: &[CallIndex]) -> Result<(), Interrupted> {
        let mut decisions = Vec::with_capacity(calls.len());
        for index in calls {
            decisions.push((*index, self.ask_policy(*index).await));
        }
        self.feed(Input::Authorized(Authorized { decisions }))?;
        Ok(())
    }

    async fn ask_policy(&self, index: CallIndex) -> Decision {
        let run = self.conductor.run();
        let call = run.call(index).and_then(|call| Some((call.tool.as_ref()?, call.canonical()?)));
        // Only calls with a tool and arguments are proposed, so this is never reached; denying is what is left.
        let Some((tool, arguments)) = call else { return Decision::deny("the call cannot be understood") };
        let facts = RunFacts::new(run.id().clone(), run.turn());
        let request = AuthorizeRequest { tool: &tool.name, arguments, context: self.context(), run: &facts };
        self.parts.policy.authorize(&request).await.0
    }
}
