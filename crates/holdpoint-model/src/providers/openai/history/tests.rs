use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdpoint_core::{Message, ToolMessage, ToolResult};

use super::{BYTES_MAX, CONVERSATIONS_MAX, Histories, MESSAGES_MIN, Write};

/// Writes `"text"`; the result `image` leaves something behind.
#[derive(Default)]
struct Plain {
    written: AtomicUsize,
}

impl Write for Plain {
    fn write(&self, message: &Message, out: &mut Vec<u8>) {
        self.written.fetch_add(1, Ordering::Relaxed);
        serde_json::to_writer(out, &message.text()).unwrap();
    }

    fn write_after(&self, message: &Message) -> Option<Vec<u8>> {
        matches!(message, Message::Tool(message) if message.result.text() == "image").then(|| b"\"after\"".to_vec())
    }
}

fn users(count: usize) -> Vec<Arc<Message>> {
    (0..count).map(|index| Arc::new(Message::user(format!("m{index}")))).collect()
}

fn tool(text: &str) -> Arc<Message> {
    let result = Arc::new(ToolResult::success(text));
    Arc::new(Message::Tool(ToolMessage { call: "c".into(), provider_id: None, result }))
}

fn text(histories: &Histories, messages: &[Arc<Message>], writer: &Plain) -> Vec<String> {
    let mut out = b"[".to_vec();
    histories.append(messages, writer, &mut out);
    out.push(b']');
    serde_json::from_slice(&out).unwrap()
}

fn expected(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| message.text()).collect()
}

#[test]
fn each_message_is_written_once() {
    let (histories, writer) = (Histories::default(), Plain::default());
    let mut messages = users(MESSAGES_MIN);
    for _ in 0..10 {
        assert_eq!(text(&histories, &messages, &writer), expected(&messages));
        messages.extend(users(2));
    }
    assert_eq!(writer.written.load(Ordering::Relaxed), MESSAGES_MIN + 18);
}

#[test]
fn conversations_that_part_stay_apart() {
    let (histories, writer) = (Histories::default(), Plain::default());
    let shared = users(MESSAGES_MIN);
    let mut one = shared.clone();
    let mut other = shared;
    for _ in 0..3 {
        one.extend(users(1));
        other.push(Arc::new(Message::user("other")));
        assert_eq!(text(&histories, &one, &writer), expected(&one));
        assert_eq!(text(&histories, &other, &writer), expected(&other));
    }
}

#[test]
fn what_cannot_stand_in_a_result_comes_after_the_last_one() {
    let (histories, writer) = (Histories::default(), Plain::default());
    let mut messages = users(MESSAGES_MIN);
    let before = expected(&messages);
    messages.extend([tool("image"), tool("plain")]);
    let with =
        |more: &[&str]| -> Vec<String> { before.iter().cloned().chain(more.iter().map(|s| (*s).into())).collect() };
    assert_eq!(text(&histories, &messages, &writer), with(&["image", "plain", "after"]));
    messages.push(tool("image"));
    assert_eq!(text(&histories, &messages, &writer), with(&["image", "plain", "image", "after", "after"]));
    messages.push(Arc::new(Message::user("next")));
    assert_eq!(text(&histories, &messages, &writer), with(&["image", "plain", "image", "after", "after", "next"]));
    messages.truncate(messages.len() - 2);
    assert_eq!(text(&histories, &messages, &writer), with(&["image", "plain", "after"]));
}

#[test]
fn only_so_many_conversations_are_remembered() {
    let (histories, writer) = (Histories::default(), Plain::default());
    for _ in 0..CONVERSATIONS_MAX + 5 {
        text(&histories, &users(MESSAGES_MIN), &writer);
    }
    assert_eq!(histories.kept.lock().unwrap().len(), CONVERSATIONS_MAX);
}

#[test]
fn only_so_many_bytes_are_remembered() {
    let (histories, writer) = (Histories::default(), Plain::default());
    for _ in 0..5 {
        let mut messages = users(MESSAGES_MIN);
        messages.push(Arc::new(Message::user("x".repeat(BYTES_MAX / 4))));
        text(&histories, &messages, &writer);
    }
    let kept = histories.kept.lock().unwrap();
    assert_eq!(kept.len(), 3);
}
