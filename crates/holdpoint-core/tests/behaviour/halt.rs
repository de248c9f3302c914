//! A result that ends the run.

use crate::support::check;

#[test]
fn a_halt_ends_the_run_once_every_call_is_settled() {
    check(
        "model says wait and asks: a, b
         a -> halt: bye
         b -> two
         ? messages
         ? records
         ? status",
        "call model
         execute a b
         start a
         start b
         finish halted: bye
         user(go) assistant(waita b) tool(a: bye) tool(b: two)
         1.a=halted/tool 1.b=succeeded/tool
         finished",
    );
}

#[test]
fn the_last_halt_in_call_order_gives_the_text() {
    check(
        "model asks: a, b, c
         b -> halt: second
         a -> halt: first
         c -> three",
        "call model
         execute a b c
         start b
         start a
         start c
         finish halted: second",
    );
}

#[test]
fn a_halt_waits_for_results_from_outside() {
    check(
        "model asks: a, b(defer)
         a -> halt: bye
         results: b=two",
        "call model
         execute a b
         start a
         pause p1 for results: b
         finish halted: bye",
    );
}

#[test]
fn a_halt_from_outside_or_from_a_person_ends_the_run_too() {
    check(
        "model asks: a(defer)\nresults: a=halt:bye",
        "call model\nexecute a\npause p1 for results: a\nfinish halted: bye",
    );
    check(
        "model asks: a(confirm)\nana answers a with halt: bye",
        "call model\npause p1 for people: a\nfinish halted: bye",
    );
}

#[test]
fn a_halt_comes_before_the_turn_limit() {
    check(
        "given max_turns 1
         model asks: a
         a -> halt: bye",
        "call model
         execute a
         start a
         finish halted: bye",
    );
}

#[test]
fn a_halted_run_is_over() {
    check(
        "model asks: a
         a -> halt: bye
         retry
         cancel
         crash",
        "call model
         execute a
         start a
         finish halted: bye
         rejected not_retryable
         nothing changes
         nothing changes",
    );
}

#[test]
fn a_halt_of_an_earlier_failure_is_not_lost() {
    check(
        "model asks: a, b
         a -> halt: bye
         b hook fails
         retry
         b -> two",
        "call model
         execute a b
         start a
         fail hook_failed
         execute b
         start b
         finish halted: bye",
    );
}
