//! Sessions of the console: a signed cookie, and a token that only a page of this server can read. One that was ended is
//! noted in the store, for all servers, as long as its cookie would hold.

use std::sync::Arc;

use holdpoint_core::{Digest, Timestamp};
use holdpoint_store::{RESPONSE_KEPT_MS, Reservation, ResponseKey, Store, StoreError};
use http::{HeaderMap, header};
use subtle::ConstantTimeEq;

use super::token::{Token, Tokens};
use crate::limits::CONSOLE_SESSION;
use crate::seal::{Purpose, Sealer};

/// The name of the cookie.
pub(crate) const SESSION_COOKIE: &str = "holdpoint_session";
/// The header that proves that a page of this server sent a request.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";

/// What is kept of a session that was ended.
const ENDED: &[u8] = b"ended";

// The store must not forget that a session was ended while its cookie holds.
const _: () = assert!(CONSOLE_SESSION.as_millis() <= RESPONSE_KEPT_MS as u128);

/// Somebody who is logged in.
#[derive(Clone, Debug)]
pub(crate) struct ConsoleSession {
    pub(crate) token: Arc<Token>,
    pub(crate) expires_at: Timestamp,
    /// Tells it from other sessions of the same token.
    pub(crate) id: Arc<str>,
}

/// What the cookie holds: the token's name, when the session ends in microseconds, a part of the hash of the token's secret
/// (a new secret ends all sessions), and which session it is.
type Sealed = (String, i64, [u8; 8], String);

impl ConsoleSession {
    pub(crate) fn begin(token: &Arc<Token>, now: Timestamp) -> Self {
        let lasts_ms = u64::try_from(CONSOLE_SESSION.as_millis()).unwrap_or(u64::MAX);
        let id = uuid::Uuid::new_v4().simple().to_string().into();
        Self { token: Arc::clone(token), expires_at: now.plus_ms(lasts_ms), id }
    }

    /// The text of the cookie.
    pub(crate) fn seal(&self, sealer: &Sealer) -> String {
        let Self { token, expires_at, id } = self;
        sealer.seal(Purpose::SESSION, &(&*token.name, expires_at.0, fingerprint(token), &**id))
    }

    /// The session of a cookie, if it holds. Whether somebody ended it only the store knows: [`Self::is_over`].
    pub(crate) fn open(sealer: &Sealer, tokens: &Tokens, cookie: &str, now: Timestamp) -> Option<Self> {
        let (name, ends_at, print, id): Sealed = sealer.open(Purpose::SESSION, cookie)?;
        let token = tokens.named(&name)?;
        let holds = ends_at > now.0 && print == fingerprint(token);
        holds.then(|| Self { token: Arc::clone(token), expires_at: Timestamp(ends_at), id: id.into() })
    }

    /// Whether somebody ended it, on any server, or its time is over.
    pub(crate) async fn is_over(&self, store: &Store) -> Result<bool, StoreError> {
        Ok(self.expires_at <= store.runs.now() || store.state.kept(&self.ended_key()).await?.is_some())
    }

    /// Ends it, for all servers.
    pub(crate) async fn end(&self, store: &Store) -> Result<(), StoreError> {
        let key = self.ended_key();
        store.state.reserve(&Reservation { key: key.clone(), digest: Digest([0; 32]), reserved_ms: 60_000 }).await?;
        store.state.keep(&key, ENDED.to_vec()).await
    }

    /// Where it is noted that it was ended. No token's name begins so: names of senders begin with a number.
    fn ended_key(&self) -> ResponseKey {
        ResponseKey { sender: "console".into(), route: "logout".into(), key: Arc::clone(&self.id) }
    }

    /// What the page must send with every request that changes something.
    pub(crate) fn csrf_token(sealer: &Sealer, cookie: &str) -> String {
        sealer.tag_text(Purpose::CSRF, cookie.as_bytes())
    }

    /// Whether a page of this server sent it.
    pub(crate) fn holds(&self, sealer: &Sealer, cookie: &str, sent: &str) -> bool {
        Self::csrf_token(sealer, cookie).as_bytes().ct_eq(sent.as_bytes()).into()
    }
}

fn fingerprint(token: &Token) -> [u8; 8] {
    std::array::from_fn(|at| token.hash[at])
}

/// The value of a cookie.
pub(crate) fn cookie_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|line| line.split(';')).find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}
