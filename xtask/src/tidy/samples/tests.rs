use super::*;
use crate::tidy::messages;

fn tree(document: &str) -> Tree {
    Tree::sample(&[("docs/a.md", document), ("examples/a.rs", "//! Head.\n\nfn main() {}\n")])
}

#[test]
fn a_sample_that_is_the_file_is_fine() {
    assert!(check(&tree("Look:\n\n<!-- sample: examples/a.rs -->\n```rust\nfn main() {}\n```\nSo.\n")).is_empty());
}

#[test]
fn a_sample_that_differs_is_found() {
    let found = check(&tree("<!-- sample: examples/a.rs -->\n```rust\nfn main() { }\n```\n"));
    assert_eq!(
        messages(&found),
        ["docs/a.md:3: this sample is not what the file says; hint: run `cargo xtask samples`"]
    );
}

#[test]
fn a_sample_of_a_file_that_is_gone_is_found() {
    let found = check(&tree("<!-- sample: examples/b.rs -->\n```rust\n```\n"));
    assert_eq!(messages(&found).len(), 1);
}

#[test]
fn filling_replaces_what_was_there() {
    let (filled, _) = fill("<!-- sample: x -->\n```rust\nold\n```\nafter\n", |_| Some("new\n".to_owned()));
    assert_eq!(filled, "<!-- sample: x -->\n```rust\nnew\n```\nafter\n");
}
