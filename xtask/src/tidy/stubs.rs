//! Nothing unfinished, nothing switched off, nothing that waits by sleeping.

use super::tokens::Code;
use super::tree::File;
use super::{Problem, Tree};

const MARKERS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
/// A comment that allows the sleep on its line or the next one, with the reason after it.
const SLEEP_ALLOWED: &str = "// tidy: sleeps because ";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust().flat_map(|(file, code)| check_file(file, code)).collect()
}

fn check_file(file: &File, code: &Code) -> Vec<Problem> {
    let mut problems = markers(file);
    let mut add = |line: usize, message: String| problems.push(Problem::new(&file.path, line, message));
    for (name, line) in code.macros.iter().filter(|(name, _)| name == "todo" || name == "unimplemented") {
        add(*line, format!("`{name}!`: finish it"));
    }
    for (_, line) in code.attributes.iter().filter(|(name, _)| name == "ignore") {
        add(*line, "an ignored test proves nothing: mend it or remove it".to_owned());
    }
    for (_, line) in code.words.iter().filter(|(word, _)| word == "unsafe") {
        add(*line, "`unsafe` is not used here".to_owned());
    }
    if file.is_test() {
        // On a paused clock sleeping takes no time.
        let paused = code.words.iter().any(|(word, _)| word == "start_paused");
        let sleeps = code.paths.iter().filter(|(path, _)| ends(path, "thread") || ends(path, "time") && !paused);
        for (path, line) in sleeps.filter(|(_, line)| !is_allowed(file, *line)) {
            let path = path.join("::");
            add(*line, format!("`{path}` in a test: wait for the event, or say why with `{SLEEP_ALLOWED}…`"));
        }
    }
    problems
}

fn markers(file: &File) -> Vec<Problem> {
    let found = file.lines().filter_map(|(number, line)| {
        let marker = MARKERS.iter().find(|marker| line.split(|c: char| !c.is_alphanumeric()).any(|w| w == **marker))?;
        Some(Problem::new(&file.path, number, format!("`{marker}`: finish it")))
    });
    found.collect()
}

/// Whether a path is the `sleep` of a module.
fn ends(path: &[String], module: &str) -> bool {
    path.ends_with(&[module.to_owned(), "sleep".to_owned()])
}

fn is_allowed(file: &File, line: usize) -> bool {
    let mut near = file.lines().skip(line.saturating_sub(2)).take(2);
    near.any(|(_, text)| text.split_once(SLEEP_ALLOWED).is_some_and(|(_, reason)| !reason.trim().is_empty()))
}

#[cfg(test)]
mod tests;
