use super::{check, notes};
use crate::tidy::{Tree, messages};

fn lines(count: usize) -> Tree {
    Tree::sample(&[("crates/x/src/lib.rs", &"// a\n".repeat(count))])
}

#[test]
fn a_file_may_have_500_lines_and_no_more() {
    assert_eq!(messages(&check(&lines(500))), Vec::<String>::new());
    assert_eq!(messages(&check(&lines(501))), ["crates/x/src/lib.rs:501: 501 lines: a file has at most 500"]);
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

#[test]
fn a_trait_may_have_12_methods_and_no_more() {
    let methods = |count: usize| format!("trait Wide {{\n{}}}\n", "    fn one(&self);\n".repeat(count));
    assert_eq!(check(&Tree::sample(&[("a.rs", &methods(12))])).len(), 0);
    let found = check(&Tree::sample(&[("a.rs", &methods(13))]));
    assert_eq!(messages(&found), ["a.rs:1: `Wide` has 13 methods: a trait has at most 12"]);
}

#[test]
fn no_function_takes_a_tuple() {
    let found = check(&Tree::sample(&[("crates/holdpoint-core/src/a.rs", "fn f((a, b): (u8, u8)) {}")]));
    assert_eq!(
        messages(&found),
        ["crates/holdpoint-core/src/a.rs:1: `f` takes a tuple: use a struct or more parameters"]
    );
}
