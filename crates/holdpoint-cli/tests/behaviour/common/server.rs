//! A server that a test started, and that ends with it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use super::http::Client;

/// A program that was started, and that is killed when the test is over.
pub(crate) struct Started {
    pub(crate) child: Child,
    /// Everything that it said to standard error so far.
    said: Arc<Mutex<String>>,
    /// The first line of standard output.
    pub(crate) first_line: String,
}

/// Starts the program in a folder; waits for its first line on standard output if it has one.
pub(crate) fn start(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Started {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").env_remove("HOLDPOINT_LOG");
    command.envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    started(command)
}

/// Starts any program.
pub(crate) fn started(mut command: Command) -> Started {
    let mut child = command.spawn().unwrap();
    let said = Arc::new(Mutex::new(String::new()));
    let (mut stderr, heard) = (child.stderr.take().unwrap(), Arc::clone(&said));
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count) = stderr.read(&mut piece) {
            if count == 0 {
                break;
            }
            heard.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    });
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first_line = String::new();
    stdout.read_line(&mut first_line).unwrap();
    // Whatever else it says there must not hold it up.
    std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    Started { child, said, first_line }
}

impl Started {
    /// A program whose output somebody else reads.
    pub(crate) fn of(child: Child) -> Self {
        Self { child, said: Arc::default(), first_line: String::new() }
    }

    /// Somebody who asks this server.
    pub(crate) fn client(&self) -> Client {
        let address = self.first_line.trim().strip_prefix("http://");
        Client::new(address.unwrap_or_else(|| panic!("it did not begin: {}", self.said())))
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let told = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
    }

    /// Ends it as a supervisor would, and waits.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.signal("-TERM");
        self.child.wait().unwrap()
    }

    /// Ends it as a power failure would.
    pub(crate) fn kill(mut self) {
        self.signal("-KILL");
        self.child.wait().unwrap();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
