//! A program that runs, and all that it starts.

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::register::Entry;

/// A program and what it started, as long as they stay in its group. None of them outlives this value.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Nothing once the program was reaped: its number is free for others then, and nothing may be sent to it.
    leader: Option<u32>,
    /// Removed from the folder of this machine when it is dropped.
    _entry: Option<Entry>,
}

/// The pipes of a program.
#[derive(Debug)]
pub struct Pipes {
    /// Its input, unless it has none.
    pub stdin: Option<ChildStdin>,
    /// Its output.
    pub stdout: Option<ChildStdout>,
    /// Its error output.
    pub stderr: Option<ChildStderr>,
}

impl Running {
    pub(crate) fn new(child: Child, call: Option<&str>) -> Self {
        let leader = child.id();
        Self { child, leader, _entry: leader.and_then(|leader| Entry::add(leader, call)) }
    }

    /// The number of the program, which is that of its group. Nothing once it was reaped.
    pub fn id(&self) -> Option<u32> {
        self.leader
    }

    /// Takes the pipes, once.
    pub fn pipes(&mut self) -> Pipes {
        Pipes { stdin: self.child.stdin.take(), stdout: self.child.stdout.take(), stderr: self.child.stderr.take() }
    }

    /// Waits for the program to end, then kills what it left behind, then reaps it. In this order, because the number of the
    /// group belongs to it only until then.
    ///
    /// # Errors
    /// When the system cannot say.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        #[cfg(unix)]
        {
            self.wait_without_reaping().await?;
            self.kill_group();
        }
        let status = self.child.wait().await?;
        self.leader = None;
        Ok(status)
    }

    /// Kills the program and what it started.
    pub fn kill(&mut self) {
        #[cfg(unix)]
        self.kill_group();
        #[cfg(not(unix))]
        let _ = self.child.start_kill();
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
        self.leader.and_then(|leader| i32::try_from(leader).ok()).and_then(rustix::process::Pid::from_raw)
    }

    #[cfg(unix)]
    fn kill_group(&self) {
        if let Some(pid) = self.pid() {
            // It fails when nobody is left, which is as well. A launcher that has not started its session yet is no group:
            // then the child alone is killed.
            let killed = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            if killed.is_err() {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

impl Drop for Running {
    /// The program itself is reaped by the runtime.
    fn drop(&mut self) {
        if self.leader.is_some() {
            self.kill();
        }
    }
}
