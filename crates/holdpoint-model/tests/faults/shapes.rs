//! The table: what a provider does wrong, and what must become of it.

use std::fmt;

use holdpoint_core::ModelStop;
use holdpoint_model::ModelErrorKind as Kind;

use crate::server::Answer;
use crate::wire::Api;

/// How a provider misbehaves.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) what: &'static str,
    /// What the server does, request by request; `None` where the protocol has no such thing.
    pub(crate) answers: fn(Api) -> Option<Vec<Answer>>,
    pub(crate) becomes: Becomes,
}

/// What must become of it.
pub(crate) enum Becomes {
    /// One of these errors. It is asked again if the kind is one that passes.
    Fails(&'static [Kind]),
    /// An error that passes, but the provider wants more time than there is.
    FailsAtOnce(Kind),
    /// The reply, after so many requests.
    Says { text: &'static str, requests: usize },
    /// The calls, with their exact arguments.
    Asks(&'static [(&'static str, &'static str)]),
    /// A reply without anything in it, or none.
    Nothing,
    /// A reply that stopped for this reason.
    Stops(ModelStop),
    /// A reply of which no call can run: none is there, or its arguments are no JSON.
    NoWholeCall,
    /// A reply with these counts of tokens at most.
    Counts { input_max: u64, output_max: u64 },
}

impl fmt::Display for Becomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Becomes::Fails(kinds) => {
                let again = |kind: &Kind| if kind.is_transient() { "asked again" } else { "not asked again" };
                let named = |kind: &Kind| format!("`{}`, {}", kind.as_str(), again(kind));
                f.write_str(&kinds.iter().map(named).collect::<Vec<_>>().join("; or "))
            }
            Becomes::FailsAtOnce(kind) => write!(f, "`{}`, not asked again: too long a wait", kind.as_str()),
            Becomes::Says { requests: 1, .. } => f.write_str("the reply"),
            Becomes::Says { .. } => f.write_str("the reply, when asked again"),
            Becomes::Asks([_]) => f.write_str("the call, with its exact arguments"),
            Becomes::Asks(_) => f.write_str("the calls, each with its own arguments"),
            Becomes::Nothing => f.write_str("a reply that says nothing"),
            Becomes::Stops(ModelStop::Other(word)) => write!(f, "the reply, stopped for `{word}`"),
            Becomes::Stops(stop) => write!(f, "the reply, stopped for `{stop:?}`"),
            Becomes::NoWholeCall => f.write_str("a reply from which no call can run"),
            Becomes::Counts { .. } => f.write_str("the reply, with counts that make sense"),
        }
    }
}

const fn shape(
    name: &'static str,
    what: &'static str,
    answers: fn(Api) -> Option<Vec<Answer>>,
    becomes: Becomes,
) -> Shape {
    Shape { name, what, answers, becomes }
}

const REPLY: Becomes = Becomes::Says { text: "Hello é!", requests: 1 };
const REPLY_THEN: Becomes = Becomes::Says { text: "Hello é!", requests: 2 };
const CUT: Becomes = Becomes::Fails(&[Kind::Cut]);
const CALL: Becomes = Becomes::Asks(&[("get_weather", "{\"city\":\"Oslo é\"}")]);

/// All of it.
pub(crate) fn shapes() -> Vec<Shape> {
    let mut shapes = http();
    shapes.extend(connections());
    shapes.extend(streams());
    shapes.extend(messages());
    shapes
}

fn http() -> Vec<Shape> {
    use crate::http::*;
    vec![
        shape("rate_limited", "429", rate_limited, Becomes::Fails(&[Kind::RateLimited])),
        shape("rate_limited_then_well", "429 with `Retry-After-Ms`, then a reply", rate_limited_then_well, REPLY_THEN),
        shape(
            "rate_limited_for_long",
            "429 with `Retry-After` in seconds",
            rate_limited_for_long,
            Becomes::FailsAtOnce(Kind::RateLimited),
        ),
        shape(
            "rate_limited_until",
            "429 with `Retry-After` as a date",
            rate_limited_until,
            Becomes::FailsAtOnce(Kind::RateLimited),
        ),
        shape("no_quota", "429 that says the account has no quota", no_quota, Becomes::Fails(&[Kind::QuotaExceeded])),
        shape("server_error", "500", server_error, Becomes::Fails(&[Kind::Overloaded])),
        shape(
            "endless_error",
            "500 with a text without an end",
            endless_error,
            Becomes::Fails(&[Kind::Overloaded, Kind::TooLarge]),
        ),
        shape("bad_gateway", "502 with a page of HTML", bad_gateway, Becomes::Fails(&[Kind::Overloaded])),
        shape("unavailable_then_well", "503, then a reply", unavailable_then_well, REPLY_THEN),
        shape("overloaded", "529 with an error object", overloaded, Becomes::Fails(&[Kind::Overloaded])),
        shape("wrong_key", "401", wrong_key, Becomes::Fails(&[Kind::Auth])),
        shape("forbidden", "403", forbidden, Becomes::Fails(&[Kind::Auth])),
        shape("unknown_model", "404", unknown_model, Becomes::Fails(&[Kind::InvalidRequest])),
        shape("bad_request", "400 that repeats the prompt", bad_request, Becomes::Fails(&[Kind::InvalidRequest])),
        shape("too_long", "400 that says the window is too small", too_long, Becomes::Fails(&[Kind::ContextTooLong])),
        shape("redirected", "307 to another address", redirected, Becomes::Fails(&[Kind::InvalidRequest])),
        shape("login_page", "200 with a page of HTML", login_page, Becomes::Fails(&[Kind::Garbage])),
        shape("empty_body", "200 without a body", empty_body, Becomes::Fails(&[Kind::Empty])),
        shape("not_compressed", "says gzip, sends plain text", not_compressed, REPLY),
        shape(
            "compressed",
            "sends gzip, which nobody asked for",
            compressed,
            Becomes::Fails(&[Kind::Garbage, Kind::Cut]),
        ),
    ]
}

