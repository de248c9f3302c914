//! Failed runs go on.

use crate::support::check;

#[test]
fn a_provider_failure_can_be_retried() {
    check(
        "model asks: a
         a -> one
         model fails
         ? status
         retry
         model says done
         ? records",
        "call model
         execute a
         start a
         call model: a=one
         fail provider_error
         failed
         call model
         finish end_turn: done
         1.a=succeeded/tool",
    );
}

#[test]
fn nothing_at_all_can_be_retried() {
    check(
        "model replies nothing at all
         retry
         model says done",
        "call model
         fail error
         call model
         finish end_turn: done",
    );
}

#[test]
fn only_failures_can_be_retried() {
    check("retry", "call model\nrejected not_retryable");
    check("model says x\nretry", "call model\nfinish end_turn: x\nrejected not_retryable");
    check("model asks: a(confirm)\nretry", "call model\npause p1 for people: a\nrejected not_retryable");
    check("model asks: a\nretry", "call model\nexecute a\nrejected not_retryable");
    check("model fails\ncancel\nretry", "call model\nfail provider_error\nfinish cancelled\nrejected not_retryable");
}

#[test]
fn a_failed_run_accepts_nothing_but_a_retry_or_a_cancellation() {
    check(
        "model fails
         model says x
         tokens 1
         timer
         cancel",
        "call model
         fail provider_error
         rejected not_expected: replied
         rejected not_expected: measured
         nothing changes
         finish cancelled",
    );
}

#[test]
fn a_retry_after_a_pause_keeps_the_turn() {
    check(
        "model asks: a(confirm), b
         ana allows a
         a -> one
         b hook fails
         retry
         b -> two
         model fails
         retry
         model says done",
        "call model
         pause p1 for people: a
         execute a b
         start a
         fail hook_failed
         execute b
         start b
         call model: a=one b=two
         fail provider_error
         call model
         finish end_turn: done",
    );
}
