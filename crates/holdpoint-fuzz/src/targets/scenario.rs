//! Scenario files: a scenario, or an error that points into the file.

use std::fs;
use std::path::Path;

use super::expect;

/// The scenarios of the project.
pub(super) fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = fs::read_dir(folder).expect("the project has scenarios");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}

pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let Err(error) = holdpoint_testkit::parse(&text, "fuzzed.yaml") else { return Ok(()) };
    expect(!error.to_string().trim().is_empty(), || "the error says nothing".to_owned())?;
    let (line, lines) = (error.place().map_or(0, |place| place.line), text.lines().count());
    expect(line <= lines + 1, || format!("line {line} of a file with {lines} lines"))
}
