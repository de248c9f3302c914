//! `holdpoint policy explain`: which rule decides about a call, and why.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use holdpoint::{Actor, Context, RunId};
use holdpoint_codec::{arguments_for, parse_arguments};
use holdpoint_core::{Arguments, ToolName, Turn};
use holdpoint_policy::{
    AuthorizeRequest, ExplainedCondition, ExplainedRule, Explanation, PastCall, RulesFile, RunFacts, Show,
};
use serde_json::Value;
use serde_json::value::RawValue;

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
    /// A context attribute; what is not JSON is a text. May be given several times.
    #[arg(long = "context", value_name = "KEY=VALUE")]
    context: Vec<String>,
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
pub(super) fn run(args: &ExplainArgs) -> ExitCode {
    let file = match RulesFile::load(&args.file) {
        Ok(file) => file,
        Err(error) => return super::not_a_policy(&error),
    };
    let call = match Asked::of(args) {
        Ok(call) => call,
        Err(Unclear { message, hint }) => return super::bad_usage(&message, hint),
    };
    let explanation = file.written().explain(&call.request(), Show::Values);
    let told = if args.json { format!("{}\n", explanation.to_json()) } else { text(&explanation) };
    let _ = write!(io::stdout(), "{told}");
    ExitCode::SUCCESS
}

/// The call that is asked about.
struct Asked {
    tool: ToolName,
    arguments: Arguments,
    context: Context,
    run: RunFacts,
}

/// Why there is no call to ask about. Without the values that were given.
struct Unclear {
    message: String,
    hint: &'static str,
}

impl Asked {
    fn of(args: &ExplainArgs) -> Result<Self, Unclear> {
        let past = past(args)?;
        Ok(Self {
            tool: ToolName::new(args.tool.as_str()),
            arguments: arguments(&args.tool, &args.arguments, "--arguments")?,
            context: context(args)?,
            run: RunFacts::new(RunId::new("explain"), Turn(1)).with_past(move || past.clone()),
        })
    }

    fn request(&self) -> AuthorizeRequest<'_> {
        AuthorizeRequest { tool: &self.tool, arguments: &self.arguments, context: &self.context, run: &self.run }
    }
}

fn arguments(tool: &str, written: &str, option: &str) -> Result<Arguments, Unclear> {
    let canonical = parse_arguments(Some(written)).map_err(|problem| Unclear {
        message: format!("`{option}` cannot be read: {problem}"),
        hint: "write a JSON object, as in '{\"amount\": 250}'",
    })?;
    Ok(arguments_for(tool, &canonical))
}

fn past(args: &ExplainArgs) -> Result<Vec<PastCall>, Unclear> {
    let Some(written) = &args.past else { return Ok(Vec::new()) };
    let calls: Vec<&RawValue> = serde_json::from_str(written).map_err(|_| Unclear {
        message: "`--past` cannot be read: not a JSON list".to_owned(),
        hint: "write the arguments of earlier calls, as in '[{\"amount\": 90}]'",
    })?;
    let tool = ToolName::new(args.tool.as_str());
    let call = |call: &&RawValue| Ok(PastCall::new(tool.clone(), arguments(&args.tool, call.get(), "--past")?));
    calls.iter().map(call).collect()
}

fn context(args: &ExplainArgs) -> Result<Context, Unclear> {
    let mut context = Context::new();
    for attribute in &args.context {
        let (key, value) = attribute.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| Unclear {
            message: "`--context` needs a key and a value".to_owned(),
            hint: "write `--context KEY=VALUE`, as in `--context user_id=7`",
        })?;
        context = context.with(key, serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)));
    }
    let text = |text: &Option<String>| text.as_deref().map(Into::into);
    let roles = args.roles.iter().map(|role| role.as_str().into()).collect();
    Ok(context.by(Actor { id: text(&args.actor), roles, tenant: text(&args.tenant) }))
}

fn text(explanation: &Explanation) -> String {
    let mut out = format!("{}: {}", explanation.tool, explanation.decides);
    let by = explanation.rule.as_ref().map_or_else(|| "no rule matches".to_owned(), place);
    let _ = writeln!(out, ", {by}");
    if let Some(reason) = &explanation.reason {
        let _ = writeln!(out, "reason: {reason}");
    }
    if let Some(problem) = &explanation.problem {
        let _ = writeln!(out, "it cannot be decided: {problem}");
    }
    conditions(explanation.rule.iter().flat_map(|rule| &rule.conditions), &mut out);
    if !explanation.passed_over.is_empty() {
        out.push_str("\nrules before it that do not match:\n");
    }
    for rule in &explanation.passed_over {
        let _ = writeln!(out, "{}: {}", place(rule), rule.decides);
        conditions(&rule.conditions, &mut out);
    }
    match explanation.elsewhere {
        0 => {}
        1 => out.push_str("\n1 rule is about other tools only\n"),
        more => {
            let _ = writeln!(out, "\n{more} rules are about other tools only");
        }
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

fn conditions<'c>(conditions: impl IntoIterator<Item = &'c ExplainedCondition>, out: &mut String) {
    for condition in conditions {
        let mark = if condition.held { "holds" } else { "fails" };
        let ExplainedCondition { on, at, wants, saw, .. } = condition;
        let _ = write!(out, "  {mark}  {on} {at} {wants}, saw {saw}");
        let _ = match &condition.value {
            Some(value) => writeln!(out, " {value}"),
            None => writeln!(out),
        };
    }
}
