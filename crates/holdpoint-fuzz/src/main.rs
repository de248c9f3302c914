//! `cargo run -p holdpoint-fuzz -- [--target NAME] [--seconds N] [--seed N] [--replay HEX]`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use holdpoint_fuzz::{Finding, Session, Target, Until, fuzz};

/// Fuzzes everything that is read from outside, and exits with 1 when something is found.
#[derive(Parser)]
struct Options {
    /// Only this target.
    #[arg(long, value_parser = target)]
    target: Option<Target>,
    /// For how long each.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Where to begin; the same seed draws the same inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Gives this input to the target instead, in hexadecimal digits.
    #[arg(long, requires = "target")]
    replay: Option<String>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    if let (Some(target), Some(replay)) = (options.target, &options.replay) {
        return match target.check(&unhex(replay)?) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(reason) => bail!(reason),
        };
    }
    let time = Duration::try_from_secs_f64(options.seconds).context("`--seconds` is not a time")?;
    // A panic is part of a finding, which is printed once and not for every step of making it small.
    std::panic::set_hook(Box::new(|_| {}));
    let mut found = false;
    for target in Target::ALL.into_iter().filter(|target| options.target.is_none_or(|only| only == *target)) {
        match fuzz(Session { target, seed: options.seed, until: Until::Elapsed(time) }) {
            Ok(inputs) => println!("ok {}: {inputs} inputs, seed {}", target.name(), options.seed),
            Err(finding) => {
                report(target, options.seed, &finding);
                found = true;
            }
        }
    }
    Ok(if found { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report(target: Target, seed: u64, finding: &Finding) {
    let name = target.name();
    println!("FAILED {name}: {}, seed {seed}", finding.reason);
    println!("  plan:   {:?}", finding.plan);
    println!("  input:  {}", finding.bytes.escape_ascii());
    let hex: String = finding.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("  replay: cargo run -p holdpoint-fuzz -- --target {name} --replay {hex}");
}

fn target(name: &str) -> Result<Target, String> {
    let known = Target::ALL.iter().find(|target| target.name() == name).copied();
    known.ok_or_else(|| format!("known: {}", Target::ALL.map(Target::name).join(", ")))
}

fn unhex(text: &str) -> Result<Vec<u8>> {
    let pairs =
        text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair)?, 16).map_err(Into::into));
    let bytes: Result<Vec<u8>> = pairs.collect();
    bytes.context("`--replay` needs hexadecimal digits")
}
