//! The external ledger: one file that every process appends to, so that its lines are in one order without any clock.
//!
//! Nothing of Holdpoint reads or writes it. It is the world in which tools have their effects.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The name of the file in the ledger's folder.
const FILE: &str = "ledger.jsonl";

/// A call: run, turn, index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) run: String,
    pub(crate) turn: u32,
    pub(crate) index: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} turn {} call {}", self.run, self.turn, self.index)
    }
}

/// Where a process waits to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Point {
    /// The model is called: the commit of the intent comes next.
    InModel,
    /// The intent is durable, the tool has not started.
    AfterIntent,
    /// The tool has started, the effect has not happened.
    BeforeEffect,
    /// The effect has happened, the tool has not returned.
    WithinEffect,
    /// The tool has returned, nobody knows the result.
    AfterEffect,
    /// The result is about to become durable.
    BeforeResult,
}

/// What is written before an effect: everything that the log must agree with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) place: Place,
    pub(crate) tool: String,
    pub(crate) attempt: u32,
    /// Unique over all processes.
    pub(crate) execution: String,
    pub(crate) key: String,
    pub(crate) digest: String,
    pub(crate) process: String,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub(crate) enum Fact {
    /// A process began to work.
    Up { process: String },
    /// A tool is about to have its effect.
    About(About),
    /// The effect.
    Effect { execution: String },
    /// A tool returns.
    Done { execution: String },
    /// A process waits to be killed.
    Parked { process: String, point: Point },
    /// A worker takes so long over a task that it could be stopped in it.
    Dozing { execution: String },
    /// A process is dead.
    Killed { process: String },
    /// A process was stopped, and may go on later.
    Stopped { process: String },
    /// A stopped process goes on.
    Continued { process: String },
    /// A person read the ledger to answer whether this attempt took effect.
    Looked { place: Place, attempt: u32, effect: Option<String> },
}

/// Appends to the ledger.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: Mutex<File>,
}

impl Ledger {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path(folder))?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// When it returns the line is on the disk. The newline before it ends a line that a killed process left unfinished.
    pub(crate) fn write(&self, fact: &Fact) -> io::Result<()> {
        let line = format!("\n{}\n", serde_json::to_string(fact)?);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes())?;
        file.sync_data()
    }
}

/// Reads the ledger as it grows.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    rest: Vec<u8>,
    torn: u64,
}

impl Tail {
    /// The ledger must be there.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path(folder))?, rest: Vec::new(), torn: 0 })
    }

    /// The lines that were written since the last time.
    pub(crate) fn read_new(&mut self) -> io::Result<Vec<Fact>> {
        let here = self.file.stream_position()?;
        self.file.seek(SeekFrom::Start(here))?;
        self.file.read_to_end(&mut self.rest)?;
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.filter_map(|line| self.parse(line)).collect())
    }

    /// A process that was killed in the middle of a line wrote nothing.
    fn parse(&mut self, line: &[u8]) -> Option<Fact> {
        let parsed = serde_json::from_slice(line).ok();
        self.torn += u64::from(parsed.is_none());
        parsed
    }

    /// How many lines were never finished.
    pub(crate) fn torn(&self) -> u64 {
        self.torn
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

#[cfg(test)]
mod tests;