fn connections() -> Vec<Shape> {
    use crate::connection::*;
    const LOST: Becomes = Becomes::Fails(&[Kind::Connection]);
    const LOST_OR_CUT: Becomes = Becomes::Fails(&[Kind::Connection, Kind::Cut]);
    vec![
        shape("closed_at_once", "closes the connection before any header", closed_at_once, LOST),
        shape("reset_at_once", "resets the connection before any header", reset_at_once, LOST),
        shape("reset_after_headers", "resets the connection after the headers", reset_after_headers, LOST_OR_CUT),
        shape("reset_in_text", "resets the connection in the middle of the text", reset_in_text, CUT),
        shape("bad_chunks", "chunked, with sizes that are none", bad_chunks, Becomes::Fails(&[Kind::Garbage])),
        shape("short_chunks", "chunked, without the last chunk", short_chunks, CUT),
        shape("short_length", "fewer bytes than `Content-Length` says", short_length, CUT),
        shape("no_answer", "never answers", no_answer, Becomes::Fails(&[Kind::TooSlow])),
        shape("no_body", "never goes on after the headers", no_body, Becomes::Fails(&[Kind::TooSlow])),
        shape("stalled", "stops in the middle and keeps the connection", stalled, Becomes::Fails(&[Kind::TooSlow])),
    ]
}

fn streams() -> Vec<Shape> {
    use crate::stream::*;
    const GARBAGE: Becomes = Becomes::Fails(&[Kind::Garbage]);
    const TOO_LARGE: Becomes = Becomes::Fails(&[Kind::TooLarge]);
    vec![
        shape("cut_in_text", "ends in the middle of the text", cut_in_text, CUT),
        shape("cut_in_arguments", "ends in the middle of a call's arguments", cut_in_arguments, CUT),
        shape("cut_after_call", "ends after a whole call, before the end", cut_after_call, CUT),
        shape("cut_in_character", "ends in the middle of a character", cut_in_character, CUT),
        shape("cut_in_line", "ends in the middle of a line", cut_in_line, CUT),
        shape("no_end", "sends everything but the end", no_end, CUT),
        shape("not_json", "an event that is not JSON", not_json, GARBAGE),
        shape("other_json", "an event that is JSON of another type", other_json, GARBAGE),
        shape("not_text", "bytes that are not UTF-8", not_text, GARBAGE),
        shape("endless_line", "a line without an end", endless_line, TOO_LARGE),
        shape("endless_text", "text without an end", endless_text, TOO_LARGE),
        shape(
            "error_in_stream",
            "an error object after some text",
            error_in_stream,
            Becomes::Fails(&[Kind::Overloaded]),
        ),
        shape("unknown_events", "events and members that nobody knows", unknown_events, REPLY),
        shape("keep_alives", "comments and empty lines between the events", keep_alives, REPLY),
        shape("carriage_returns", "lines that end with CR and LF", carriage_returns, REPLY),
        shape("byte_by_byte", "every byte on its own", byte_by_byte, REPLY),
        shape("two_ends", "goes on after the end, with another call", two_ends, REPLY),
    ]
}

fn messages() -> Vec<Shape> {
    use crate::message::*;
    vec![
        shape("nothing_said", "a reply without any content", nothing_said, Becomes::Nothing),
        shape("null_content", "content that is null", null_content, Becomes::Nothing),
        shape("same_ids", "two calls with the same id", same_ids, Becomes::Asks(TWO)),
        shape("no_ids", "calls without ids", no_ids, Becomes::Asks(TWO)),
        shape("no_index", "calls without their place", no_index, CALL),
        shape("object_arguments", "arguments as an object instead of text", object_arguments, CALL),
        shape("bad_arguments", "arguments that are not JSON", bad_arguments, Becomes::NoWholeCall),
        shape("no_room_for_call", "out of room in the middle of a call", no_room_for_call, Becomes::NoWholeCall),
        shape(
            "no_room_for_arguments",
            "out of room before the first argument",
            no_room_for_arguments,
            Becomes::NoWholeCall,
        ),
        shape(
            "stopped_before_arguments",
            "stopped before the first argument, for a reason that nobody knows",
            stopped_before_arguments,
            Becomes::NoWholeCall,
        ),
        shape("unknown_tool", "a call of a tool that was not offered", unknown_tool, Becomes::Asks(UNKNOWN)),
        shape("blank_tool", "a call without a name", blank_tool, Becomes::Asks(BLANK)),
        shape("no_reason", "no reason for the end", no_reason, REPLY),
        shape("unknown_reason", "a reason for the end that nobody knows", unknown_reason, REPLY),
        shape("filtered", "a filter stops the reply", filtered, Becomes::Stops(ModelStop::ContentFilter)),
        shape("cut_by_limit", "the output limit stops the reply", cut_by_limit, Becomes::Stops(ModelStop::MaxTokens)),
        shape("no_usage", "no count of tokens", no_usage, Becomes::Counts { input_max: 0, output_max: 1 }),
        shape(
            "negative_usage",
            "counts of tokens below zero",
            negative_usage,
            Becomes::Counts { input_max: 0, output_max: 1 },
        ),
        shape(
            "huge_usage",
            "counts of tokens beyond any number",
            huge_usage,
            Becomes::Counts { input_max: 1 << 53, output_max: 1 << 53 },
        ),
    ]
}
