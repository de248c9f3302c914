use super::check;
use crate::tidy::{Tree, messages};

fn problems(text: &str) -> Vec<String> {
    let files = [("docs/a.md", text), ("docs/b.md", "# Two Words: `code`\n"), ("src/lib.rs", "")];
    messages(&check(&Tree::sample(&files)))
}

#[test]
fn links_that_lead_somewhere_are_fine() {
    let text =
        "# Top\n[a](b.md) [b](../src/lib.rs) [c](../src) [`d`](b.md#two-words-code) [e](#top) [f](https://x.org/y)\n";
    assert_eq!(problems(text), Vec::<String>::new());
}

#[test]
fn a_link_to_a_missing_file_is_a_problem_at_its_line() {
    assert_eq!(problems("\n[a](c.md)\n"), ["docs/a.md:2: the link to `c.md` leads nowhere"]);
    assert_eq!(problems("[a](../../b.md)\n").len(), 1);
}

#[test]
fn a_link_to_a_missing_heading_is_a_problem() {
    assert_eq!(problems("[a](b.md#three)\n"), ["docs/a.md:1: `docs/b.md` has no heading `#three`"]);
}

#[test]
fn what_is_said_to_be_in_a_file_must_be_there() {
    let files = [("a.md", "| rule | `one`, `two` in [`x.rs`](x.rs) |\n"), ("x.rs", "fn one() { /* two */ }")];
    assert_eq!(messages(&check(&Tree::sample(&files))), ["a.md:1: there is no `two` in `x.rs`"]);
}

#[test]
fn code_holds_no_links() {
    assert_eq!(problems("```\n[a](c.md)\n```\nand `[a](c.md)`\n"), Vec::<String>::new());
}

#[test]
fn a_crate_that_the_map_does_not_mention_is_a_problem() {
    let manifest = ("crates/x/Cargo.toml", "[package]\nname = \"holdpoint-x\"\n");
    assert_eq!(check(&Tree::sample(&[manifest, ("ARCHITECTURE.md", "holdpoint-y")])).len(), 1);
    assert_eq!(check(&Tree::sample(&[manifest, ("ARCHITECTURE.md", "`holdpoint-x` does it")])), []);
}
