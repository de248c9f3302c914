//! Asks policy about calls that the model asked for. It sees registered names and canonical arguments only (I5).

use std::collections::BTreeSet;

use holdpoint_core::{Authorized, CallIndex, Decision, Input, ToolName};
use holdpoint_policy::{AuthorizeRequest, Judged};

use super::facts::{grants_for, run_facts};
use super::{Driver, Interrupted};

impl Driver {
    pub(super) async fn authorize(&mut self, calls: &[CallIndex]) -> Result<(), Interrupted> {
        let mut authorized = Authorized::default();
        let mut denied = Vec::new();
        let mut questioned: BTreeSet<ToolName> = BTreeSet::new();
        for index in calls {
            let Judged { decision, shadow, .. } = self.ask_policy(*index, &denied).await;
            match &decision {
                Decision::Allow(_) => {}
                Decision::Deny(_) => denied.push(*index),
                Decision::Confirm(..) => {
                    let tool = self.run().call(*index).and_then(|call| call.tool.as_ref());
                    questioned.extend(tool.map(|facts| facts.name.clone()));
                }
            }
            authorized.shadows.extend(shadow.map(|shadow| (*index, shadow.recorded())));
            authorized.decisions.push((*index, decision));
        }
        for tool in &questioned {
            authorized.grants.extend(grants_for(&self.parts, self.run(), tool).await?);
        }
        self.feed(Input::Authorized(authorized))?;
        Ok(())
    }

    pub(super) async fn ask_policy(&self, index: CallIndex, denied: &[CallIndex]) -> Judged {
        let run = self.conductor.run();
        let call = run.call(index).and_then(|call| Some((call.tool.as_ref()?, call.canonical()?)));
        let Some((tool, arguments)) = call else {
            // Only calls with a tool and arguments are proposed, so this is never reached; denying is what is left.
            return Judged { decision: Decision::deny("the call cannot be understood"), fault: None, shadow: None };
        };
        let facts = run_facts(&self.parts, run, index, denied);
        let request = AuthorizeRequest { tool: &tool.name, arguments, context: self.context(), run: &facts };
        self.parts.policy.judge(&request).await
    }
}
