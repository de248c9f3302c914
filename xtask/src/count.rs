//! `cargo xtask count`: lines of code without comments and blank lines, per crate, product and tests apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::tidy::Tree;

/// Crates that test, measure or check the product. Their code counts as tests.
const TOOLS: [&str; 4] = ["holdpoint-bench", "holdpoint-crash", "holdpoint-fuzz", "holdpoint-sim"];
/// Folders and files of tests, wherever they are.
const TESTS: [&str; 5] = ["/tests/", "/tests.rs", "/testing.rs", "/conformance/", "/conformance.rs"];

/// Lines of code of one crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    product: usize,
    tests: usize,
}

/// A table with a line for each crate and one for all of them.
pub(crate) fn table(tree: &Tree) -> String {
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".rs")) {
        let Some(path) = file.path.strip_prefix("crates/") else { continue };
        let Some((name, rest)) = path.split_once('/') else { continue };
        let lines = crates.entry(name).or_default();
        let (product, tests) = count(file.text());
        let is_product = !TOOLS.contains(&name) && rest.starts_with("src/") && !is_test(path);
        if is_product {
            lines.product += product;
            lines.tests += tests;
        } else {
            lines.tests += product + tests;
        }
    }
    let mut table = format!("{:28} {:>8} {:>8}\n", "crate", "product", "tests");
    let mut all = Lines::default();
    for (name, Lines { product, tests }) in crates {
        let _ = writeln!(table, "{name:28} {product:>8} {tests:>8}");
        all.product += product;
        all.tests += tests;
    }
    let _ = writeln!(table, "{:28} {:>8} {:>8}", "all", all.product, all.tests);
    table
}

fn is_test(path: &str) -> bool {
    TESTS.iter().any(|part| path.contains(part))
}

/// Lines of code before and inside `#[cfg(test)] mod … {`, which is the last item of its file wherever it has a body.
fn count(text: &str) -> (usize, usize) {
    let (mut product, mut tests) = (0, 0);
    let mut is_in_tests = false;
    let mut is_in_comment = false;
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if is_in_comment {
            is_in_comment = !line.contains("*/");
            continue;
        }
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if line.starts_with("/*") {
            is_in_comment = !line.contains("*/");
            continue;
        }
        let has_body = |next: &&str| next.starts_with("mod ") && next.ends_with('{');
        is_in_tests |= line == "#[cfg(test)]" && lines.peek().is_some_and(has_body);
        if is_in_tests {
            tests += 1;
        } else {
            product += 1;
        }
    }
    (product, tests)
}

#[cfg(test)]
mod tests {
    use super::{count, table};
    use crate::tidy::Tree;

    #[test]
    fn comments_and_blank_lines_do_not_count_and_tests_count_apart() {
        let text = "//! Top\n\nfn a() {\n    // said\n    b()\n}\n/* one\ntwo */\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        assert_eq!(count(text), (3, 4));
        assert_eq!(count("#[cfg(test)]\nmod tests;\n"), (2, 0));
    }

    #[test]
    fn tools_and_folders_of_tests_are_no_product() {
        let files = [
            ("crates/holdpoint-core/src/a.rs", "fn a() {}\n"),
            ("crates/holdpoint-core/tests/b.rs", "fn b() {}\n"),
            ("crates/holdpoint-store/src/conformance/c.rs", "fn c() {}\n"),
            ("crates/holdpoint-sim/src/d.rs", "fn d() {}\n"),
        ];
        let table = table(&Tree::sample(&files));
        assert!(table.ends_with(&format!("{:28} {:>8} {:>8}\n", "all", 1, 3)), "{table}");
    }
}
