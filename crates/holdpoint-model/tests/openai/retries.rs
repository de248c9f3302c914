//! What is asked for again, and what is not.

use std::time::Duration;

use holdpoint_model::{Model, ModelErrorKind, ModelRequest, NoDeltas, RetryRule};

use crate::server::{Server, answer, chunks, streamed};
use crate::{Listener, choice, user};

const RULE: RetryRule = RetryRule {
    attempts_max: 3,
    delay_min: Duration::from_millis(1),
    delay_max: Duration::from_millis(2),
    total_max: Duration::from_secs(20),
};

const OK: &str = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;
const CUT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"half a \"}}]}\n\ndata: {\"choi";

fn model(server: &Server) -> std::sync::Arc<dyn Model> {
    choice("openai", server).retry(RULE).open().unwrap()
}

#[tokio::test]
async fn a_busy_provider_is_asked_again() {
    let busy = answer("429 Too Many Requests", "retry-after-ms: 3\r\n", "{}");
    let down = answer("503 Service Unavailable", "", "canary");
    let server = Server::answering(vec![busy, down, chunks(&[OK])]).await;
    let reply = model(&server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap();
    assert_eq!((&*reply.unwrap().text, server.asked().len()), ("ok", 3));
}

#[tokio::test]
async fn it_is_asked_only_so_often() {
    let down = || answer("500 Internal Server Error", "", "canary");
    let server = Server::answering(vec![down(), down(), down(), chunks(&[OK])]).await;
    let error = model(&server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap_err();
    assert_eq!((error.kind, error.status, server.asked().len()), (ModelErrorKind::Overloaded, Some(500), 3));
    assert!(!format!("{error:?} {error}").contains("canary"));
}

#[tokio::test]
async fn a_request_that_is_not_accepted_is_not_made_again() {
    let refused = answer("400 Bad Request", "", r#"{"error":{"message":"canary","code":"canary"}}"#);
    let server = Server::answering(vec![refused]).await;
    let error = model(&server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap_err();
    assert_eq!((error.kind, server.asked().len()), (ModelErrorKind::InvalidRequest, 1));
    assert!(!format!("{error:?} {error}").contains("canary"));
}

#[tokio::test]
async fn a_cut_reply_is_asked_for_again_when_nobody_saw_it() {
    let server = Server::answering(vec![streamed(CUT), chunks(&[OK])]).await;
    let reply = model(&server).reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap();
    assert_eq!((&*reply.unwrap().text, server.asked().len()), ("ok", 2));
}

#[tokio::test]
async fn a_cut_reply_that_somebody_saw_ends_in_an_error() {
    let server = Server::answering(vec![streamed(CUT), chunks(&[OK])]).await;
    let listener = Listener::default();
    let error = model(&server).reply(&ModelRequest::new(&[user("hi")], &[]), &listener).await.unwrap_err();
    assert_eq!((error.kind, server.asked().len()), (ModelErrorKind::Cut, 1));
    assert_eq!(*listener.0.lock().unwrap(), "half a ");
}

#[tokio::test]
async fn nobody_at_the_address_is_a_lost_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let model = holdpoint_model::ModelChoice::parse("openai:small").unwrap().base_url(url).retry(RULE).open().unwrap();
    let error = model.reply(&ModelRequest::new(&[user("hi")], &[]), &NoDeltas).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Connection);
}
