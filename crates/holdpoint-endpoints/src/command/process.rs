//! Running a program so that nothing of it stays behind.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use super::output::{Kept, STDERR_BYTES_MAX};

/// How long the pipes of a program that ended are read, when somebody else holds them open.
const PIPES_AFTER_END_MAX: Duration = Duration::from_millis(500);

/// How a program is started.
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(String, OsString)>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) stdout_bytes_max: usize,
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
    /// It was started, and then the system failed.
    Lost(io::ErrorKind),
}

impl Start {
    /// Runs the program to its end. When the future is dropped, it and its children are killed.
    pub(super) async fn run(self) -> Result<Finished, RunError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment)
            .stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn().map_err(|error| RunError::NotStarted(error.kind()))?;
        let mut group = Group { child, state: State::Running };
        let stdin = group.child.stdin.take();
        let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
        let (mut out, mut err) = (Kept::up_to(self.stdout_bytes_max), Kept::up_to(STDERR_BYTES_MAX));
        let status = {
            let mut pipes = std::pin::pin!(async {
                tokio::join!(write(stdin, self.stdin), out.read_from(stdout), err.read_from(stderr));
            });
            let mut ended = false;
            let status = loop {
                tokio::select! {
                    status = group.wait() => break status,
                    () = &mut pipes, if !ended => ended = true,
                }
            };
            // Whoever holds the pipes open now has left the group, and is not waited for.
            if !ended {
                let _ = tokio::time::timeout(PIPES_AFTER_END_MAX, pipes).await;
            }
            status.map_err(|error| RunError::Lost(error.kind()))?
        };
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

/// A program and all that it starts, as long as they stay in its group.
struct Group {
    child: Child,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// Its number is free for others: nothing may be sent to it any more.
    Reaped,
}

impl Group {
    /// Waits for the program to end, then kills what it left behind, then lets go of it. In this order, since the number
    /// of the group belongs to it only until then.
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        #[cfg(unix)]
        {
            self.wait_without_reaping().await?;
            self.kill();
        }
        let status = self.child.wait().await?;
        self.state = State::Reaped;
        Ok(status)
    }

    #[cfg(unix)]
    async fn wait_without_reaping(&self) -> io::Result<()> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        use tokio::signal::unix::{SignalKind, signal};
        let Some(pid) = self.pid() else { return Ok(()) };
        // Listens before it looks, so that no end falls between.
        let mut ends = signal(SignalKind::child())?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(WaitId::Pid(pid), options)?.is_none() {
            ends.recv().await;
        }
        Ok(())
    }

    #[cfg(unix)]
    fn pid(&self) -> Option<rustix::process::Pid> {
        self.child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw)
    }

    #[cfg(unix)]
    fn kill(&mut self) {
        if let Some(pid) = self.pid() {
            // It fails when nobody is left, which is as well.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn kill(&mut self) {
        let _ = self.child.start_kill();
    }
}

impl Drop for Group {
    /// The program itself is reaped by the runtime.
    fn drop(&mut self) {
        if self.state == State::Running {
            self.kill();
        }
    }
}
