//! Shapes of the stream: cut, garbled, endless, noisy.

use serde_json::json;

use crate::CANARY;
use crate::server::{Act, Answer, stream, stream_head};
use crate::wire::{ASKS, Api, SAYS, anthropic, chat, data, ending, event, frames, gemini};

const BIG: usize = 64 * 1024;

/// The reply without its end.
fn headless(api: Api) -> Vec<String> {
    let mut all = frames(api, &SAYS);
    all.truncate(all.len() - ending(api));
    all
}

/// The bytes up to and with `what`, and some more.
fn up_to(frames: &[String], what: &str, more: usize) -> Option<Vec<Answer>> {
    let whole = frames.concat();
    let at = whole.find(what).unwrap() + more;
    Some(vec![vec![stream_head(), Act::Send(whole.as_bytes()[..at].to_vec())]])
}

pub(crate) fn cut_in_text(api: Api) -> Option<Vec<Answer>> {
    Some(vec![stream(&headless(api))])
}

pub(crate) fn cut_in_arguments(api: Api) -> Option<Vec<Answer>> {
    up_to(&frames(api, &ASKS), "Oslo", 2)
}

pub(crate) fn cut_after_call(api: Api) -> Option<Vec<Answer>> {
    let mut all = frames(api, &ASKS);
    all.truncate(all.len() - ending(api));
    Some(vec![stream(&all)])
}

pub(crate) fn cut_in_character(api: Api) -> Option<Vec<Answer>> {
    up_to(&headless(api), "é", 1)
}

pub(crate) fn cut_in_line(api: Api) -> Option<Vec<Answer>> {
    up_to(&headless(api), "Hel", 1)
}

pub(crate) fn no_end(api: Api) -> Option<Vec<Answer>> {
    let mut all = frames(api, &SAYS);
    match api {
        // A reason to stop is an end there; some servers send no other.
        Api::Chat => all.truncate(all.len() - ending(api)),
        Api::Responses | Api::Anthropic | Api::Gemini => {
            all.pop();
        }
    }
    Some(vec![stream(&all)])
}

/// The reply with something in its middle.
fn with(api: Api, what: &str) -> Vec<String> {
    let mut all = frames(api, &SAYS);
    all.insert(all.len() - ending(api) - usize::from(api != Api::Chat && api != Api::Gemini), what.to_owned());
    all
}

pub(crate) fn not_json(api: Api) -> Option<Vec<Answer>> {
    let name = match api {
        Api::Chat | Api::Gemini => "",
        Api::Responses => "event: response.output_text.delta\n",
        Api::Anthropic => "event: content_block_delta\n",
    };
    Some(vec![stream(&with(api, &format!("{name}data: {{\"{CANARY}\": oops\n\n")))])
}

pub(crate) fn other_json(api: Api) -> Option<Vec<Answer>> {
    let name = match api {
        Api::Chat | Api::Gemini => "",
        Api::Responses => "event: response.output_text.delta\n",
        Api::Anthropic => "event: content_block_delta\n",
    };
    Some(vec![stream(&with(api, &format!("{name}data: 5\n\n")))])
}

pub(crate) fn not_text(api: Api) -> Option<Vec<Answer>> {
    let mut acts = stream(&headless(api));
    acts.push(Act::Send(b"data: {\"\xff\xfe\xff\": 1}\n\n".to_vec()));
    acts.extend(frames(api, &SAYS).into_iter().map(|frame| Act::Send(frame.into_bytes())));
    Some(vec![acts])
}

pub(crate) fn endless_line(_: Api) -> Option<Vec<Answer>> {
    Some(vec![vec![stream_head(), Act::Send(b"data: {\"a\": \"".to_vec()), Act::Forever(vec![b'x'; BIG])]])
}

pub(crate) fn endless_text(api: Api) -> Option<Vec<Answer>> {
    let mut all = headless(api);
    all.truncate(all.len() - usize::from(api == Api::Anthropic));
    let text = "x".repeat(BIG);
    let piece = match api {
        Api::Chat => chat::chunk(&json!({"content": text}), None),
        Api::Responses => {
            event(&json!({"type": "response.output_text.delta", "sequence_number": 2, "item_id": "msg_1",
            "output_index": 0, "content_index": 0, "delta": text}))
        }
        Api::Anthropic => anthropic::delta(0, &json!({"type": "text_delta", "text": text})),
        Api::Gemini => gemini::chunk(&json!([{"text": text}]), None, crate::wire::USAGE),
    };
    let mut acts = stream(&all);
    acts.push(Act::Forever(piece.into_bytes()));
    Some(vec![acts])
}

pub(crate) fn error_in_stream(api: Api) -> Option<Vec<Answer>> {
    let error = json!({"message": format!("no: {CANARY}"), "type": "overloaded_error", "code": "server_error"});
    let frame = match api {
        Api::Chat => data(&json!({"error": error})),
        Api::Responses => event(&json!({"type": "response.failed", "sequence_number": 8, "response": {
            "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "failed", "output": [],
            "error": {"code": "server_error", "message": format!("no: {CANARY}")}}})),
        Api::Anthropic => event(&json!({"type": "error", "error": {"type": "overloaded_error",
            "message": format!("no: {CANARY}")}})),
        Api::Gemini => {
            data(&json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": format!("no: {CANARY}")}}))
        }
    };
    let mut all = headless(api);
    all.push(frame);
    Some(vec![stream(&all)])
}

pub(crate) fn unknown_events(api: Api) -> Option<Vec<Answer>> {
    let frame = match api {
        Api::Chat => data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "weather": {"a": [1, 2]}, "choices": [{"index": 0, "delta": {"mood": "fine"}, "finish_reason": null}]})),
        Api::Responses => event(&json!({"type": "response.mood.delta", "sequence_number": 2, "mood": "fine"})),
        Api::Anthropic => event(&json!({"type": "mood", "mood": {"a": [1, 2]}})),
        Api::Gemini => data(&json!({"candidates": [{"content": {"role": "model", "parts": [{"mood": "fine"}]}}],
            "mood": {"a": [1, 2]}})),
    };
    Some(vec![stream(&with(api, &frame))])
}

pub(crate) fn keep_alives(api: Api) -> Option<Vec<Answer>> {
    let mut all = vec![": hello\n\n".to_owned(), "\n\n".to_owned()];
    for frame in frames(api, &SAYS) {
        all.push(frame);
        all.push(": keep-alive\n\n".to_owned());
        all.push("\n".to_owned());
    }
    Some(vec![stream(&all)])
}

pub(crate) fn carriage_returns(api: Api) -> Option<Vec<Answer>> {
    let all: Vec<String> = frames(api, &SAYS).iter().map(|frame| frame.replace('\n', "\r\n")).collect();
    Some(vec![stream(&all)])
}

pub(crate) fn byte_by_byte(api: Api) -> Option<Vec<Answer>> {
    let mut acts = vec![stream_head()];
    acts.extend(frames(api, &SAYS).concat().bytes().map(|byte| Act::Send(vec![byte])));
    Some(vec![acts])
}

pub(crate) fn two_ends(api: Api) -> Option<Vec<Answer>> {
    let mut all = frames(api, &SAYS);
    all.extend(frames(api, &ASKS));
    Some(vec![stream(&all)])
}
