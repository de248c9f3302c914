//! The launcher: this same executable, started with a hidden argument. It asks the kernel to kill it when its parent dies,
//! starts a session, makes sure that the parent still lives, and becomes the program.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use crate::Program;

/// What a launcher writes to its error output when the program cannot be started. It then ends with exit code 127.
pub const LAUNCH_FAILED: &str = "holdpoint: the program cannot be started: ";

static LAUNCHER: OnceLock<(PathBuf, &'static str)> = OnceLock::new();

/// Starts all programs through an executable that calls [`launch`] with the rest of its arguments when its first one is
/// `argument`. Has an effect on Linux only, and only the first time.
pub fn use_launcher(executable: PathBuf, argument: &'static str) {
    if cfg!(target_os = "linux") {
        LAUNCHER.get_or_init(|| (executable, argument));
    }
}

/// What stands before the program and its arguments.
pub(crate) fn prefix() -> Option<Vec<OsString>> {
    let (executable, argument) = LAUNCHER.get()?;
    let parent = std::process::id().to_string();
    Some(vec![executable.into(), (*argument).into(), parent.into()])
}

/// A launcher cannot say in time that there is no such program, so that is looked at before.
pub(crate) fn expect_program(program: &Program) -> io::Result<()> {
    let named = Path::new(&program.program);
    let is_file = |path: &Path| path.is_file();
    let found = if named.components().count() > 1 {
        let folder = program.folder.as_deref().unwrap_or(Path::new(""));
        is_file(named) || is_file(&folder.join(named))
    } else {
        let path = program.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
        std::env::split_paths(&path).any(|folder| is_file(&folder.join(named)))
    };
    if found { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Becomes the program that the arguments name, which are those after the hidden one. Comes back only when it cannot.
pub fn launch(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|parent| parent.to_str()?.parse().ok());
    let (Some(parent), Some(program)) = (parent, arguments.next()) else { return ExitCode::from(127) };
    become_program(parent, program, arguments)
}

#[cfg(target_os = "linux")]
fn become_program(parent: i32, program: OsString, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    use std::io::Write;
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};

    let tied = set_parent_process_death_signal(Some(Signal::KILL));
    // A parent that died before the signal was set would never be noticed.
    let lives = getppid().is_some_and(|pid| pid.as_raw_nonzero().get() == parent);
    if tied.is_err() || !lives {
        return ExitCode::from(127);
    }
    let _ = setsid();
    let error = std::process::Command::new(program).args(arguments).exec();
    let _ = writeln!(io::stderr(), "{LAUNCH_FAILED}{}", error.kind());
    ExitCode::from(127)
}

#[cfg(not(target_os = "linux"))]
fn become_program(_: i32, _: OsString, _: impl Iterator<Item = OsString>) -> ExitCode {
    ExitCode::from(127)
}
