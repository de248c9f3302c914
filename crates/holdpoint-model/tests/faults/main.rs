//! What providers do wrong, over every protocol: each shape ends in one typed error or in the reply it stands for, and
//! nothing of the prompt is in any error or log.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

mod connection;
mod http;
mod message;
mod server;
mod shapes;
mod stream;
mod wire;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdpoint_codec::ToolDefinition;
use holdpoint_core::Message;
use holdpoint_model::{
    DeltaSink, Model, ModelChoice, ModelError, ModelReply, ModelRequest, NoDeltas, RetryRule, Timeouts,
};
use server::FaultServer;
use shapes::{Becomes, Shape, shapes};
use wire::Api;

/// A word of the prompt, which no error and no log may have.
pub(crate) const CANARY: &str = "xyzzy-canary-7";

const ATTEMPTS: u32 = 3;

const RETRY: RetryRule = RetryRule {
    attempts_max: ATTEMPTS,
    delay_min: Duration::from_millis(1),
    delay_max: Duration::from_millis(5),
    total_max: Duration::from_secs(60),
};

const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_millis(400),
    between_chunks: Duration::from_millis(400),
    total: Duration::from_secs(30),
};

fn model(api: Api, url: &str) -> Arc<dyn Model> {
    let (choice, path) = match api {
        Api::Chat => ("openai:m", "/v1"),
        Api::Responses => ("openai-responses:m", "/v1"),
        Api::Anthropic => ("anthropic:m", "/v1"),
        Api::Gemini => ("gemini:m", "/v1beta"),
    };
    let choice = ModelChoice::parse(choice).unwrap().base_url(format!("{url}{path}"));
    choice.retry(RETRY).timeouts(TIMEOUTS).open().unwrap()
}

struct Asked {
    reply: Result<Option<ModelReply>, ModelError>,
    requests: usize,
    log: String,
}

/// Asks a server of this shape once, with everything logged.
async fn ask(api: Api, shape: &Shape) -> Option<Asked> {
    let server = FaultServer::start((shape.answers)(api)?).await;
    let model = model(api, &server.url);
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let messages = [Arc::new(Message::user(format!("What about {CANARY}?")))];
    let tools = [Arc::new(weather())];
    let reply = model.reply(&ModelRequest::new(&messages, &tools), &NoDeltas).await;
    drop(guard);
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.contains(CANARY)), "the prompt was sent");
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    Some(Asked { reply, requests: requests.len(), log })
}

