//! Starts programs that end with the process that started them.
//!
//! A program that outlives its process goes on with its work while a person is asked whether that work was done. Three
//! things prevent it. A program leads a process group, which is killed when its [`Running`] is dropped. On Linux a launcher
//! asks the kernel to kill the program when its parent dies ([`use_launcher`]); the thread that starts programs lives as long
//! as the process, because the kernel counts the death of the starting thread. And every program is registered in a folder of
//! this machine, so that the next process finds what a dead one left behind ([`end_orphans`]).

mod launcher;
mod register;
mod running;
mod starter;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::Command;

pub use launcher::{LAUNCH_FAILED, launch, use_launcher};
pub use register::end_orphans;
pub use running::{Pipes, Running};

/// A program to start. It gets no environment but its own, a process group of its own, and pipes for its output.
#[derive(Clone, Debug)]
pub struct Program {
    /// A path, or a name that is looked up in the `PATH` of its environment.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder that it works in; that of this process if absent.
    pub folder: Option<PathBuf>,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether it gets a pipe as its input, or nothing.
    pub stdin: Input,
    /// The call that it does, if it does one. [`end_orphans`] returns it when it ends the program of a dead process.
    pub call: Option<String>,
}

/// The input of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A pipe.
    Piped,
    /// Nothing.
    Null,
}

impl Program {
    /// A program without arguments, environment and input.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            folder: None,
            environment: Vec::new(),
            stdin: Input::Null,
            call: None,
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started. A launcher finds that out after the start: then the program ends at once, see
    /// [`LAUNCH_FAILED`].
    pub async fn start(self) -> io::Result<Running> {
        let started = self.start_if(|| true).await?;
        started.ok_or_else(|| io::Error::other("the program was not to be started"))
    }

    /// Starts it if that is still wanted at the moment of the start. Until then it waits for the thread that starts programs.
    ///
    /// # Errors
    /// As [`Program::start`].
    pub async fn start_if(self, is_wanted: impl Fn() -> bool + Send + 'static) -> io::Result<Option<Running>> {
        let call = self.call.clone();
        if launcher::prefix().is_some() {
            launcher::expect_program(&self)?;
        }
        let child = starter::spawn(self.command(), Box::new(is_wanted)).await?;
        Ok(child.map(|child| Running::new(child, call.as_deref())))
    }

    fn command(self) -> Command {
        let mut command = match launcher::prefix() {
            Some(mut prefix) => {
                let mut command = Command::new(prefix.remove(0));
                command.args(prefix).arg(self.program);
                command
            }
            None => {
                let mut command = Command::new(self.program);
                // A launcher starts a session, which is a group too.
                #[cfg(unix)]
                command.process_group(0);
                command
            }
        };
        command.args(self.arguments).env_clear().envs(self.environment);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        let stdin = match self.stdin {
            Input::Piped => Stdio::piped(),
            Input::Null => Stdio::null(),
        };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }
}
