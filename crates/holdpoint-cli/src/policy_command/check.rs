//! `holdpoint policy check`: whether policies can be used, and whether all of their rules can ever decide.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use holdpoint_core::ToolName;
use holdpoint_policy::{RuleWarning, Rules, RulesError, RulesFile};
use serde_json::{Value, json};

use crate::problem::BAD_USAGE;

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
pub(super) fn run(args: &CheckArgs) -> ExitCode {
    let mut worst = 0;
    for file in &args.files {
        let checked = check(file, args);
        worst = worst.max(checked.exit_code());
        let told = if args.json { format!("{}\n", checked.to_json(file)) } else { checked.to_text(file) };
        // Whoever reads may stop reading; the exit code still counts.
        let _ = write!(io::stdout(), "{told}");
    }
    ExitCode::from(worst)
}

/// What there is to say about a file.
enum Checked {
    Usable(Box<RulesFile>, Vec<RuleWarning>),
    Refused(RulesError),
}

fn check(file: &Path, args: &CheckArgs) -> Checked {
    let usable = || {
        let file = RulesFile::load(file)?;
        let rules = file.written();
        if let Some(names) = &args.tools {
            let tools = names.iter().map(|name| ToolName::new(name.trim())).collect();
            rules.check_tools(&tools)?;
        }
        if let Some(keys) = &args.context_keys {
            rules.check_context_keys(keys.iter().map(|key| key.trim()))?;
        }
        let warnings = rules.warnings();
        Ok((file, warnings))
    };
    match usable() {
        Ok((file, warnings)) => Checked::Usable(Box::new(file), warnings),
        Err(error) => Checked::Refused(error),
    }
}

impl Checked {
    fn exit_code(&self) -> u8 {
        match self {
            Checked::Usable(_, warnings) if warnings.is_empty() => 0,
            Checked::Usable(..) => 1,
            Checked::Refused(_) => BAD_USAGE,
        }
    }

    fn to_text(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Checked::Refused(error) => format!("FAILED {path}\n{}", super::told(error)),
            Checked::Usable(file, warnings) if warnings.is_empty() => format!("ok {path}: {}\n", counted(file)),
            Checked::Usable(file, warnings) => {
                let warning = |warning: &RuleWarning| format!("warning: {warning}\nhint: {}\n", warning.hint());
                let told: String = warnings.iter().map(warning).collect();
                format!("WARNED {path}: {}\n{told}", counted(file))
            }
        }
    }

    fn to_json(&self, path: &Path) -> Value {
        let file = path.display().to_string();
        match self {
            Checked::Refused(error) => json!({ "file": file, "ok": false, "error": super::error_json(error) }),
            Checked::Usable(usable, warnings) => json!({
                "file": file,
                "ok": warnings.is_empty(),
                "mode": usable.mode().as_str(),
                "version": usable.written().version().as_str(),
                "rules": usable.written().len(),
                "examples": usable.written().examples(),
                "warnings": warnings.iter().map(warning_json).collect::<Vec<_>>(),
            }),
        }
    }
}

fn warning_json(warning: &RuleWarning) -> Value {
    json!({
        "line": warning.place.line,
        "rule": warning.place.rule,
        "name": &*warning.name,
        "message": warning.to_string(),
        "hint": warning.hint(),
        "covered_by": { "line": warning.by.line, "rule": warning.by.rule, "name": &*warning.by_name },
    })
}

fn counted(file: &RulesFile) -> String {
    let rules: &Rules = file.written();
    let some = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let mode = match file.mode() {
        holdpoint_policy::Mode::Enforce => "",
        holdpoint_policy::Mode::LogOnly => ", only tried",
    };
    format!("{}, {}{mode}", some(rules.len(), "rule"), some(rules.examples(), "example"))
}
