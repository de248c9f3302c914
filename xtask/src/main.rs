//! Checks of the workspace that no lint knows: `cargo xtask tidy`; `cargo xtask samples`, which copies the examples into the
//! documents; `cargo xtask sample-crates`, which compiles them with the dependencies that their pages list; `cargo xtask count`,
//! which counts lines of code; and `cargo xtask facade`, which checks that the library's public signatures name nothing that
//! users cannot.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

mod count;
mod facade;
mod sample_crates;
mod tidy;

fn main() -> Result<ExitCode> {
    if facade::is_rustdoc() {
        return facade::rustdoc();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        ["samples"] => copy_samples(),
        ["sample-crates"] => sample_crates::check(root()?),
        ["facade"] => facade::check(root()?),
        ["count"] => {
            print!("{}", count::table(&tidy::Tree::read(root()?)?));
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("usage: cargo xtask tidy | samples | sample-crates | count | facade"),
    }
}

fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")
}

fn copy_samples() -> Result<ExitCode> {
    let tree = tidy::Tree::read(root()?)?;
    for document in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let path = root()?.join(&document.path);
        let text = std::fs::read_to_string(&path)?;
        let (filled, _) = tidy::samples::fill(&text, |sample| tidy::samples::source(&tree, sample));
        if filled != text {
            std::fs::write(&path, filled)?;
            println!("{}", document.path);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_tidy() -> Result<ExitCode> {
    let tree = tidy::Tree::read(root()?)?;
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
