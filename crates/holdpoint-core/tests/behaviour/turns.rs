//! A turn: the model is called, its calls are settled, the loop goes on or ends.

use crate::support::check;

#[test]
fn a_reply_without_calls_ends_the_run() {
    check("model says hello", "call model\nfinish end_turn: hello");
}

#[test]
fn the_models_own_reason_ends_the_run() {
    check("model stops max_tokens: half", "call model\nfinish max_tokens: half");
    check("model stops stop_sequence: x", "call model\nfinish stop_sequence: x");
    check("model stops strange_word: x", "call model\nfinish strange_word: x");
}

#[test]
fn results_go_back_to_the_model() {
    check(
        "model asks: a, b
         a -> one
         b -> two
         model says done",
        "call model
         execute a b
         start a
         start b
         call model: a=one b=two
         finish end_turn: done",
    );
}

#[test]
fn bad_arguments_unknown_tools_and_denied_calls_are_answered_without_running() {
    check(
        "model asks: a(bad), b(unknown), c(deny)
         ? messages
         ? records",
        "call model
         call model: a=failed:invalid_arguments b=failed:tool_not_found c=denied
         user(go) assistant(a b c) tool(a: not an object) tool(b: no such tool) tool(c: Denied: the policy says no. Do not repeat this call.)
         1.a=failed:invalid_arguments 1.b=failed:tool_not_found 1.c=denied:denied",
    );
}

#[test]
fn policy_is_not_asked_about_calls_that_cannot_run() {
    check(
        "given steps shown
         model asks: a(bad), b(unknown), c
         c -> ok",
        "commit
         call model
         authorize c
         execute c
         commit
         commit
         start c
         commit
         call model: a=failed:invalid_arguments b=failed:tool_not_found c=ok",
    );
}

#[test]
fn a_failing_tool_does_not_end_the_run() {
    check(
        "model asks: a
         a -> error: boom
         model says sorry",
        "call model
         execute a
         start a
         call model: a=failed:tool_error
         finish end_turn: sorry",
    );
}

#[test]
fn records_know_the_requested_and_the_registered_name() {
    check(
        "model asks: shell.exec, ghost(unknown)
         shell.exec -> ok
         ? names",
        "call model
         execute shell.exec
         start shell.exec
         call model: shell.exec=ok ghost=failed:tool_not_found
         shell.exec:shell_exec ghost:none",
    );
}

#[test]
fn nothing_to_say_after_a_call_asks_once_for_a_final_answer() {
    check(
        "model asks: a
         a -> ok
         model says nothing
         model says nothing",
        "call model
         execute a
         start a
         call model: a=ok
         call model without tools: user says Please provide your final answer.
         finish end_turn",
    );
}

#[test]
fn nothing_to_say_without_any_call_just_ends() {
    check("model says nothing", "call model\nfinish end_turn");
}

#[test]
fn the_final_answer_can_keep_its_tools_have_another_text_or_be_off() {
    let script = "model asks: a(deny)\nmodel says nothing";
    let given = |words: &str| format!("given nudge {words}\n{script}");
    let asked = "call model\ncall model: a=denied\n";
    let with_tools = format!("{asked}call model: user says Please provide your final answer.");
    check(&given("with tools"), &with_tools);
    check(&given("Well?"), &format!("{asked}call model without tools: user says Well?"));
    check(&given("off"), &format!("{asked}finish end_turn"));
}

#[test]
fn the_final_answer_is_asked_for_once_even_when_more_calls_follow() {
    check(
        "model asks: a(deny)
         model says nothing
         model asks: b(deny)
         model says nothing",
        "call model
         call model: a=denied
         call model without tools: user says Please provide your final answer.
         call model without tools: b=denied
         finish end_turn",
    );
}

#[test]
fn no_message_at_all_fails_the_run() {
    check(
        "model replies nothing at all
         ? status
         ? events",
        "call model
         fail error
         failed
         run_started turn_started turn_ended failed done",
    );
}

#[test]
fn a_provider_failure_keeps_what_was_done() {
    check(
        "model says first and asks: a
         a -> ok
         model fails
         ? records",
        "call model
         execute a
         start a
         call model: a=ok
         fail provider_error: first
         1.a=succeeded/tool",
    );
}

#[test]
fn a_system_prompt_becomes_the_first_message() {
    let first = |given: &str| format!("{given}\nmodel says x\n? messages");
    let seen = |messages: &str| format!("call model\nfinish end_turn: x\n{messages} assistant(x)");
    check(&first("given system be kind"), &seen("system(be kind) user(go)"));
    let other = "given history system be rude, user go\ngiven system be kind";
    check(&first(other), &seen("system(be kind) user(go)"));
    let equal = "given history system be kind, user go\ngiven system be kind";
    check(&first(equal), &seen("system(be kind) user(go)"));
    let none = "given history system be rude, user go";
    check(&first(none), &seen("system(be rude) user(go)"));
}

#[test]
fn the_text_is_never_taken_from_the_history() {
    check(
        "given history user hi, assistant old, user go
         model fails",
        "call model
         fail provider_error",
    );
}

#[test]
fn usage_is_summed_over_turns_and_resumes() {
    check(
        "model asks: a(confirm)
         ana allows a
         a -> ok
         model fails
         retry
         model says done
         ? usage",
        "call model
         pause p1 for people: a
         execute a
         start a
         call model: a=ok
         fail provider_error
         call model
         finish end_turn: done
         20 + 2 tokens, 3 model calls, 1 executions",
    );
}

#[test]
fn a_run_begins_once() {
    check("start again", "call model\nrejected run_exists");
}

#[test]
fn events_of_a_turn_come_in_order() {
    check(
        "model asks: a
         a -> ok
         model says done
         ? events",
        "call model
         execute a
         start a
         call model: a=ok
         finish end_turn: done
         run_started turn_started message_completed call_decided tool_started tool_ended turn_ended turn_started message_completed turn_ended done",
    );
}
