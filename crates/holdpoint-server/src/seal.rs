//! What the server hands out and takes back: cursors, leases and sessions, each signed so that nobody can make one, and
//! bound to its purpose so that none can be used for another.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

/// The longest text that is looked at.
const SEALED_BYTES_MAX: usize = 8 * 1024;

/// What a sealed text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose(&'static [u8]);

impl Purpose {
    pub(crate) const CURSOR: Self = Self(b"holdpoint.cursor\0");
    pub(crate) const LEASE: Self = Self(b"holdpoint.lease\0");
    pub(crate) const SESSION: Self = Self(b"holdpoint.session\0");
    pub(crate) const CSRF: Self = Self(b"holdpoint.csrf\0");
    pub(crate) const RUN_ID: Self = Self(b"holdpoint.run\0");
    pub(crate) const REQUEST: Self = Self(b"holdpoint.request\0");
}

/// What the key of everything sealed is derived by.
const DERIVED: &[u8] = b"holdpoint.sealing-key.v1";

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes secrets of any length")
}

/// Signs with a key that all servers of one store share.
#[derive(Clone)]
pub(crate) struct Sealer {
    mac: Hmac<Sha256>,
}

impl Sealer {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        // The key may sign other things elsewhere, receipts above all: what is sealed here has one of its own.
        let mut derived = keyed(key);
        derived.update(DERIVED);
        Self { mac: keyed(&derived.finalize().into_bytes()) }
    }

    fn mac(&self, purpose: Purpose, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(purpose.0);
        mac.update(payload);
        mac
    }

    /// The signature alone.
    pub(crate) fn tag(&self, purpose: Purpose, payload: &[u8]) -> [u8; 32] {
        self.mac(purpose, payload).finalize().into_bytes().into()
    }

    /// A text that holds a value and its signature.
    pub(crate) fn seal(&self, purpose: Purpose, value: &impl Serialize) -> String {
        let payload = serde_json::to_vec(value).unwrap_or_default();
        let tag = self.tag(purpose, &payload);
        format!("{}.{}", URL_SAFE_NO_PAD.encode(payload), URL_SAFE_NO_PAD.encode(tag))
    }

    /// The value of a text that this key sealed for this purpose.
    pub(crate) fn open<T: DeserializeOwned>(&self, purpose: Purpose, sealed: &str) -> Option<T> {
        if sealed.len() > SEALED_BYTES_MAX {
            return None;
        }
        let (payload, tag) = sealed.split_once('.')?;
        let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        self.mac(purpose, &payload).verify_slice(&tag).ok()?;
        serde_json::from_slice(&payload).ok()
    }

    /// The signature as text.
    pub(crate) fn tag_text(&self, purpose: Purpose, payload: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.tag(purpose, payload))
    }
}

#[cfg(test)]
mod tests;
