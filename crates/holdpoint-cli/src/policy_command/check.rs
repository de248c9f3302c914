//! `holdpoint policy check`: whether policies can be used, and whether all of their rules can ever decide.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use holdpoint_config::ConfigError;
use holdpoint_core::ToolName;
use holdpoint_policy::{Mode, RulePlace, RuleWarning, RulesFile};
use serde_json::{Value, json};

use crate::failure::{BAD_USAGE, Failure, Outcome};
use crate::print::{self, counted};

/// Check policy files: what they say, their own examples, and rules that never decide.
///
/// A file that says something that means nothing is refused with its line: nothing silently removes a gate. A rule that
/// an earlier one plainly covers is a warning.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    /// Policy files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The names of all registered tools: a rule about none of them is refused.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// The context attributes that are kept with a run: a rule that reads another one is refused.
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    context_keys: Option<Vec<String>>,
    /// One JSON object per file.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint policy check policy.toml
  holdpoint policy check policies/*.toml --json
  holdpoint policy check policy.toml --tools refund,read_file,fetch --context-keys user_id,region

Exit codes: 0 all is well, 1 a rule never decides, 2 a file cannot be used.";

/// 0 when all is well, 1 when there are warnings, 2 when a file cannot be used.
pub(super) fn run(args: &CheckArgs) -> Outcome {
    let mut worst = 0;
    for path in &args.files {
        let checked = check(path, args);
        worst = worst.max(match &checked {
            Ok(checked) => u8::from(!checked.warnings.is_empty()),
            Err(_) => BAD_USAGE,
        });
        let path = path.display().to_string();
        print::text(if args.json { print::to_json(&to_json(&path, &checked)) } else { to_text(&path, &checked) });
    }
    Ok(ExitCode::from(worst))
}

/// A file that can be used.
struct Checked {
    file: RulesFile,
    warnings: Vec<RuleWarning>,
}

fn check(path: &Path, args: &CheckArgs) -> Result<Checked, ConfigError> {
    let file = RulesFile::load(path)?;
    let rules = file.written();
    if let Some(names) = &args.tools {
        rules.check_tools(&names.iter().map(|name| ToolName::new(name.trim())).collect())?;
    }
    if let Some(keys) = &args.context_keys {
        rules.check_context_keys(keys.iter().map(|key| key.trim()))?;
    }
    Ok(Checked { warnings: rules.warnings(), file })
}

fn to_text(path: &str, checked: &Result<Checked, ConfigError>) -> String {
    let Checked { file, warnings } = match checked {
        Ok(checked) => checked,
        Err(error) => return format!("FAILED {path}\n{}", Failure::from(error)),
    };
    let warning = |warning: &RuleWarning| format!("warning: {warning}\nhint: {}\n", warning.hint());
    let told: String = warnings.iter().map(warning).collect();
    let word = if warnings.is_empty() { "ok" } else { "WARNED" };
    let mode = match file.mode() {
        Mode::Enforce => "",
        Mode::LogOnly => ", only tried",
    };
    let rules = counted(file.written().len() as u64, "rule");
    let examples = counted(file.written().examples() as u64, "example");
    format!("{word} {path}: {rules}, {examples}{mode}\n{told}")
}

fn to_json(path: &str, checked: &Result<Checked, ConfigError>) -> Value {
    match checked {
        Err(error) => {
            let error = json!({
                "code": error.code().as_str(),
                "line": error.place().map(|place| place.line),
                "message": error.problems().first().map(|located| error.line(located)),
                "hint": error.hint(),
            });
            json!({ "file": path, "ok": false, "error": error })
        }
        Ok(Checked { file, warnings }) => json!({
            "file": path,
            "ok": warnings.is_empty(),
            "mode": file.mode().as_str(),
            "version": file.written().version().as_str(),
            "rules": file.written().len(),
            "examples": file.written().examples(),
            "warnings": warnings.iter().map(warning_json).collect::<Vec<_>>(),
        }),
    }
}

fn warning_json(warning: &RuleWarning) -> Value {
    let RulePlace { line, rule, name, .. } = &warning.rule;
    json!({
        "line": line,
        "rule": rule,
        "name": &**name,
        "message": warning.to_string(),
        "hint": warning.hint(),
        "covered_by": { "line": warning.by.line, "rule": warning.by.rule, "name": &*warning.by.name },
    })
}
