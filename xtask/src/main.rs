//! Checks of the workspace that no lint knows: `cargo xtask tidy`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

mod tidy;

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        _ => bail!("usage: cargo xtask tidy"),
    }
}

fn run_tidy() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let tree = tidy::Tree::read(root)?;
    let findings = tidy::check(&tree);
    for note in &findings.notes {
        println!("note: {note}");
    }
    for problem in &findings.problems {
        println!("{problem}");
    }
    match findings.problems.len() {
        0 => {
            println!("tidy: {} files, no problems", tree.files.len());
            Ok(ExitCode::SUCCESS)
        }
        count => {
            eprintln!("tidy: {count} problems");
            Ok(ExitCode::FAILURE)
        }
    }
}
