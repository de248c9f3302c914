//! `holdpoint init`: a commented configuration, a policy with examples, a scenario.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::print;

/// Write a first configuration into a folder.
///
/// That is: a commented `holdpoint.toml`, a policy with its own examples, a scripted model, schemas and a scenario.
///
/// Nothing that is there is overwritten: if one of the files is, none is written. What is written works as it is, without a
/// key and without a network: `holdpoint serve` starts it, `holdpoint check` proves it.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InitArgs {
    /// The folder; made if it is not there.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint init
  holdpoint init support && cd support && holdpoint check && holdpoint serve";

/// The files, by their place in the folder.
pub(crate) const FILES: [(&str, &str); 6] = [
    ("holdpoint.toml", include_str!("init_command/holdpoint.toml")),
    ("policy.toml", include_str!("init_command/policy.toml")),
    ("model.yaml", include_str!("init_command/model.yaml")),
    ("schemas/find_order.json", include_str!("init_command/find_order.json")),
    ("schemas/refund.json", include_str!("init_command/refund.json")),
    ("scenarios/refund.yaml", include_str!("init_command/refund.yaml")),
];

/// 0 when all is written, 1 when something is in the way.
pub(crate) fn run(args: &InitArgs) -> Outcome {
    let there: Vec<&str> = FILES.iter().map(|(name, _)| *name).filter(|name| args.folder.join(name).exists()).collect();
    if !there.is_empty() {
        let message = format!("there is already {} in `{}`", there.join(", "), args.folder.display());
        return Err(Failure::new(message).hint("nothing was written; name another folder"));
    }
    for (name, text) in FILES {
        let path = args.folder.join(name);
        let cannot = |error: io::Error| format!("`{}` cannot be written: {}", path.display(), error.kind());
        write(&path, text).map_err(|error| Failure::new(cannot(error)))?;
        print::line(path.display());
    }
    let within =
        if args.folder == Path::new(".") { String::new() } else { format!("cd {} && ", args.folder.display()) };
    eprintln!("Next: {within}holdpoint check, then {within}holdpoint serve");
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