fn weather() -> ToolDefinition {
    let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
    ToolDefinition::new("get_weather", "The weather in a city.", schema)
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

/// What is wrong with what became of it, if anything is.
fn judge(becomes: &Becomes, asked: &Asked) -> Result<(), String> {
    let Asked { reply, requests, log } = asked;
    let wrong = |what: &str| Err(format!("{what}: {reply:?} after {requests} requests"));
    if log.contains(CANARY) {
        let line = log.lines().find(|line| line.contains(CANARY)).unwrap();
        return Err(format!("the prompt is in the log: {line}"));
    }
    match (becomes, reply) {
        (Becomes::Fails(_) | Becomes::FailsAtOnce(_), Err(error)) => {
            if format!("{error} {error:?}").contains(CANARY) {
                return wrong("the prompt is in the error");
            }
            let (kinds, at_once) = match becomes {
                Becomes::FailsAtOnce(kind) => (std::slice::from_ref(kind), true),
                Becomes::Fails(kinds) => (*kinds, false),
                _ => unreachable!(),
            };
            let expected = if error.kind.is_transient() && !at_once { ATTEMPTS as usize } else { 1 };
            match (kinds.contains(&error.kind), *requests == expected) {
                (true, true) if at_once && error.retry_after.is_none() => wrong("when to ask again is lost"),
                (true, true) => Ok(()),
                (true, false) => wrong("asked the wrong number of times"),
                (false, _) => wrong("another error"),
            }
        }
        (Becomes::Nothing, Ok(None)) => Ok(()),
        (_, Ok(Some(reply))) => judge_reply(becomes, reply, *requests).map_err(|what| wrong(&what).unwrap_err()),
        _ => wrong("not what it must become"),
    }
}

fn judge_reply(becomes: &Becomes, reply: &ModelReply, asked: usize) -> Result<(), String> {
    let calls: Vec<(&str, &str)> =
        reply.calls.iter().map(|call| (&*call.name, call.arguments.as_deref().unwrap_or(""))).collect();
    let right = match becomes {
        Becomes::Says { text, requests } => *reply.text == **text && calls.is_empty() && asked == *requests,
        Becomes::Asks(expected) => calls == *expected,
        Becomes::Nothing => reply.text.is_empty() && calls.is_empty(),
        Becomes::Stops(stop) => reply.stop.as_ref() == Some(stop),
        Becomes::NoWholeCall => calls.iter().all(|(_, arguments)| {
            !arguments.trim().is_empty() && serde_json::from_str::<serde_json::Value>(arguments).is_err()
        }),
        Becomes::Counts { input_max, output_max } => {
            *reply.text == *"Hello é!" && reply.usage.input <= *input_max && reply.usage.output <= *output_max
        }
        Becomes::Fails(_) | Becomes::FailsAtOnce(_) => false,
    };
    if right { Ok(()) } else { Err(format!("another reply, with text `{}` and calls {calls:?}", reply.text)) }
}

/// Everything of one protocol, and all that is wrong with it at once.
async fn check(api: Api) {
    let mut wrong = Vec::new();
    let mut asked = 0;
    for shape in shapes() {
        let Some(result) = ask(api, &shape).await else { continue };
        asked += 1;
        if let Err(what) = judge(&shape.becomes, &result) {
            wrong.push(format!("{}: {what}", shape.name));
        }
    }
    assert!(wrong.is_empty(), "{api:?}, {} of {asked} shapes:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked >= 55, "{api:?} has only {asked} shapes");
}

#[tokio::test]
async fn every_fault_over_chat_completions_ends_as_it_must() {
    check(Api::Chat).await;
}

#[tokio::test]
async fn every_fault_over_responses_ends_as_it_must() {
    check(Api::Responses).await;
}

#[tokio::test]
async fn every_fault_over_anthropic_messages_ends_as_it_must() {
    check(Api::Anthropic).await;
}

#[tokio::test]
async fn every_fault_over_gemini_ends_as_it_must() {
    check(Api::Gemini).await;
}

/// Once somebody has seen a piece, the request is not made again, whatever kind the failure is.
#[tokio::test]
async fn no_piece_is_shown_twice() {
    struct Listener(Mutex<String>);
    impl DeltaSink for Listener {
        fn listens(&self) -> bool {
            true
        }

        fn take(&self, delta: holdpoint_model::Delta<'_>) {
            if let holdpoint_model::Delta::Text(text) = delta {
                self.0.lock().unwrap().push_str(text);
            }
        }
    }
    for api in Api::ALL {
        let server = FaultServer::start(stream::cut_in_text(api).unwrap()).await;
        let listener = Listener(Mutex::default());
        let messages = [Arc::new(Message::user("hello"))];
        let reply = model(api, &server.url).reply(&ModelRequest::new(&messages, &[]), &listener).await;
        assert_eq!(reply.unwrap_err().kind.as_str(), "cut", "{api:?}");
        assert_eq!((&**listener.0.lock().unwrap(), server.requests().len()), ("Hello é!", 1), "{api:?}");
    }
}

#[test]
fn the_guide_lists_every_shape_and_what_becomes_of_it() {
    let guide = include_str!("../../../../docs/guide/provider-faults.md");
    let (_, shown) = guide.split_once("## Shapes").unwrap();
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> =
        shapes().iter().map(|shape| format!("| `{}` | {} | {} |", shape.name, shape.what, shape.becomes)).collect();
    assert_eq!(rows, expected, "\n{}", expected.join("\n"));
}

#[test]
fn shapes_have_names_of_their_own() {
    let names: BTreeSet<&str> = shapes().iter().map(|shape| shape.name).collect();
    assert_eq!(names.len(), shapes().len());
}
