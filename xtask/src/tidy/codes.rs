//! Every code that a user can meet is explained, and nothing is explained that does not exist.

use super::{Problem, Tree};

const SOURCE: &str = "crates/holdpoint-core/src/code.rs";
/// What can be wrong with a request over HTTP, each with its status.
const API: &str = "crates/holdpoint-api/src/code.rs";
/// The reasons to stop are explained on the same page.
const STOPS: &str = "crates/holdpoint-core/src/outcome.rs";
const PAGE: &str = "docs/guide/errors.md";
const LIST: &str = "pub enum Code {";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.files.iter().find(|file| file.path == SOURCE) else {
        return vec![Problem::new(SOURCE, 1, "the codes are not here any more: mend xtask/src/tidy/codes.rs")];
    };
    let begins = file.lines().find(|(_, line)| line.trim() == LIST).map_or(usize::MAX, |(number, _)| number);
    let lines = file.lines().skip_while(|(number, _)| *number <= begins).take_while(|(_, line)| *line != "}");
    let codes: Vec<(usize, &str)> = lines.filter_map(|(number, line)| Some((number, code(line)?))).collect();
    if codes.is_empty() {
        return vec![Problem::new(SOURCE, 1, format!("no list `{LIST}`: mend xtask/src/tidy/codes.rs"))];
    }
    let page = tree.text(PAGE).unwrap_or_default();
    let rows: Vec<(usize, &str)> =
        page.lines().enumerate().filter_map(|(at, row)| Some((at + 1, first(row)?))).collect();
    let unexplained = codes.iter().filter(|(_, code)| !rows.iter().any(|(_, row)| row == code));
    let api = tree.text(API).unwrap_or_default();
    let of_requests = api.lines().enumerate().filter_map(|(at, line)| Some((at + 1, api_code(line)?)));
    let unexplained_requests = of_requests.filter(|(_, code)| !rows.iter().any(|(_, row)| row == code));
    let mut problems: Vec<Problem> =
        unexplained.map(|(line, code)| Problem::new(SOURCE, *line, format!("`{code}` has no row in {PAGE}"))).collect();
    problems.extend(
        unexplained_requests.map(|(line, code)| Problem::new(API, line, format!("`{code}` has no row in {PAGE}"))),
    );
    let stops = tree.text(STOPS).unwrap_or_default();
    let known = |row: &str| [&file.text, stops, api].iter().any(|text| text.contains(&format!("\"{row}\"")));
    let unknown = rows.iter().filter(|(_, row)| !known(row));
    problems.extend(unknown.map(|(line, row)| Problem::new(PAGE, *line, format!("there is no code `{row}`"))));
    problems
}

/// The text of a line such as `Denied = "denied",`.
fn code(line: &str) -> Option<&str> {
    let (_, text) = line.split_once(" = \"")?;
    text.strip_suffix("\",")
}

/// The text of a line such as `NotFound = ("not_found", 404, "There is no such thing"),`.
fn api_code(line: &str) -> Option<&str> {
    let (_, text) = line.split_once(" = (\"")?;
    line.trim_end().ends_with("),").then(|| text.split_once('"').map(|(code, _)| code))?
}

/// The code in the first cell of a row.
fn first(row: &str) -> Option<&str> {
    row.strip_prefix("| `")?.split_once('`').map(|(code, _)| code)
}

#[cfg(test)]
mod tests;
