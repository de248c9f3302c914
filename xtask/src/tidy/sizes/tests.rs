use super::{check, notes};
use crate::tidy::{Tree, messages};

fn lines(count: usize) -> Tree {
    Tree::sample(&[("crates/x/src/lib.rs", &"// a\n".repeat(count))])
}

#[test]
fn a_file_may_have_600_lines_and_no_more() {
    assert_eq!(messages(&check(&lines(600))), Vec::<String>::new());
    assert_eq!(messages(&check(&lines(601))), ["crates/x/src/lib.rs:601: 601 lines: a file has at most 600"]);
}

#[test]
fn a_file_above_400_lines_is_noted() {
    assert_eq!(notes(&lines(400)).len(), 0);
    assert_eq!(notes(&lines(401)).len(), 1);
}

#[test]
fn a_function_may_have_70_lines_and_no_more() {
    let function = |lines: usize| format!("\nfn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2));
    assert_eq!(check(&Tree::sample(&[("a.rs", &function(70))])).len(), 0);
    let found = check(&Tree::sample(&[("a.rs", &function(71))]));
    assert_eq!(messages(&found), ["a.rs:2: `long` has 71 lines: a function has at most 70"]);
}
