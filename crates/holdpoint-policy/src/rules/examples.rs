//! The examples of rules: calls, and what their author thinks that becomes of them.

use std::collections::BTreeMap;

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{Actor, Arguments, Decision, RunId, ToolName, Turn};

use super::facts::{Facts, Subject};
use super::index::ToolPattern;
use super::{Decide, ExampleSpec, Literal, NO_RULE, RuleProblem, RuleSpec, Rules};
use crate::{AuthorizeRequest, PastCall, RunFacts};

impl Rules {
    pub(super) fn check_example(
        &self,
        spec: &RuleSpec,
        number: usize,
        example: &ExampleSpec,
    ) -> Result<(), RuleProblem> {
        let number = number + 1;
        // Most globs match their own text, so that an example need not name a tool.
        let tool = example.tool.as_deref().unwrap_or(&spec.tool);
        if !ToolPattern::parse(&spec.tool)?.matches(tool) {
            return Err(match &example.tool {
                None => RuleProblem::ExampleTool { example: number },
                Some(tool) => RuleProblem::ExampleElsewhere { example: number, tool: tool.clone() },
            });
        }
        let call = Call::new(tool, example).map_err(|why| RuleProblem::ExampleUnreadable { example: number, why })?;
        let decision = self.decide_about(&Facts::of(&call.request()));
        let decision = decision.unwrap_or_else(|error| Decision::deny(error.to_string()));
        let found = Decide::of(&decision);
        if found == example.decides {
            return Ok(());
        }
        let by = decision.ground().rule.clone().or_else(|| decision.ground().reason.clone());
        let by = by.unwrap_or_else(|| NO_RULE.into());
        Err(RuleProblem::Example { example: number, wanted: example.decides, found, by })
    }
}

/// An example, treated as a driver treats calls: only canonical arguments are decided about.
struct Call {
    tool: ToolName,
    arguments: Arguments,
    context: Context,
    run: RunFacts,
}

impl Call {
    fn new(tool: &str, example: &ExampleSpec) -> Result<Self, String> {
        let past = example.past.iter().map(|past| Ok(PastCall::new(ToolName::new(tool), arguments(tool, past)?)));
        let past = past.collect::<Result<Vec<_>, String>>()?;
        Ok(Self {
            tool: ToolName::new(tool),
            arguments: arguments(tool, &example.arguments)?,
            context: context(&example.context)?,
            run: RunFacts::new(RunId::new("example"), Turn(1)).with_past(move || past.clone()),
        })
    }

    fn request(&self) -> AuthorizeRequest<'_> {
        AuthorizeRequest { tool: &self.tool, arguments: &self.arguments, context: &self.context, run: &self.run }
    }
}

fn arguments(tool: &str, written: &BTreeMap<String, Literal>) -> Result<Arguments, String> {
    let text = Literal::Map(written.clone()).to_json();
    let canonical = parse_arguments(Some(&text)).map_err(|problem| problem.to_string())?;
    Ok(arguments_for(tool, &canonical))
}

fn context(written: &BTreeMap<String, Literal>) -> Result<Context, String> {
    let mut context = Context::new();
    let mut actor = Actor::default();
    for (key, value) in written {
        let subject = Subject::of_context(key).map_err(|problem| problem.to_string())?;
        match (&subject, value) {
            (Subject::Actor, Literal::Text(name)) => actor.id = Some(name.as_str().into()),
            (Subject::Tenant, Literal::Text(name)) => actor.tenant = Some(name.as_str().into()),
            (Subject::Roles, Literal::List(roles)) => {
                for role in roles {
                    let Literal::Text(role) = role else { return Err("a role is a text".to_owned()) };
                    actor.roles.insert(role.as_str().into());
                }
            }
            (Subject::Actor | Subject::Tenant, _) => return Err(format!("`{key}` needs a text")),
            (Subject::Roles, _) => return Err("`roles` needs a list".to_owned()),
            (Subject::Attribute(pointer), value) => {
                let name = pointer.only().ok_or_else(|| format!("`{key}` is not the name of an attribute"))?;
                let value: serde_json::Value =
                    serde_json::from_str(&value.to_json()).map_err(|_| format!("`{key}` cannot be an attribute"))?;
                context = context.with(name, value);
            }
            (Subject::Argument(_) | Subject::Calls | Subject::Sum(_), _) => {}
        }
    }
    Ok(context.by(actor))
}
