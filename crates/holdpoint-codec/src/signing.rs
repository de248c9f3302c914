//! Signatures of payloads: HMAC-SHA256 over the canonical form of all fields but the signature itself.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::canonical::{canonical_without, write_string};
use crate::wire::Text;
use crate::{CodecError, Document, SignatureProblem, hex};

/// A secret with a name, so that keys can be changed while payloads signed with the old one are still around.
#[derive(Clone)]
pub struct SigningKey {
    id: Arc<str>,
    mac: Hmac<Sha256>,
}

impl SigningKey {
    /// A key. The id is public and goes into every payload; the secret should have 32 random bytes.
    pub fn new(id: impl Into<Arc<str>>, secret: impl AsRef<[u8]>) -> Self {
        let mac = Hmac::new_from_slice(secret.as_ref()).expect("HMAC takes secrets of any length");
        Self { id: id.into(), mac }
    }

    /// Its public name.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn mac(&self, domain: &str, parts: &[&str]) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(domain.as_bytes());
        parts.iter().for_each(|part| mac.update(part.as_bytes()));
        mac
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.id)
    }
}

/// What to do about a payload that nobody signed, or whose signature cannot be checked for want of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsigned {
    /// It is invalid.
    #[default]
    Refuse,
    /// It is read, and said to be unsigned.
    Accept,
}

/// Whether a payload is known to be as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Its signature was checked.
    Signed,
    /// Anybody could have written it.
    Unsigned,
}

/// A function that makes a payload of the known version of one of another version.
pub type Migrate = dyn Fn(serde_json::Value) -> Option<serde_json::Value> + Send + Sync;

/// How payloads that are handed in are checked.
#[derive(Clone, Copy)]
pub struct LoadOptions<'a> {
    /// The keys by which a signature may have been made.
    pub keys: &'a [SigningKey],
    /// Larger payloads are refused before they are parsed.
    pub max_bytes: usize,
    /// Makes a payload of the known version of one of another version; `None` when it cannot.
    pub migrate: Option<&'a Migrate>,
    /// What to do without a signature that can be checked.
    pub unsigned: Unsigned,
}

impl Default for LoadOptions<'_> {
    fn default() -> Self {
        Self {
            keys: &[],
            max_bytes: holdpoint_core::Limits::PAYLOAD_BYTES_MAX,
            migrate: None,
            unsigned: Unsigned::default(),
        }
    }
}

impl fmt::Debug for LoadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("LoadOptions");
        shown.field("keys", &self.keys).field("max_bytes", &self.max_bytes);
        shown.field("migrate", &self.migrate.is_some()).field("unsigned", &self.unsigned).finish()
    }
}

/// A signature in a payload.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignatureWire {
    hmac: Text,
    key: Text,
}

/// Text that keeps the signatures of different documents apart.
fn domain(document: Document) -> &'static str {
    match document {
        Document::Tasks => "holdpoint.tasks\0",
        _ => "holdpoint.continuation\0",
    }
}

/// The member that holds a signature, as it ends a payload.
fn ending(hmac: &str, key: &str) -> String {
    let mut ending = String::from(",\"signature\":{\"hmac\":");
    write_string(&mut ending, hmac);
    ending.push_str(",\"key\":");
    write_string(&mut ending, key);
    ending.push_str("}}");
    ending
}

/// Signs a canonical object. The signature comes last, so that what was signed stands before it as it is.
pub(crate) fn sign(mut canonical: String, document: Document, key: &SigningKey) -> String {
    let hmac: [u8; 32] = key.mac(domain(document), &[&canonical]).finalize().into_bytes().into();
    canonical.pop();
    canonical.push_str(&ending(&hex(&hmac), &key.id));
    canonical
}

/// Checks the signature of a payload that has the right shape.
pub(crate) fn verify(
    text: &str,
    signature: Option<&SignatureWire>,
    document: Document,
    options: &LoadOptions<'_>,
) -> Result<Trust, CodecError> {
    let (signature, keys) = match (signature, options.keys, options.unsigned) {
        (Some(signature), [_, ..], _) => (signature, options.keys),
        (_, _, Unsigned::Accept) => return Ok(Trust::Unsigned),
        (Some(_), [], Unsigned::Refuse) => {
            return Err(CodecError::Signature { document, problem: SignatureProblem::UnknownKey });
        }
        (None, _, Unsigned::Refuse) => {
            return Err(CodecError::Signature { document, problem: SignatureProblem::Missing });
        }
    };
    let mut named = keys.iter().filter(|key| *key.id == *signature.key.0).peekable();
    if named.peek().is_none() {
        return Err(CodecError::Signature { document, problem: SignatureProblem::UnknownKey });
    }
    let mismatch = CodecError::Signature { document, problem: SignatureProblem::Mismatch };
    let Some(hmac) = holdpoint_core::Digest::parse(signature.hmac.as_str()) else { return Err(mismatch) };
    // A payload that nobody touched is verified as it stands; one that was only written anew is put in order first.
    let untouched = text.trim_end().strip_suffix(&ending(signature.hmac.as_str(), signature.key.as_str()));
    let holds =
        |parts: &[&str]| named.clone().any(|key| key.mac(domain(document), parts).verify_slice(&hmac.0).is_ok());
    if untouched.is_some_and(|signed| holds(&[signed, "}"])) {
        return Ok(Trust::Signed);
    }
    match canonical_without(text, Some("signature")) {
        Ok(canonical) if holds(&[&canonical]) => Ok(Trust::Signed),
        Ok(_) | Err(_) => Err(mismatch),
    }
}
