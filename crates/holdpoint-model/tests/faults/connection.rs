//! Shapes of the connection: lost, lying about lengths, silent.

use crate::server::{Act, Answer, stream, stream_head};
use crate::wire::{Api, SAYS, ending, frames};

/// The beginning of a reply, with its first text.
fn beginning(api: Api) -> Vec<String> {
    let mut all = frames(api, &SAYS);
    all.truncate(all.len() - ending(api));
    all.truncate(match api {
        Api::Chat => 2,
        Api::Responses | Api::Anthropic => 3,
        Api::Gemini => 1,
    });
    all
}

pub(crate) fn closed_at_once(_: Api) -> Option<Vec<Answer>> {
    Some(vec![vec![]])
}

pub(crate) fn reset_at_once(_: Api) -> Option<Vec<Answer>> {
    Some(vec![vec![Act::Reset]])
}

pub(crate) fn reset_after_headers(_: Api) -> Option<Vec<Answer>> {
    Some(vec![vec![stream_head(), Act::Pause, Act::Reset]])
}

pub(crate) fn reset_in_text(api: Api) -> Option<Vec<Answer>> {
    let mut acts = stream(&beginning(api));
    acts.extend([Act::Pause, Act::Reset]);
    Some(vec![acts])
}

fn chunked(rest: &str) -> Vec<u8> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    format!("{head}{rest}").into_bytes()
}

pub(crate) fn bad_chunks(api: Api) -> Option<Vec<Answer>> {
    let body = beginning(api).concat();
    Some(vec![vec![Act::Send(chunked(&format!("zz\r\n{body}\r\n0\r\n\r\n")))]])
}

pub(crate) fn short_chunks(api: Api) -> Option<Vec<Answer>> {
    let body = beginning(api).concat();
    Some(vec![vec![Act::Send(chunked(&format!("{:x}\r\n{body}\r\n", body.len())))]])
}

pub(crate) fn short_length(api: Api) -> Option<Vec<Answer>> {
    let body = beginning(api).concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len() + 1_000
    );
    Some(vec![vec![Act::Send(head.into_bytes()), Act::Send(body.into_bytes())]])
}

pub(crate) fn no_answer(_: Api) -> Option<Vec<Answer>> {
    Some(vec![vec![Act::Hang]])
}

pub(crate) fn no_body(_: Api) -> Option<Vec<Answer>> {
    Some(vec![vec![stream_head(), Act::Hang]])
}

pub(crate) fn stalled(api: Api) -> Option<Vec<Answer>> {
    let mut acts = stream(&beginning(api));
    acts.push(Act::Hang);
    Some(vec![acts])
}
