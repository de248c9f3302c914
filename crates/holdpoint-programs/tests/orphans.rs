//! Programs end with the process that started them, however it ends.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "the whole file is a test, its helpers included")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use holdpoint_programs::{LAUNCH_FAILED, Program, end_orphans, launch, use_launcher};

/// What must happen happens well within it.
const PATIENCE: Duration = Duration::from_secs(20);

/// This program stands in for the parent, for the launcher, and for the test runner.
fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some("parent") => parent(Path::new(&arguments.next().unwrap()), arguments.next().is_some()),
        Some("launch") => launch(arguments),
        Some("sweep") => {
            end_orphans().iter().for_each(|call| println!("{call}"));
            ExitCode::SUCCESS
        }
        Some("--list") => {
            if !arguments.any(|argument| argument == "--ignored") {
                println!("programs_end_with_their_process: test");
            }
            ExitCode::SUCCESS
        }
        _ => {
            tests();
            println!("test result: ok. 4 passed; 0 failed");
            ExitCode::SUCCESS
        }
    }
}

/// Starts a program that starts another, says which they are, and stays.
fn parent(folder: &Path, launcher: bool) -> ExitCode {
    if launcher {
        use_launcher("/proc/self/exe".into(), "launch");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let script = format!("sleep 600 & echo $! > {0}/other; echo $$ > {0}/own; wait", folder.display());
        let program = Program {
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            call: Some("run.b1.c0".to_owned()),
            ..Program::new("/bin/sh")
        };
        let _running = program.start().await.unwrap();
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

fn tests() {
    a_program_dies_with_its_parent_when_it_was_launched();
    what_a_dead_process_left_is_ended_with_all_that_it_started();
    programs_of_living_processes_are_left_alone();
    a_missing_program_is_noticed();
}

struct Family {
    parent: std::process::Child,
    own: u32,
    other: u32,
    /// Holds the register too: other processes of this machine have theirs elsewhere.
    folder: tempfile::TempDir,
}

impl Family {
    fn start(launcher: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("/proc/self/exe");
        command.arg("parent").arg(folder.path()).args(launcher.then_some("launcher"));
        let parent = command.env("TMPDIR", folder.path()).spawn().unwrap();
        let (own, other) = (number(folder.path().join("own")), number(folder.path().join("other")));
        // The program runs a moment before its parent registers it.
        let is_registered = || {
            let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            let mut registers = entries.filter(|path| path.is_dir());
            registers.any(|register| std::fs::read_dir(register).unwrap().next().is_some())
        };
        until(is_registered);
        Self { parent, own, other, folder }
    }

    /// Ends orphans as another process of this machine would.
    fn sweep(&self) -> Vec<String> {
        let mut command = Command::new("/proc/self/exe");
        let output = command.arg("sweep").env("TMPDIR", self.folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    fn kill_parent(&mut self) {
        self.parent.kill().unwrap();
        self.parent.wait().unwrap();
    }
}

fn number(path: PathBuf) -> u32 {
    let mut found = None;
    until(|| {
        found = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
        found.is_some()
    });
    found.unwrap()
}

fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it did not happen in time");
        // tidy: sleeps because the others are processes of their own, which are looked at again after a while
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

fn a_program_dies_with_its_parent_when_it_was_launched() {
    let mut family = Family::start(true);
    assert!(lives(family.own));
    family.kill_parent();
    // The kernel kills it; nobody has to look after it.
    until(|| !lives(family.own));
    family.sweep();
    until(|| !lives(family.other));
}

fn what_a_dead_process_left_is_ended_with_all_that_it_started() {
    let mut family = Family::start(false);
    family.kill_parent();
    assert!(lives(family.own) && lives(family.other), "without a launcher a program outlives its parent");
    assert_eq!(family.sweep(), ["run.b1.c0"]);
    until(|| !lives(family.own) && !lives(family.other));
    assert_eq!(family.sweep(), [""; 0]);
}

fn programs_of_living_processes_are_left_alone() {
    let mut family = Family::start(false);
    assert_eq!(family.sweep(), [""; 0]);
    assert!(lives(family.own) && lives(family.other));
    family.kill_parent();
    family.sweep();
    until(|| !lives(family.own));
}

fn a_missing_program_is_noticed() {
    use_launcher("/proc/self/exe".into(), "launch");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let missing = runtime.block_on(Program::new("/no/such/program").start()).unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    // One that is there and cannot be executed.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(&path, "not a program").unwrap();
    let said = runtime.block_on(async {
        let mut running = Program::new(path).start().await.unwrap();
        let mut said = String::new();
        let mut stderr = running.pipes().stderr.unwrap();
        tokio::io::AsyncReadExt::read_to_string(&mut stderr, &mut said).await.unwrap();
        assert_eq!(running.wait().await.unwrap().code(), Some(127));
        said
    });
    assert!(said.starts_with(LAUNCH_FAILED), "{said}");
}
