use super::{COUNT, MAP, check};
use crate::tidy::{Tree, messages};

fn map(without: u32) -> String {
    (1..=COUNT).filter(|number| *number != without).map(|number| format!("- **I{number}** holds\n")).collect()
}

#[test]
fn an_invariant_that_is_not_explained_is_a_problem() {
    assert_eq!(check(&Tree::sample(&[(MAP, &map(0))])), []);
    let found = check(&Tree::sample(&[(MAP, &map(1))]));
    assert_eq!(messages(&found), ["ARCHITECTURE.md:1: the invariant `I1` is not explained"]);
}

#[test]
fn a_comment_that_cites_an_unknown_number_is_a_problem() {
    let text = format!("fn f() {{}}\n// Kept by the store (I{}).\nconst I{}: u8 = 0;\n", 99, 98);
    let tree = Tree::sample(&[(MAP, &map(0)), ("a.rs", &text)]);
    assert_eq!(messages(&check(&tree)), ["a.rs:2: there is no `I99`"]);
}
