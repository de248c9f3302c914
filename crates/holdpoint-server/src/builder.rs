//! Puts a server together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use holdpoint::{DeltaHub, ReceiptKeys};
use holdpoint_store::Store;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::app::{App, Cookies};
use crate::auth::{Token, Tokens};
use crate::driving::Driving;
use crate::metrics::Metrics;
use crate::noted::Noted;
use crate::seal::Sealer;
use crate::server::{InProcessWorker, Server};
use crate::streams::{Rates, Streams};
use crate::telemetry::span_parent;
use crate::{Limits, ServedAgent};

/// Why a server cannot be.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BuildError {
    /// It has nothing to run.
    #[error("the server has no agent")]
    NoAgent,
    /// An agent without a name.
    #[error("an agent has no name; hint: `Agent::builder().name(…)`")]
    UnnamedAgent,
    /// Two agents of one name.
    #[error("there are two agents `{0}`")]
    DuplicateAgent(String),
    /// Two tokens of one name.
    #[error("there are two tokens `{0}`: the name says who acted")]
    DuplicateToken(String),
    /// Two tokens of one secret.
    #[error("the token `{0}` has the secret of another one")]
    SharedSecret(String),
    /// A token without a name or a tenant.
    #[error("a token needs a name and a tenant")]
    BlankToken,
    /// A secret that somebody could guess.
    #[error("the secret of the token `{0}` is too short; hint: `openssl rand -hex 32`")]
    WeakSecret(String),
    /// The system gave no randomness for a signing key.
    #[error("no signing key was given, and none could be made")]
    NoRandomness,
}

/// A server that is being put together.
pub struct ServerBuilder {
    store: Store,
    agents: Vec<ServedAgent>,
    tokens: Vec<Token>,
    signing_key: Option<[u8; 32]>,
    receipt_keys: ReceiptKeys,
    limits: Limits,
    worker: InProcessWorker,
    metrics: Metrics,
    cookies: Cookies,
}

impl ServerBuilder {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            agents: Vec::new(),
            tokens: Vec::new(),
            signing_key: None,
            receipt_keys: ReceiptKeys::new(),
            limits: Limits::default(),
            worker: InProcessWorker::Runs,
            metrics: Metrics::default(),
            cookies: Cookies::Plain,
        }
    }

    /// Runs an agent. It must use the server's store.
    #[must_use]
    pub fn agent(mut self, agent: ServedAgent) -> Self {
        self.agents.push(agent);
        self
    }

    /// Lets somebody in. Without any token there is one local admin, and only this machine is served.
    #[must_use]
    pub fn token(mut self, token: Token) -> Self {
        self.tokens.push(token);
        self
    }

    /// Signs cursors, leases and sessions of the console: the same for all servers of one store. Without one, what this
    /// process hands out no other understands.
    #[must_use]
    pub fn signing_key(mut self, key: &[u8; 32]) -> Self {
        self.signing_key = Some(*key);
        self
    }

    /// The public keys of receipts, for workers elsewhere.
    #[must_use]
    pub fn receipt_keys(mut self, keys: ReceiptKeys) -> Self {
        self.receipt_keys = keys;
        self
    }

    /// What it takes at most.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Leaves tasks to workers elsewhere.
    #[must_use]
    pub fn without_worker(mut self) -> Self {
        self.worker = InProcessWorker::Absent;
        self
    }

    /// Counts here, together with a store that [`Metrics::measure`] made.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Lets browsers send the cookie of the console over HTTPS only.
    #[must_use]
    pub fn secure_cookies(mut self) -> Self {
        self.cookies = Cookies::SecureOnly;
        self
    }

    /// The server.
    ///
    /// # Errors
    /// When agents or tokens are missing something or get in each other's way.
    pub fn build(self) -> Result<Server, BuildError> {
        check_tokens(&self.tokens)?;
        let (deltas, stopping) = (DeltaHub::new(), CancellationToken::new());
        let mut by_name = BTreeMap::new();
        for served in self.agents {
            let name: Arc<str> =
                served.agent.name().filter(|name| !name.is_empty()).ok_or(BuildError::UnnamedAgent)?.into();
            let agent = served.agent.with_instrument(self.metrics.sink(&name)).with_deltas(deltas.clone());
            let agent = agent.with_span_parent(span_parent()).with_stopping(stopping.clone());
            let served = ServedAgent { agent, ..served };
            if by_name.insert(Arc::clone(&name), served).is_some() {
                return Err(BuildError::DuplicateAgent(name.to_string()));
            }
        }
        if by_name.is_empty() {
            return Err(BuildError::NoAgent);
        }
        let key = self.signing_key.map_or_else(random_key, Ok)?;
        let app = App {
            store: self.store,
            agents: by_name,
            tokens: Tokens::new(self.tokens),
            sealer: Sealer::new(&key),
            receipt_keys: self.receipt_keys,
            rates: Rates::new(&self.limits),
            streams: Arc::new(Streams::new(&self.limits)),
            driving: Driving::new(self.limits.runs_max),
            limits: self.limits,
            deltas,
            metrics: self.metrics,
            cookies: self.cookies,
            verifying: tokio::sync::Mutex::default(),
            counted: tokio::sync::Mutex::default(),
            checked: tokio::sync::Mutex::default(),
            abandoned: AtomicBool::new(false),
            worker_ended: AtomicBool::new(false),
            logged_out: tokio::sync::watch::Sender::default(),
            noted: Noted::default(),
            stopping,
        };
        Ok(Server::new(Arc::new(app), self.worker))
    }
}

fn check_tokens(tokens: &[Token]) -> Result<(), BuildError> {
    let (mut names, mut hashes) = (BTreeSet::new(), BTreeSet::new());
    for token in tokens {
        let name = token.name.to_string();
        if name.trim().is_empty() || token.tenant.trim().is_empty() {
            return Err(BuildError::BlankToken);
        }
        if token.weak {
            return Err(BuildError::WeakSecret(name));
        }
        if !names.insert(&token.name) {
            return Err(BuildError::DuplicateToken(name));
        }
        if !hashes.insert(token.hash) {
            return Err(BuildError::SharedSecret(name));
        }
    }
    Ok(())
}

fn random_key() -> Result<[u8; 32], BuildError> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| BuildError::NoRandomness)?;
    Ok(key)
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("agents", &self.agents)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}
