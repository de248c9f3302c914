//! Whatever goes wrong with a policy, the call is denied, the model learns nothing, and the log has the cause.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::Context;
use holdpoint_codec::ToolDefinition;
use holdpoint_core::{Arguments, Code, Decision, Digest, RunId, ToolName, Turn};
use holdpoint_policy::{
    AllowAll, AuthorizeRequest, DenyAll, Guarded, Policy, PolicyError, PolicyFault, RuleSpec, Rules, RunFacts,
    TIMEOUT_DEFAULT, async_policy_fn, policy_fn,
};
use tracing_subscriber::fmt::MakeWriter;

const UNDECIDED: &str = "the policy could not decide";

async fn ask(guarded: &Guarded, tool: &str) -> (Decision, Option<PolicyFault>) {
    let tool = ToolName::new(tool);
    let arguments = Arguments::from_canonical(r#"{"token":"argument-sentinel"}"#, Digest([0; 32]));
    let context = Context::new().with("key", "context-sentinel");
    let run = RunFacts::new(RunId::new("r1"), Turn(1));
    let request = AuthorizeRequest { tool: &tool, arguments: &arguments, context: &context, run: &run };
    guarded.authorize(&request).await
}

fn guard(policy: impl Policy + 'static) -> Guarded {
    Guarded::new(Some(Arc::new(policy)), TIMEOUT_DEFAULT)
}

fn tools(names: &[&str]) -> Vec<Arc<ToolDefinition>> {
    names.iter().map(|name| Arc::new(ToolDefinition::new(*name, "", serde_json::json!({})))).collect()
}

async fn visible(guarded: &Guarded, names: &[&str]) -> Vec<String> {
    let visible = guarded.filter(tools(names), &Context::new()).await;
    visible.iter().map(|tool| tool.name.to_string()).collect()
}

/// Everything that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt().with_writer(self.clone()).with_ansi(false).finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic while writing").clone()).expect("text")
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic while writing").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

/// Fails in both questions.
struct Broken(Fault);

#[derive(Clone, Copy)]
enum Fault {
    Error,
    Panic,
    Hang,
}

impl Fault {
    async fn happen<T>(self) -> Result<T, PolicyError> {
        match self {
            Fault::Error => Err(PolicyError::new("the directory does not answer")),
            Fault::Panic => panic!("panic-sentinel"),
            Fault::Hang => std::future::pending().await,
        }
    }
}

#[async_trait]
impl Policy for Broken {
    async fn filter(
        &self,
        _tools: Vec<Arc<ToolDefinition>>,
        _context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        self.0.happen().await
    }

    async fn authorize(&self, _request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        self.0.happen().await
    }
}

#[tokio::test]
async fn no_policy_denies_every_call_and_hides_nothing() {
    let guarded = Guarded::default();
    let (decision, fault) = ask(&guarded, "read").await;
    assert_eq!(decision, Decision::deny("no policy is configured"));
    assert_eq!(fault, None);
    assert_eq!(visible(&guarded, &["b", "a"]).await, ["b", "a"]);
}

#[tokio::test]
async fn the_ready_made_ones_deny_all_and_allow_all() {
    assert!(matches!(ask(&guard(DenyAll), "read").await, (Decision::Deny(_), None)));
    assert_eq!(ask(&guard(AllowAll), "read").await, (Decision::allow(), None));
    assert_eq!(visible(&guard(DenyAll), &["a"]).await, ["a"]);
    assert_eq!(visible(&guard(AllowAll), &["a"]).await, ["a"]);
}

#[tokio::test]
async fn a_failing_policy_denies_with_a_fixed_text_and_logs_the_cause() {
    let log = Log::default();
    let _guard = log.start();
    let (decision, fault) = ask(&guard(Broken(Fault::Error)), "refund").await;
    assert_eq!(decision, Decision::deny(UNDECIDED));
    assert_eq!(fault, Some(PolicyFault::Failed));
    assert_eq!(fault.unwrap().code(), Code::PolicyFailed);
    let text = log.text();
    assert!(text.contains("refund") && text.contains("the directory does not answer"), "{text}");
    assert!(text.contains("ERROR") && !text.contains("sentinel"), "{text}");
}

#[tokio::test]
async fn a_panicking_policy_denies_and_its_text_is_not_logged() {
    let log = Log::default();
    let _guard = log.start();
    let (decision, fault) = ask(&guard(Broken(Fault::Panic)), "refund").await;
    assert_eq!((decision, fault), (Decision::deny(UNDECIDED), Some(PolicyFault::Panicked)));
    let text = log.text();
    assert!(text.contains("refund") && text.contains("panicked") && !text.contains("sentinel"), "{text}");
}

#[tokio::test]
async fn a_function_that_panics_before_it_waits_denies_too() {
    let policy = async_policy_fn(|request| {
        assert!(request.tool.as_str() != "refund", "panic-sentinel");
        async { Decision::allow() }
    });
    let guarded = guard(policy);
    assert_eq!(ask(&guarded, "refund").await.1, Some(PolicyFault::Panicked));
    assert_eq!(ask(&guarded, "read").await, (Decision::allow(), None));
}

#[tokio::test]
async fn a_slow_policy_denies_when_its_time_is_over() {
    let guarded = Guarded::new(Some(Arc::new(Broken(Fault::Hang))), Duration::from_millis(5));
    assert_eq!(ask(&guarded, "refund").await, (Decision::deny(UNDECIDED), Some(PolicyFault::TimedOut)));
    assert_eq!(visible(&guarded, &["a"]).await, ["a"]);
}

#[tokio::test]
async fn a_filter_that_fails_hides_nothing() {
    for fault in [Fault::Error, Fault::Panic] {
        assert_eq!(visible(&guard(Broken(fault)), &["b", "a"]).await, ["b", "a"]);
    }
}

#[tokio::test]
async fn rules_hide_what_they_say() {
    let hide = RuleSpec { tool: "secret_*".to_owned(), hide: true, ..RuleSpec::default() };
    let guarded = guard(Rules::new(&[hide]).unwrap());
    assert_eq!(visible(&guarded, &["read", "secret_key", "write"]).await, ["read", "write"]);
}

/// Shows more than it was given, and in another order.
struct Inventive;

#[async_trait]
impl Policy for Inventive {
    async fn filter(
        &self,
        given: Vec<Arc<ToolDefinition>>,
        _context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        let mut shown: Vec<_> = given.into_iter().filter(|tool| tool.name.as_str() != "b").rev().collect();
        shown.extend(tools(&["invented"]));
        Ok(shown)
    }

    async fn authorize(&self, _request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        Ok(Decision::allow())
    }
}

#[tokio::test]
async fn a_filter_only_takes_away() {
    assert_eq!(visible(&guard(Inventive), &["a", "b", "c"]).await, ["a", "c"]);
}

#[tokio::test]
async fn functions_are_policies() {
    let plain = policy_fn(|request| match request.tool.as_str() {
        "read" => Ok(Decision::allow()),
        "write" => Ok(Decision::confirm("changes files")),
        _ => Err(PolicyError::new("unknown")),
    });
    let guarded = guard(plain);
    assert_eq!(ask(&guarded, "read").await, (Decision::allow(), None));
    assert_eq!(ask(&guarded, "write").await, (Decision::confirm("changes files"), None));
    assert_eq!(ask(&guarded, "wipe").await, (Decision::deny(UNDECIDED), Some(PolicyFault::Failed)));
    let waiting = async_policy_fn(|request| async move {
        tokio::task::yield_now().await;
        if request.run.turn == Turn(1) { Decision::allow() } else { Decision::deny("too late") }
    });
    assert_eq!(ask(&guard(waiting), "read").await, (Decision::allow(), None));
}

#[tokio::test]
async fn debug_of_a_request_shows_neither_arguments_nor_context_values() {
    let seen = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&seen);
    let guarded = guard(policy_fn(move |request| {
        *keep.lock().unwrap() = format!("{request:?} {:?}", request.to_owned_request());
        Decision::allow()
    }));
    ask(&guarded, "read").await;
    let shown = seen.lock().unwrap().clone();
    assert!(shown.contains("read") && !shown.contains("sentinel"), "{shown}");
}
