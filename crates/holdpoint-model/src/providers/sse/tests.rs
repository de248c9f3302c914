use std::time::Duration;

use super::{Clock, LINE_BYTES_MAX, Lines, data_of};
use crate::error::ModelErrorKind;
use crate::providers::timeouts::Timeouts;

fn lines(chunks: &[&[u8]]) -> Vec<String> {
    let mut lines = Lines::default();
    let mut found = Vec::new();
    for chunk in chunks {
        lines.push(chunk);
        while let Some(line) = lines.next().unwrap() {
            found.push(String::from_utf8(line.to_vec()).unwrap());
        }
    }
    found
}

#[test]
fn lines_end_in_every_way() {
    assert_eq!(lines(&[b"a\nb\r\nc\rd\n\n"]), ["a", "b", "c", "d", ""]);
}

#[test]
fn chunks_may_end_anywhere() {
    let text = "data: ä\r\n\r\ndata: [DONE]\n\n".as_bytes();
    let whole = lines(&[text]);
    for at in 0..text.len() {
        let (one, other) = text.split_at(at);
        assert_eq!(lines(&[one, other]), whole, "cut at {at}");
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(lines(&bytes), whole);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(lines(&[b"\xEF\xBB\xBFdata: 1\n"]), ["data: 1"]);
}

#[test]
fn only_data_counts() {
    assert_eq!(data_of(b"data: x"), Some(&b"x"[..]));
    assert_eq!(data_of(b"data:x"), Some(&b"x"[..]));
    assert_eq!(data_of(b": keep-alive"), None);
    assert_eq!(data_of(b"event: ping"), None);
    assert_eq!(data_of(b""), None);
}

#[test]
fn a_line_without_end_is_given_up() {
    let mut lines = Lines::default();
    let chunk = vec![b'x'; LINE_BYTES_MAX / 2];
    lines.push(&chunk);
    assert!(lines.next().unwrap().is_none());
    lines.push(&chunk);
    assert!(lines.next().unwrap().is_none());
    lines.push(b"x");
    assert_eq!(lines.next().unwrap_err().kind, ModelErrorKind::TooLarge);
}

#[tokio::test]
async fn limits_beyond_every_clock_are_no_limits() {
    let timeouts = Timeouts {
        connect: Duration::MAX,
        first_byte: Duration::MAX,
        between_chunks: Duration::MAX,
        total: Duration::MAX,
    };
    let mut clock = Clock::start(timeouts);
    assert_eq!(clock.within(async { 7 }).await.unwrap(), 7);
}
