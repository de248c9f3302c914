//! A server with an agent that does what it is told, and clients of two tenants.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint::{Agent, Message, ReceiptKey, ReceiptKeys};
use holdpoint_endpoints::ToolSpec;
use holdpoint_model::{Delta, DeltaSink, Model, ModelCall, ModelError, ModelReply, ModelRequest};
use holdpoint_policy::RulesFile;
use holdpoint_server::{Limits, Metrics, ServedAgent, Server, ServerBuilder, Token, TokenRole};
use holdpoint_store::{MemoryStore, Store};
use holdpoint_tools::{ToolCall, raw_tool};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What must happen happens well within it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long a run is kept from others whose process died.
const RUN_LEASE: Duration = Duration::from_secs(2);

/// The rules of the agent.
const RULES: &str = r#"
[[rule]]
tool = "refund"
when = { "/amount" = { gt = 100 } }
decide = "confirm"
reason = "refund above 100"
approvers = ["finance"]

[[rule]]
tool = "ask_another"
decide = "confirm"
reason = "somebody else must say yes"
four_eyes = true

[[rule]]
tool = "ask_*"
decide = "confirm"
reason = "a person must say yes"

[[rule]]
tool = "*"
decide = "allow"
"#;

/// Does what the user says: `use TOOL JSON` calls a tool (one line each), `say TEXT` answers, `fail` fails, `wait` waits until
/// it is let go.
#[derive(Clone)]
pub(crate) struct Obedient {
    pub(crate) gate: Arc<Semaphore>,
}

#[async_trait]
impl Model for Obedient {
    fn name(&self) -> Option<&str> {
        Some("obedient")
    }

