//! Asks the person at the terminal.

use std::io::{self, BufRead, Write};

use holdpoint::{Decisions, Pending, RunResult};
use holdpoint_config::printable;
use holdpoint_core::QuestionKind;

/// How questions are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answering {
    /// The person is asked.
    Ask,
    /// Every call that asks for permission may run.
    Yes,
}

/// Decisions about everything that waits, each bound to what was shown. `None` when the input ended.
pub(super) fn decisions(paused: &RunResult, answering: Answering) -> Option<Decisions> {
    let mut decisions = Decisions::new();
    for question in paused.pending_confirmations() {
        show(&question);
        let yes = match answering {
            Answering::Yes if question.kind == Some(QuestionKind::Permission) => true,
            Answering::Yes => {
                eprintln!("       `--yes` does not answer this: a person has to find out what happened");
                return None;
            }
            Answering::Ask => answer(&question)?,
        };
        decisions = if yes {
            decisions.allow(question.id.clone()).shown(question.digest)
        } else {
            decisions.deny(question.id.clone(), "the person at the terminal said no")
        };
    }
    Some(decisions)
}

/// What would run, so that nothing in it can deceive.
fn show(question: &Pending) {
    eprintln!("\nasks:  {} {}", printable::line(question.tool.as_str()), printable::line(question.arguments.expose()));
    let why = question.reason.as_deref().unwrap_or("the policy wants a person to decide");
    eprintln!("       why: {}", printable::line(why));
    if question.is_uncertain() {
        eprintln!("       nobody knows whether it took effect already: `y` says that it did not, and runs it");
    }
    if !question.approvers.is_empty() {
        let roles: Vec<_> = question.approvers.iter().map(|role| printable::line(role)).collect();
        eprintln!("       for: {}", roles.join(", "));
    }
    eprintln!("       digest: {}", question.digest);
}

fn answer(question: &Pending) -> Option<bool> {
    loop {
        eprint!("       Let {} run? [y/n] ", printable::line(question.tool.as_str()));
        let _ = io::stderr().flush();
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => {}
        }
    }
}
