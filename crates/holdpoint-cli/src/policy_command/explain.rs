//! `holdpoint policy explain`: which rule decides about a call, and why.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{Actor, Arguments, RunId, ToolName, Turn};
use holdpoint_policy::{
    AuthorizeRequest, ExplainedCondition, ExplainedRule, Explanation, PastCall, RulesFile, RunFacts, Show,
};
use serde_json::value::RawValue;

use crate::context::ContextArgs;
use crate::failure::{Failure, Outcome};
use crate::print::{self, counted};

/// Say which rule decides about a call and why, and why the rules before it did not.
///
/// The call is only thought of: nothing runs, and nothing is recorded. What is printed shows the arguments.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// The policy file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The registered name of the tool.
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// The arguments, as a model might write them.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// Who asks.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// A role of who asks. May be given several times.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// The tenant of who asks.
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    #[command(flatten)]
    context: ContextArgs,
    /// The arguments of the earlier calls of the tool in the same run, as a list. None if absent.
    #[arg(long, value_name = "JSON")]
    past: Option<String>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint policy explain policy.toml --tool refund --arguments '{\"amount\": 250}'
  holdpoint policy explain policy.toml --tool refund --arguments '{\"amount\": 60}' --past '[{\"amount\": 90}, {\"amount\": 90}]'
  holdpoint policy explain policy.toml --tool refund --actor ana --role support --tenant acme --context user_id=7 --json";

/// 0 when something was decided, whatever it was; 2 when the policy or the call cannot be read.
pub(super) fn run(args: &ExplainArgs) -> Outcome {
    let file = RulesFile::load(&args.file)?;
    let past = past(args)?;
    let request = AuthorizeRequest {
        tool: &ToolName::new(args.tool.as_str()),
        arguments: &arguments(&args.tool, &args.arguments, "--arguments")?,
        context: &context(args)?,
        run: &RunFacts::new(RunId::new("explain"), Turn(1)).with_past(move || past.clone()),
    };
    let explanation = file.written().explain(&request, Show::Values);
    print::text(if args.json { explanation.to_json() + "\n" } else { text(&explanation) });
    Ok(ExitCode::SUCCESS)
}

fn arguments(tool: &str, written: &str, option: &str) -> Outcome<Arguments> {
    let canonical = parse_arguments(Some(written)).map_err(|problem| {
        let failure = Failure::usage(format!("`{option}` cannot be read: {problem}"));
        failure.hint("write a JSON object, as in '{\"amount\": 250}'")
    })?;
    Ok(arguments_for(tool, &canonical))
}

fn past(args: &ExplainArgs) -> Outcome<Vec<PastCall>> {
    let Some(written) = &args.past else { return Ok(Vec::new()) };
    let calls: Vec<&RawValue> = serde_json::from_str(written).map_err(|_| {
        let failure = Failure::usage("`--past` cannot be read: not a JSON list");
        failure.hint("write the arguments of earlier calls, as in '[{\"amount\": 90}]'")
    })?;
    let tool = ToolName::new(args.tool.as_str());
    let call = |call: &&RawValue| Ok(PastCall::new(tool.clone(), arguments(&args.tool, call.get(), "--past")?));
    calls.iter().map(call).collect()
}

fn context(args: &ExplainArgs) -> Outcome<Context> {
    let text = |text: &Option<String>| text.as_deref().map(Into::into);
    let roles = args.roles.iter().map(|role| role.as_str().into()).collect();
    Ok(args.context.read()?.by(Actor { id: text(&args.actor), roles, tenant: text(&args.tenant) }))
}

fn text(explanation: &Explanation) -> String {
    let by = explanation.rule.as_ref().map_or_else(|| "no rule matches".to_owned(), place);
    let mut out = format!("{}: {}, {by}\n", explanation.tool, explanation.decides.as_str());
    if let Some(reason) = &explanation.reason {
        let _ = writeln!(out, "reason: {reason}");
    }
    if let Some(problem) = &explanation.problem {
        let _ = writeln!(out, "it cannot be decided: {problem}");
    }
    out.extend(explanation.rule.iter().flat_map(|rule| &rule.conditions).map(condition));
    if !explanation.passed_over.is_empty() {
        out.push_str("\nrules before it that do not match:\n");
    }
    for rule in &explanation.passed_over {
        let _ = writeln!(out, "{}: {}", place(rule), rule.decides.as_str());
        out.extend(rule.conditions.iter().map(condition));
    }
    if explanation.elsewhere > 0 {
        let verb = if explanation.elsewhere == 1 { "is" } else { "are" };
        let _ = writeln!(out, "\n{} {verb} about other tools only", counted(explanation.elsewhere as u64, "rule"));
    }
    out
}

fn place(rule: &ExplainedRule) -> String {
    let mut place = format!("rule {}", rule.rule);
    if rule.name != place {
        let _ = write!(place, " `{}`", rule.name);
    }
    if let (Some(file), Some(line)) = (&rule.file, rule.line) {
        let _ = write!(place, " ({file}:{line})");
    }
    place
}

fn condition(condition: &ExplainedCondition) -> String {
    let mark = if condition.held { "holds" } else { "fails" };
    let ExplainedCondition { on, at, wants, saw, .. } = condition;
    let value = condition.value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
    format!("  {mark}  {on} {at} {wants}, saw {saw}{value}\n")
}
