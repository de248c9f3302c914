use std::sync::Mutex;

use holdpoint_core::{ModelStop, Usage};

use super::{ARGUMENTS_BYTES_MAX, Assembly, CALLS_MAX, REPLY_BYTES_MAX};
use crate::error::ModelErrorKind;
use crate::model::{Delta, DeltaSink, NoDeltas};
use crate::providers::names::Names;

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl DeltaSink for Seen {
    fn listens(&self) -> bool {
        true
    }

    fn take(&self, delta: Delta<'_>) {
        let shown = match delta {
            Delta::Text(text) => format!("text {text}"),
            Delta::Thinking(text) => format!("thinking {text}"),
            Delta::CallStarted { position, name } => format!("{position} starts {name}"),
            Delta::CallArguments { position, text } => format!("{position} has {text}"),
            Delta::CallEnded { position } => format!("{position} ends"),
        };
        self.0.lock().unwrap().push(shown);
    }
}

fn with<T>(deltas: &dyn DeltaSink, test: impl FnOnce(Assembly<'_>) -> T) -> T {
    test(Assembly::new(&Names::default(), &[], deltas))
}

#[test]
fn pieces_become_a_reply() {
    let seen = Seen::default();
    with(&seen, |mut reply| {
        reply.thinking("hm").unwrap();
        reply.text("he").unwrap();
        reply.text("llo").unwrap();
        reply.call(0, Some("c1"), Some("work")).unwrap();
        reply.arguments(0, "").unwrap();
        reply.arguments(0, "{\"id\":").unwrap();
        reply.arguments(0, "12345678901234567890}").unwrap();
        reply.stop(ModelStop::ToolUse);
        reply.usage(Usage { input: 1, output: 2, ..Usage::default() });
        reply.end();
        let reply = reply.finish().unwrap().unwrap();
        assert_eq!((&*reply.text, reply.thinking.as_deref()), ("hello", Some("hm")));
        assert_eq!(reply.calls[0].arguments.as_deref(), Some("{\"id\":12345678901234567890}"));
        assert_eq!((reply.calls[0].id.as_deref(), &*reply.calls[0].name), (Some("c1"), "work"));
        assert_eq!(reply.usage.total(), 3);
    });
    let expected = [
        "thinking hm",
        "text he",
        "text llo",
        "0 starts work",
        "0 has {\"id\":",
        "0 has 12345678901234567890}",
        "0 ends",
    ];
    assert_eq!(*seen.0.lock().unwrap(), expected);
}

#[test]
fn a_reply_without_its_end_is_cut() {
    let error = with(&NoDeltas, |mut reply| {
        reply.call(0, Some("c1"), Some("work")).unwrap();
        reply.arguments(0, "{}").unwrap();
        reply.finish().unwrap_err()
    });
    assert_eq!(error.kind, ModelErrorKind::Cut);
}

#[test]
fn an_end_without_a_message_is_no_reply() {
    let reply = with(&NoDeltas, |mut reply| {
        reply.end();
        reply.finish().unwrap()
    });
    assert!(reply.is_none());
}

#[test]
fn an_empty_message_is_a_reply() {
    let reply = with(&NoDeltas, |mut reply| {
        reply.stop(ModelStop::EndTurn);
        reply.end();
        reply.finish().unwrap()
    });
    assert_eq!(&*reply.unwrap().text, "");
}

#[test]
fn a_call_that_lost_its_arguments_to_the_limit_does_not_run_without_them() {
    let reply = with(&NoDeltas, |mut reply| {
        reply.call(0, Some("a"), Some("delete")).unwrap();
        reply.arguments(0, "{\"one\":1}").unwrap();
        reply.call(1, Some("b"), Some("delete")).unwrap();
        reply.arguments(1, "").unwrap();
        reply.stop(ModelStop::MaxTokens);
        reply.end();
        reply.finish().unwrap().unwrap()
    });
    assert_eq!(reply.calls.len(), 1);
}

#[test]
fn a_name_may_come_in_pieces_or_again() {
    let reply = with(&NoDeltas, |mut reply| {
        reply.call(0, None, Some("wo")).unwrap();
        reply.call(0, None, Some("rk")).unwrap();
        reply.arguments(0, "{").unwrap();
        reply.call(0, None, Some("work")).unwrap();
        reply.arguments(0, "}").unwrap();
        reply.end();
        reply.finish().unwrap().unwrap()
    });
    assert_eq!((&*reply.calls[0].name, reply.calls[0].arguments.as_deref()), ("work", Some("{}")));
}

#[test]
fn snapshots_of_arguments_become_pieces() {
    let seen = Seen::default();
    let reply = with(&seen, |mut reply| {
        reply.call(0, None, Some("work")).unwrap();
        for whole in ["{\"a\"", "{\"a\":1", "{\"a\":1", "{\"a\":1}"] {
            reply.arguments_so_far(0, whole).unwrap();
        }
        reply.end();
        reply.finish().unwrap().unwrap()
    });
    assert_eq!(reply.calls[0].arguments.as_deref(), Some("{\"a\":1}"));
    assert_eq!(*seen.0.lock().unwrap(), ["0 starts work", "0 has {\"a\"", "0 has :1", "0 has }", "0 ends"]);
}

#[test]
fn nothing_is_collected_without_end() {
    with(&NoDeltas, |mut reply| {
        let piece = "x".repeat(REPLY_BYTES_MAX / 4);
        let ended = (0..5).find_map(|_| reply.text(&piece).err());
        assert_eq!(ended.unwrap().kind, ModelErrorKind::TooLarge);
    });
    with(&NoDeltas, |mut reply| {
        let piece = "x".repeat(ARGUMENTS_BYTES_MAX);
        reply.arguments(0, &piece).unwrap();
        assert_eq!(reply.arguments(0, "x").unwrap_err().kind, ModelErrorKind::TooLarge);
        assert_eq!(reply.call(CALLS_MAX, None, None).unwrap_err().kind, ModelErrorKind::TooLarge);
    });
}

#[test]
fn impossible_counts_are_bounded() {
    let reply = with(&NoDeltas, |mut reply| {
        reply.usage(Usage { input: u64::MAX, ..Usage::default() });
        reply.text("x").unwrap();
        reply.end();
        reply.finish().unwrap().unwrap()
    });
    assert_eq!(reply.usage.input, 1 << 53);
}

#[test]
fn a_call_that_was_stopped_before_its_arguments_does_not_run_without_them() {
    for stop in [ModelStop::StopSequence, ModelStop::ContentFilter, ModelStop::Other("abort".into())] {
        let reply = with(&NoDeltas, |mut reply| {
            reply.text("so").unwrap();
            reply.call(0, Some("b"), Some("delete")).unwrap();
            reply.stop(stop);
            reply.end();
            reply.finish().unwrap().unwrap()
        });
        assert_eq!(reply.calls.len(), 0);
    }
}