    async fn reply(
        &self,
        request: &ModelRequest<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<Option<ModelReply>, ModelError> {
        let last = request.messages.last().unwrap();
        let text = last.text();
        if let Message::Tool(_) = &**last {
            return Ok(Some(said(&format!("done: {text}"), deltas)));
        }
        if text.starts_with("fail") {
            return Err(ModelError::new("told to fail"));
        }
        if text.starts_with("wait") {
            if deltas.listens() {
                deltas.take(Delta::Text("one "));
            }
            self.gate.acquire().await.unwrap().forget();
            return Ok(Some(said("one two", deltas)));
        }
        let calls = text.lines().filter_map(|line| line.strip_prefix("use ")).enumerate().map(|(index, line)| {
            let (tool, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
            ModelCall {
                id: Some(format!("tc_{}", index + 1).into()),
                name: tool.into(),
                arguments: Some(arguments.into()),
            }
        });
        let calls: Vec<ModelCall> = calls.collect();
        if calls.is_empty() {
            return Ok(Some(said(text.strip_prefix("say ").unwrap_or(&text), deltas)));
        }
        Ok(Some(ModelReply { calls, ..ModelReply::default() }))
    }
}

fn said(text: &str, deltas: &dyn DeltaSink) -> ModelReply {
    if deltas.listens() {
        text.split_inclusive(' ').for_each(|piece| deltas.take(Delta::Text(piece)));
    }
    ModelReply { text: text.into(), ..ModelReply::default() }
}

/// The secrets of the tokens.
pub(crate) const ADMIN: &str = "secret-of-the-admin-0001";
pub(crate) const FINANCE: &str = "secret-of-finance-000002";
pub(crate) const CLERK: &str = "secret-of-the-clerk-0003";
pub(crate) const SUBMITTER: &str = "secret-of-submitter-0004";
pub(crate) const READER: &str = "secret-of-the-reader-005";
pub(crate) const WORKER: &str = "secret-of-the-worker-006";
pub(crate) const STRANGER: &str = "secret-of-a-stranger-007";

fn token(name: &str, tenant: &str, secret: &str, roles: &[TokenRole]) -> Token {
    Token::new(name, tenant, &secret.to_owned().into()).roles(roles.iter().copied())
}

pub(crate) fn tokens() -> Vec<Token> {
    vec![
        token("boss", "acme", ADMIN, &[TokenRole::Admin]),
        token("fin", "acme", FINANCE, &[TokenRole::Approve]).approves_as(["finance"]),
        token("clerk", "acme", CLERK, &[TokenRole::Approve]),
        token("desk", "acme", SUBMITTER, &[TokenRole::Submit]),
        token("reader", "acme", READER, &[TokenRole::Read]),
        token("hands", "acme", WORKER, &[TokenRole::Work]),
        token("other", "umbrella", STRANGER, &[TokenRole::Admin]).approves_as(["finance"]),
    ]
}

/// A server that runs.
pub(crate) struct Stage {
    pub(crate) base: String,
    pub(crate) client: Client,
    pub(crate) gate: Arc<Semaphore>,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

/// What a stage may be asked to change.
#[derive(Clone, Default)]
pub(crate) struct Setting {
    pub(crate) tokens: Vec<Token>,
    pub(crate) limits: Option<Limits>,
    pub(crate) store: Option<Store>,
    pub(crate) without_worker: bool,
    pub(crate) executor: Option<&'static str>,
}

pub(crate) fn agent(store: &Store, gate: &Arc<Semaphore>) -> (Agent, Arc<RulesFile>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    std::fs::write(&path, RULES).unwrap();
    let rules = Arc::new(RulesFile::load(&path).unwrap());
    let echo = |name: &'static str| {
        raw_tool(name, "Gives its arguments back", json!({"type": "object"}), async |call: ToolCall| {
            call.arguments().expose().to_owned()
        })
    };
    let remote = json!({"kind": "worker", "description": "Done elsewhere", "parameters": {"type": "object"}});
    let remote = ToolSpec::from_json(remote).unwrap();
    let agent = Agent::builder()
        .name("support")
        .model(Obedient { gate: Arc::clone(gate) })
        .tool(echo("echo"))
        .tool(echo("refund"))
        .tool(echo("ask_first"))
        .tool(echo("ask_another"))
        .tools([remote.build("remote").unwrap()])
        .policy(rules_policy(&rules))
        .store(store.clone())
        .receipt_key(receipt_key())
        .lease(RUN_LEASE)
        .context_keys(["user_id"])
        .build()
        .unwrap();
    (agent, rules)
}

fn rules_policy(rules: &Arc<RulesFile>) -> impl holdpoint_policy::Policy + use<> {
    SharedRules(Arc::clone(rules))
}

struct SharedRules(Arc<RulesFile>);

#[async_trait]
impl holdpoint_policy::Policy for SharedRules {
    async fn authorize(
        &self,
        request: &holdpoint_policy::AuthorizeRequest<'_>,
    ) -> Result<holdpoint::Decision, holdpoint_policy::PolicyError> {
        self.0.enforced().authorize(request).await
    }
}

pub(crate) fn receipt_key() -> ReceiptKey {
    ReceiptKey::new("test", &[3; 32]).unwrap()
}

impl Stage {
    /// Without tokens: one local admin.
    pub(crate) async fn local() -> Self {
        Self::with(Setting::default()).await
    }

    /// With the tokens of two tenants.
    pub(crate) async fn guarded() -> Self {
        Self::with(Setting { tokens: tokens(), ..Setting::default() }).await
    }

    pub(crate) async fn with(setting: Setting) -> Self {
        let store = setting.store.unwrap_or_else(|| Store::from(MemoryStore::new()));
        let metrics = Metrics::default();
        let store = metrics.measure(store);
        let gate = Arc::new(Semaphore::new(0));
        let (mut agent, rules) = agent(&store, &gate);
        if let Some(executor) = setting.executor {
            agent = agent.with_tool_concurrency(executor, None).unwrap();
        }
        let keys = ReceiptKeys::new().with(receipt_key().public());
        let served = ServedAgent::new(agent).description("Helps customers").rules(rules);
        let mut builder: ServerBuilder =
            Server::builder(store.clone()).agent(served).signing_key(&[9; 32]).receipt_keys(keys).metrics(metrics);
        for token in setting.tokens {
            builder = builder.token(token);
        }
        if setting.without_worker {
            builder = builder.without_worker();
        }
        let limits = setting.limits.unwrap_or_default();
        let server = builder.limits(limits).build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let shutdown = CancellationToken::new();
        let until = shutdown.clone();
        let serving = tokio::spawn(async move { server.serve(listener, until).await.unwrap() });
        Self { base, client: Client::new(), gate, shutdown, serving }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).timeout(PATIENCE)
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        Answered::of(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answered {
        Answered::of(self.request(Method::POST, path).json(&body).send().await.unwrap()).await
    }

    pub(crate) async fn get_as(&self, secret: &str, path: &str) -> Answered {
        Answered::of(self.request(Method::GET, path).bearer_auth(secret).send().await.unwrap()).await
    }

    pub(crate) async fn post_as(&self, secret: &str, path: &str, body: Value) -> Answered {
        Answered::of(self.request(Method::POST, path).bearer_auth(secret).json(&body).send().await.unwrap()).await
    }

    /// Starts a run and waits until it pauses or ends.
    pub(crate) async fn run(&self, input: &str) -> Value {
        let answered = self.post("/v1/runs?wait_ms=20000", json!({"agent": "support", "input": input})).await;
        answered.expect(StatusCode::CREATED)
    }

    pub(crate) async fn run_as(&self, secret: &str, input: &str) -> Value {
        let body = json!({"agent": "support", "input": input});
        self.post_as(secret, "/v1/runs?wait_ms=20000", body).await.expect(StatusCode::CREATED)
    }

    /// Stops it and waits until it did.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        tokio::time::timeout(PATIENCE, self.serving).await.expect("it stops in time").unwrap();
    }

    /// Tells it to stop.
    pub(crate) fn begin_to_stop(&self) {
        self.shutdown.cancel();
    }
}

/// An answer with its body.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self { status, headers, body, text }
    }

    #[track_caller]
    pub(crate) fn expect(self, status: StatusCode) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.body
    }

    /// The code of a problem.
    #[track_caller]
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status.as_u16(), self.body["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.body["status"], status);
        assert!(self.body["request_id"].is_string(), "{}", self.text);
        self.body
    }
}

/// The decisions that allow the only pending call of a run.
pub(crate) fn allow(run: &Value) -> Value {
    let pending = &run["pending"][0];
    let decision = json!({"call_id": pending["id"], "decision": "allow", "digest": pending["digest"]});
    json!({"continuation_id": run["continuation_id"], "decisions": [decision]})
}
