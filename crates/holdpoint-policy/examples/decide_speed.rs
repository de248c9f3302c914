//! How long a decision takes, with few rules and with many: `cargo run --release -p holdpoint-policy --example decide_speed`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program that measures and prints")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use holdpoint_policy::{Decide, Rules};

/// How many decisions are measured, over all tools.
const DECISIONS: usize = 100_000;

const ARGUMENTS: &str = r#"{"account":"DE02120300000000202051","amount":1250.5,"currency":"EUR","lines":[{"qty":2,"sku":"a-1"},{"qty":1,"sku":"b-7"}],"note":"second reminder, please pay by the end of the month","path":"/srv/data/invoices/2024/17.pdf","url":"https://files.example.com/17.pdf"}"#;

/// A rule that almost matches, so that all of it is looked at.
fn conditions(rule: usize) -> String {
    match rule % 6 {
        0 => format!("\"/amount\" = {{ gt = {} }}", 20_000 - rule),
        1 => format!("\"/currency\" = {{ in = [\"USD\", \"C{rule}\"] }}"),
        2 => format!("\"/path\" = {{ path_under = \"/srv/other/{rule}\" }}"),
        3 => format!("\"/url\" = {{ host = \"*.{rule}.example.org\" }}"),
        4 => format!("\"/lines\" = {{ any = {{ eq = {rule} }} }}, \"/amount\" = {{ gt = 1 }}"),
        _ => format!("\"/note\" = {{ matches = \"^reminder {rule}\" }}"),
    }
}

/// `rules` rules over `tools` tools; the last of each tool matches. `glob` makes a tool's name into what a rule says.
fn made(rules: usize, tools: usize, glob: impl Fn(usize) -> String) -> Rules {
    let mut text = String::new();
    for rule in 0..rules {
        let tool = glob(rule % tools);
        write!(text, "[[rule]]\ntool = \"{tool}\"\ndecide = \"confirm\"\n").unwrap();
        if rule < rules - tools {
            writeln!(text, "when = {{ {} }}", conditions(rule)).unwrap();
        }
    }
    let began = Instant::now();
    let rules = Rules::parse(&text, "policy.toml").unwrap();
    let loaded = began.elapsed();
    assert_eq!(rules.warnings().len(), 0);
    println!("{:>6} rules over {tools:>3} tools: loaded in {loaded:.1?}", rules.len());
    rules
}

/// The median and the slowest hundredth.
fn measure(rules: &Rules, tools: usize) -> (Duration, Duration) {
    let names: Vec<String> = (0..tools).map(|tool| format!("tool_{tool}_x")).collect();
    let mut times = Vec::new();
    for _ in 0..DECISIONS / tools {
        for name in &names {
            let began = Instant::now();
            let decision = rules.decide(black_box(name), black_box(ARGUMENTS)).unwrap();
            times.push(began.elapsed());
            assert_eq!(Decide::of(&decision), Decide::Confirm);
        }
    }
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn main() {
    for (rules, tools, limit) in [(100, 1, "5 µs"), (100, 10, "5 µs"), (10_000, 500, "50 µs")] {
        let exact = measure(&made(rules, tools, |tool| format!("tool_{tool}_x")), tools);
        println!("    names: median {:.2?}, 99 % {:.2?} (bound {limit})", exact.0, exact.1);
        let globs = measure(&made(rules, tools, |tool| format!("tool_{tool}_*")), tools);
        println!("    globs: median {:.2?}, 99 % {:.2?} (bound {limit})", globs.0, globs.1);
    }
}
