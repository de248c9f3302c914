//! Responses that are kept for those who send a request again.

use std::fmt;
use std::sync::Arc;

use holdpoint_core::Digest;

/// How long a response is kept.
pub const RESPONSE_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;
/// The largest response that is kept.
pub const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Names a request: who sent it, where to, and the key that they gave it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResponseKey {
    /// Who sent it. Keys of different senders have nothing to do with each other.
    pub sender: Arc<str>,
    /// Where to.
    pub route: Arc<str>,
    /// What they called it.
    pub key: Arc<str>,
}

impl ResponseKey {
    /// One text for all three.
    pub fn to_text(&self) -> String {
        let Self { sender, route, key } = self;
        // Lengths first, so that no two keys have the same text.
        format!("{}:{sender}{}:{route}{key}", sender.len(), route.len())
    }
}

/// What is known of a request that somebody is about to do.
#[derive(Clone, PartialEq, Eq)]
pub enum Reserved {
    /// Nobody did it: it is yours to do.
    New,
    /// Somebody began it and did not say what came of it in time: it is yours to do, unless it has taken effect.
    Again,
    /// Somebody is doing it.
    InProgress,
    /// It was done, and this was the response.
    Kept(Arc<[u8]>),
    /// The key was used for something else.
    Mismatch,
}

/// Shows the size of a response only.
impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reserved::New => f.write_str("New"),
            Reserved::Again => f.write_str("Again"),
            Reserved::InProgress => f.write_str("InProgress"),
            Reserved::Kept(response) => write!(f, "Kept({} bytes)", response.len()),
            Reserved::Mismatch => f.write_str("Mismatch"),
        }
    }
}

/// A request that somebody is about to do: its name, and a digest of what it asks for.
#[derive(Clone, Debug)]
pub struct Reservation {
    /// Its name.
    pub key: ResponseKey,
    /// Tells it from another request of the same name.
    pub digest: Digest,
    /// How long the process that does the request has for it. Then whoever sends it again may do it.
    pub reserved_ms: u64,
}
