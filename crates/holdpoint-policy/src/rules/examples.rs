//! The examples of rules: calls, and what their author thinks that becomes of them.

use std::collections::BTreeMap;

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_config::{KeyPath, Problem, RawJson};
use holdpoint_core::{Actor, Arguments, Decision, Ground, RunId, ToolName, Turn};

use super::facts::{Facts, Subject};
use super::index::ToolPattern;
use super::{Decide, ExampleSpec, NO_RULE, RuleSpec, Rules};
use crate::{AuthorizeRequest, PastCall, RunFacts};

impl Rules {
    pub(super) fn check_example(&self, spec: &RuleSpec, example: &ExampleSpec) -> Result<(), Problem> {
        // Most globs match their own text, so that an example need not name a tool.
        let tool = example.tool.as_deref().unwrap_or(&spec.tool);
        if !ToolPattern::parse(&spec.tool)?.matches(tool) {
            return Err(match &example.tool {
                None => Problem::new("does not say which tool it calls").with_hint("add `tool` to the example"),
                Some(_) => Problem::at("tool", "is not one that the rule is about"),
            });
        }
        let call = Call::new(tool, example)?;
        let decision = self.decide_about(&Facts::of(&call.request()));
        let decision = decision.unwrap_or_else(|error| Decision::deny(error.to_string()));
        let (found, wanted) = (Decide::of(&decision), example.decides);
        if found == wanted {
            return Ok(());
        }
        let Ground { rule, reason, .. } = decision.ground();
        let by = rule.as_deref().or(reason.as_deref()).unwrap_or(NO_RULE);
        let problem = format!("decides `{}` by {by}, not `{}`", found.as_str(), wanted.as_str());
        Err(Problem::new(problem).with_hint("the first rule that matches decides: look at those before"))
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
    fn new(tool: &str, example: &ExampleSpec) -> Result<Self, Problem> {
        let mut past = Vec::new();
        for (index, written) in example.past.iter().enumerate() {
            let arguments = arguments(tool, Some(written));
            let arguments = arguments.map_err(|problem| problem.below(KeyPath::from("past").index(index)))?;
            past.push(PastCall::new(ToolName::new(tool), arguments));
        }
        Ok(Self {
            tool: ToolName::new(tool),
            arguments: arguments(tool, example.arguments.as_ref()).map_err(|problem| problem.below("arguments"))?,
            context: context(&example.context)?,
            run: RunFacts::new(RunId::new("example"), Turn(1)).with_past(move || past.clone()),
        })
    }

    fn request(&self) -> AuthorizeRequest<'_> {
        AuthorizeRequest { tool: &self.tool, arguments: &self.arguments, context: &self.context, run: &self.run }
    }
}

fn arguments(tool: &str, written: Option<&RawJson>) -> Result<Arguments, Problem> {
    let canonical = parse_arguments(written.map(|raw| raw.0.as_str()));
    let canonical = canonical.map_err(|problem| Problem::new(format_args!("cannot be arguments: {problem}")))?;
    Ok(arguments_for(tool, &canonical))
}

fn context(written: &BTreeMap<String, RawJson>) -> Result<Context, Problem> {
    let mut context = Context::new();
    let mut actor = Actor::default();
    for (key, value) in written {
        let at = |problem: Problem| problem.below(["context", key]);
        let wrong = |text: &str| at(Problem::new(text));
        let name = || Ok(Some(value.as_string().ok_or_else(|| wrong("must be a string"))?.into()));
        match Subject::of_context(key).map_err(at)? {
            Subject::Actor => actor.id = name()?,
            Subject::Tenant => actor.tenant = name()?,
            Subject::Roles => {
                let roles: Vec<String> =
                    serde_json::from_str(&value.0).map_err(|_| wrong("must be a list of strings"))?;
                actor.roles.extend(roles.into_iter().map(Into::into));
            }
            Subject::Attribute(pointer) => {
                let name = pointer.only().ok_or_else(|| wrong("is not the name of an attribute"))?;
                context = context.with(name, serde_json::Value::from(value));
            }
            Subject::Argument(_) | Subject::Calls | Subject::Sum(_) => {}
        }
    }
    Ok(context.by(actor))
}
