//! Running a program so that nothing of it stays behind.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use holdpoint_programs::{Input, LAUNCH_FAILED, Pipes, Program};
use holdpoint_tools::Gate;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use super::output::{Kept, MAX_STDERR_BYTES};

/// How long the pipes of a program that ended are read, when somebody else holds them open.
const MAX_PIPES_AFTER_END: Duration = Duration::from_millis(500);

/// How a program is started.
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(String, OsString)>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) max_stdout_bytes: usize,
    /// The call that it does.
    pub(super) call: String,
    /// Asked right before the start.
    pub(super) gate: Gate,
}

/// How a program ended, and what it wrote.
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
}

/// Why there is no end.
pub(super) enum RunError {
    /// It could not be started.
    NotStarted(io::ErrorKind),
    /// The gate was closed: it was not started.
    Unwanted,
    /// It was started, and then the system failed.
    Lost(io::ErrorKind),
}

impl Start {
    /// Runs the program to its end. When the future is dropped, it and its children are killed.
    pub(super) async fn run(self) -> Result<Finished, RunError> {
        let program = Program {
            arguments: self.arguments.into_iter().map(Into::into).collect(),
            folder: Some(self.folder),
            environment: self.environment.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            stdin: if self.stdin.is_some() { Input::Piped } else { Input::Null },
            call: Some(self.call),
            ..Program::new(self.program)
        };
        let gate = self.gate;
        let started = program.start_if(move || gate()).await.map_err(|error| RunError::NotStarted(error.kind()))?;
        let mut running = started.ok_or(RunError::Unwanted)?;
        let Pipes { stdin, stdout, stderr } = running.pipes();
        let (mut out, mut err) = (Kept::up_to(self.max_stdout_bytes), Kept::up_to(MAX_STDERR_BYTES));
        let status = {
            let mut pipes = std::pin::pin!(async {
                tokio::join!(write(stdin, self.stdin), out.read_from(stdout), err.read_from(stderr));
            });
            let mut ended = false;
            let status = loop {
                tokio::select! {
                    status = running.wait() => break status,
                    () = &mut pipes, if !ended => ended = true,
                }
            };
            // Whoever holds the pipes open now has left the group, and is not waited for.
            if !ended {
                let _ = tokio::time::timeout(MAX_PIPES_AFTER_END, pipes).await;
            }
            status.map_err(|error| RunError::Lost(error.kind()))?
        };
        if status.code() == Some(127) && err.bytes.starts_with(LAUNCH_FAILED.as_bytes()) {
            return Err(RunError::NotStarted(io::ErrorKind::NotFound));
        }
        Ok(Finished { status, stdout: out, stderr: err })
    }
}

async fn write(stdin: Option<ChildStdin>, bytes: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(bytes)) = (stdin, bytes) {
        // A program need not read what it is given.
        let _ = stdin.write_all(&bytes).await;
        let _ = stdin.shutdown().await;
    }
}
