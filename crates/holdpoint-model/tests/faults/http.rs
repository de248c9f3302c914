//! Shapes of whole answers: statuses, headers, bodies.

use crate::CANARY;
use crate::server::{Act, Answer, status, stream};
use crate::wire::{Api, SAYS, frames};

const JSON: &str = "content-type: application/json\r\n";
const HTML: &str = "content-type: text/html; charset=utf-8\r\n";

fn well(api: Api) -> Answer {
    stream(&frames(api, &SAYS))
}

/// An error object that repeats the prompt, as providers do.
fn said(code: &str) -> String {
    format!(
        r#"{{"type":"error","error":{{"message":"no: {CANARY}","type":"{code}","code":"{code}","param":"{CANARY}"}}}}"#
    )
}

pub(crate) fn rate_limited(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("429 Too Many Requests", JSON, &said("rate_limit_error"))])
}

pub(crate) fn rate_limited_then_well(api: Api) -> Option<Vec<Answer>> {
    let headers = format!("{JSON}retry-after-ms: 5\r\n");
    Some(vec![status("429 Too Many Requests", &headers, &said("rate_limit_error")), well(api)])
}

pub(crate) fn rate_limited_for_long(api: Api) -> Option<Vec<Answer>> {
    let headers = format!("{JSON}retry-after: 3600\r\n");
    Some(vec![status("429 Too Many Requests", &headers, &said("rate_limit_error")), well(api)])
}

pub(crate) fn rate_limited_until(api: Api) -> Option<Vec<Answer>> {
    let headers = format!("{JSON}retry-after: Fri, 31 Dec 2100 23:59:59 GMT\r\n");
    Some(vec![status("429 Too Many Requests", &headers, &said("rate_limit_error")), well(api)])
}

pub(crate) fn no_quota(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("429 Too Many Requests", JSON, &said("insufficient_quota"))])
}

pub(crate) fn server_error(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("500 Internal Server Error", JSON, &said("server_error"))])
}

pub(crate) fn endless_error(_: Api) -> Option<Vec<Answer>> {
    let head = format!("HTTP/1.1 500 Internal Server Error\r\n{JSON}connection: close\r\n\r\n{{\"error\": \"");
    Some(vec![vec![Act::Send(head.into_bytes()), Act::Forever(vec![b'x'; 65_536])]])
}

pub(crate) fn bad_gateway(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("502 Bad Gateway", HTML, &format!("<html><body>{CANARY}</body></html>"))])
}

pub(crate) fn unavailable_then_well(api: Api) -> Option<Vec<Answer>> {
    Some(vec![status("503 Service Unavailable", "", ""), well(api)])
}

pub(crate) fn overloaded(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("529 Overloaded", JSON, &said("overloaded_error"))])
}

pub(crate) fn wrong_key(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("401 Unauthorized", JSON, &said("invalid_api_key"))])
}

pub(crate) fn forbidden(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("403 Forbidden", JSON, &said("permission_error"))])
}

pub(crate) fn unknown_model(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("404 Not Found", JSON, &said("model_not_found"))])
}

pub(crate) fn bad_request(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("400 Bad Request", JSON, &said("invalid_request_error"))])
}

pub(crate) fn too_long(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("400 Bad Request", JSON, &said("context_length_exceeded"))])
}

pub(crate) fn redirected(_: Api) -> Option<Vec<Answer>> {
    // Whoever follows it comes back here, and is counted.
    Some(vec![status("307 Temporary Redirect", "location: /elsewhere\r\n", "")])
}

pub(crate) fn login_page(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("200 OK", HTML, &format!("<html>\n\n<body>please log in: {CANARY}</body></html>\n\n"))])
}

pub(crate) fn empty_body(_: Api) -> Option<Vec<Answer>> {
    Some(vec![status("200 OK", "content-type: text/event-stream\r\n", "")])
}

pub(crate) fn not_compressed(api: Api) -> Option<Vec<Answer>> {
    let body = frames(api, &SAYS).concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    Some(vec![vec![Act::Send(head.into_bytes()), Act::Send(body.into_bytes())]])
}

pub(crate) fn compressed(_: Api) -> Option<Vec<Answer>> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
    let body = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x4b\x49\x2c\x49\xb4\x52\xa8\xe6\n\n\xaa\xff\n\n".to_vec();
    Some(vec![vec![Act::Send(head.as_bytes().to_vec()), Act::Send(body)]])
}
