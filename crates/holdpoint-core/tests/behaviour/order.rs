//! The order in which the model gets results.

use crate::support::check;

#[test]
fn results_are_in_the_order_that_the_model_asked() {
    check(
        "model asks: a(confirm), b, c(deny), d(bad), e(defer), f(confirm)
         ana allows a; denies f
         b -> two
         a -> one
         results: e=five",
        "call model
         pause p1 for people: a f
         execute a b e
         start b
         start a
         pause p2 after p1 for results: e
         call model: a=one b=two c=denied d=failed:invalid_arguments e=five f=refused",
    );
}

#[test]
fn results_can_come_in_the_order_of_completion() {
    check(
        "given order completion
         model asks: a, b, c(deny), d(defer)
         b -> two
         a -> one
         results: d=four
         ? messages",
        "call model
         execute a b d
         start b
         start a
         pause p1 for results: d
         call model: c=denied b=two a=one d=four
         user(go) assistant(a b c d) tool(c: Denied: the policy says no. Do not repeat this call.) tool(b: two) tool(a: one) tool(d: four)",
    );
}

#[test]
fn the_order_of_completion_survives_a_crash_and_a_move() {
    check(
        "given order completion
         model asks: a(defer), b(defer), c
         c -> three
         crash
         partly results: b=two
         move
         results: a=one",
        "call model
         execute a b c
         start c
         pause p1 for results: a b
         nothing changes
         pause p2 after p1 for results: a
         pause p2 after p1 for results: a
         call model: c=three b=two a=one",
    );
}

#[test]
fn records_are_in_the_order_that_the_model_asked_whatever_came_first() {
    check(
        "given order completion
         model asks: a, b
         b -> two
         a -> one
         ? records",
        "call model
         execute a b
         start b
         start a
         call model: b=two a=one
         1.a=succeeded/tool 1.b=succeeded/tool",
    );
}
