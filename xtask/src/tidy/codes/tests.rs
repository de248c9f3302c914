use super::{API, PAGE, SOURCE, check};
use crate::tidy::{Tree, messages};

const CODES: &str = "pub enum Code {\n    /// No.\n    Denied = \"denied\",\n    Expired = \"expired\",\n}\n";

fn problems(source: &str, page: &str) -> Vec<String> {
    messages(&check(&Tree::sample(&[(SOURCE, source), (PAGE, page)])))
}

#[test]
fn a_page_with_every_code_is_fine() {
    assert_eq!(problems(CODES, "| `denied` | no |\n| `expired` | late |\n"), Vec::<String>::new());
}

#[test]
fn a_code_without_a_row_is_a_problem() {
    let found = problems(CODES, "`expired` in a sentence\n| `denied` | no |\n");
    assert_eq!(found, ["crates/holdpoint-core/src/code.rs:4: `expired` has no row in docs/guide/errors.md"]);
}

#[test]
fn a_code_of_requests_needs_a_row_too() {
    let api = "api_codes! {\n    /// No.\n    NotFound = (\"not_found\", 404, \"No\"),\n}\n";
    let tree = |page| Tree::sample(&[(SOURCE, CODES), (API, api), (PAGE, page)]);
    let rows = "| `denied` | |\n| `expired` | |\n";
    let found = messages(&check(&tree(rows)));
    assert_eq!(found, ["crates/holdpoint-api/src/code.rs:3: `not_found` has no row in docs/guide/errors.md"]);
    let all = format!("{rows}| `not_found` | |\n");
    assert_eq!(messages(&check(&tree(all.as_str()))), Vec::<String>::new());
}

#[test]
fn a_row_without_a_code_is_a_problem() {
    let found = problems(CODES, "| `denied` | |\n| `expired` | |\n| `gone` | |\n");
    assert_eq!(found, ["docs/guide/errors.md:3: there is no code `gone`"]);
}

#[test]
fn codes_that_cannot_be_found_are_a_problem() {
    assert_eq!(problems("enum Code {}", "").len(), 1);
    assert_eq!(check(&Tree::sample(&[])).len(), 1);
}
