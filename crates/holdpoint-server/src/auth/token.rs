//! Bearer tokens: kept as hashes, compared in constant time.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use holdpoint_api::TokenRole;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::limits::SECRET_BYTES_MIN;

/// Somebody who may use the server. The secret itself is forgotten at once.
#[derive(Clone)]
pub struct Token {
    pub(crate) name: Arc<str>,
    pub(crate) tenant: Arc<str>,
    pub(crate) roles: BTreeSet<TokenRole>,
    pub(crate) approves_as: BTreeSet<Arc<str>>,
    pub(crate) hash: [u8; 32],
    pub(crate) weak: bool,
}

impl Token {
    /// A token of a tenant. Its name is who acts, in the audit log and for quorums. The secret must be random: at least 16
    /// characters, better 32.
    pub fn new(name: impl Into<Arc<str>>, tenant: impl Into<Arc<str>>, secret: &SecretString) -> Self {
        let secret = secret.expose_secret();
        Self {
            name: name.into(),
            tenant: tenant.into(),
            roles: BTreeSet::new(),
            approves_as: BTreeSet::new(),
            hash: hash_of(secret),
            weak: secret.len() < SECRET_BYTES_MIN,
        }
    }

    /// What it may do.
    #[must_use]
    pub fn roles(mut self, roles: impl IntoIterator<Item = TokenRole>) -> Self {
        self.roles.extend(roles);
        self
    }

    /// The roles that rules may ask for.
    #[must_use]
    pub fn approves_as<R: Into<Arc<str>>>(mut self, roles: impl IntoIterator<Item = R>) -> Self {
        self.approves_as.extend(roles.into_iter().map(Into::into));
        self
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, tenant, roles, approves_as, .. } = self;
        let mut shown = f.debug_struct("Token");
        shown.field("name", name).field("tenant", tenant).field("roles", roles).field("approves_as", approves_as);
        shown.finish_non_exhaustive()
    }
}

fn hash_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// All tokens. None at all: one local admin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    all: Vec<Arc<Token>>,
}

impl Tokens {
    pub(crate) fn new(tokens: Vec<Token>) -> Self {
        Self { all: tokens.into_iter().map(Arc::new).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The token with this secret. Looks at every token whatever it finds, so that time tells nothing.
    pub(crate) fn with_secret(&self, secret: &str) -> Option<&Arc<Token>> {
        let hash = hash_of(secret);
        let mut found = None;
        for token in &self.all {
            if bool::from(token.hash.ct_eq(&hash)) {
                found = Some(token);
            }
        }
        found
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Token>> {
        self.all.iter().find(|token| *token.name == *name)
    }
}
