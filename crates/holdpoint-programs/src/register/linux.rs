//! The folder, and what `/proc` says about the processes in it.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};

/// The longest content of an entry that is read.
const CALL_BYTES_MAX: u64 = 4 * 1024;

/// A process, for as long as the machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    /// When it started, in ticks since the machine did.
    started: u64,
}

impl Process {
    /// Nothing if there is no such process.
    fn find(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the name in brackets, which may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        // One that was killed and not reaped yet does nothing any more.
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let started = fields.nth(18)?.parse().ok()?;
        Some(Self { pid, started })
    }

    fn lives(self) -> bool {
        Self::find(self.pid) == Some(self)
    }
}

/// One program in the folder, as long as this lives.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
}

impl Entry {
    /// Nothing where there can be no such folder: then only this process ends the program.
    pub(crate) fn add(leader: u32, call: Option<&str>) -> Option<Self> {
        let (own, program) = (Process::find(std::process::id())?, Process::find(leader)?);
        let name = format!("{}.{}.{}.{}", own.pid, own.started, program.pid, program.started);
        let path = folder()?.join(name);
        let mut file = File::options().write(true).create_new(true).open(&path).ok()?;
        file.write_all(call.unwrap_or_default().as_bytes()).ok()?;
        Some(Self { path })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // What cannot be removed names a program that ended: nothing is done to it.
        let _ = fs::remove_file(&self.path);
    }
}

/// The folder of this user since the machine started, if it is safe to use: nobody else may write there.
fn folder() -> Option<PathBuf> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let user = geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("holdpoint-programs-{user}-{}", boot.trim()));
    let made = DirBuilder::new().mode(0o700).create(&path);
    let found = fs::symlink_metadata(&path).ok()?;
    let is_own = found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0;
    (made.is_ok() || is_own).then_some(path).filter(|_| is_own)
}

pub(super) fn end_orphans() -> Vec<String> {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
    entries.into_iter().flatten().filter_map(|entry| end_orphan(&entry.ok()?.path())).collect()
}

/// Ends the program of one entry if its parent is dead. Returns its call.
fn end_orphan(path: &Path) -> Option<String> {
    let (parent, program) = parse(path.file_name()?.to_str()?)?;
    if parent.lives() {
        return None;
    }
    // A number that another process has by now is not touched. One that nobody has may still be that of the group: a number
    // is not given away as long as a group has it.
    let found = Process::find(program.pid);
    if found.is_none_or(|found| found == program)
        && let Some(group) = i32::try_from(program.pid).ok().and_then(Pid::from_raw)
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let call = read_call(path);
    let _ = fs::remove_file(path);
    call.filter(|call| !call.is_empty())
}

fn read_call(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut call = String::new();
    File::open(path).ok()?.take(CALL_BYTES_MAX).read_to_string(&mut call).ok()?;
    Some(call)
}

fn parse(name: &str) -> Option<(Process, Process)> {
    let mut numbers = name.split('.');
    let mut process = || {
        let pid = numbers.next()?.parse().ok()?;
        Some(Process { pid, started: numbers.next()?.parse().ok()? })
    };
    let parsed = (process()?, process()?);
    numbers.next().is_none().then_some(parsed)
}
