//! Keys of receipts: the private one that signs, and the public ones that verify. Several of these are a rotation.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::{Text, to_value};

/// The longest id of a key.
const KEY_ID_BYTES_MAX: usize = 64;
/// The most keys of a set: a rotation needs two.
const KEYS_MAX: usize = 256;
/// The largest text of a set of keys that is looked at.
const KEYS_BYTES_MAX: usize = 64 * 1024;

/// Why a key or a set of keys cannot be used. Says nothing of the keys themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptKeyError {
    /// Not an id.
    #[error("the id of a key has 1 to {KEY_ID_BYTES_MAX} letters, digits, `-` and `_`")]
    InvalidId,
    /// Not a public key, or one for which anybody can sign.
    #[error("this is not a public key of Ed25519 in base64url")]
    InvalidPublicKey,
    /// Not a set of keys.
    #[error("this is not a set of keys; hint: `{{\"keys\": [{{\"id\": …, \"public_key\": …}}]}}`")]
    InvalidSet,
    /// Two keys of a set have one id.
    #[error("two keys have the same id")]
    RepeatedId,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// The public name of a key. It stands in every receipt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// Takes letters, digits, `-` and `_`.
    ///
    /// # Errors
    /// When there is anything else in it, nothing at all, or too much.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, ReceiptKeyError> {
        let id: Arc<str> = id.into();
        let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let fits = plain && !id.is_empty() && id.len() <= KEY_ID_BYTES_MAX;
        if fits { Ok(Self(id)) } else { Err(ReceiptKeyError::InvalidId) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The private key that signs receipts. It stays with those who drive runs; workers get the public one.
#[derive(Clone)]
pub struct ReceiptKey {
    id: KeyId,
    key: Arc<SigningKey>,
}

impl ReceiptKey {
    /// A key from its seed, which must be 32 random bytes that nobody else has.
    ///
    /// # Errors
    /// When the id is none.
    pub fn new(id: &str, seed: &[u8; 32]) -> Result<Self, ReceiptKeyError> {
        Ok(Self { id: KeyId::new(id)?, key: Arc::new(SigningKey::from_bytes(seed)) })
    }

    /// A new key.
    ///
    /// # Errors
    /// When the id is none, or the system gives no random numbers.
    pub fn generate(id: &str) -> Result<Self, ReceiptKeyError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|_| ReceiptKeyError::NoRandomness)?;
        Self::new(id, &seed)
    }

    /// Its public name.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The one door to the secret, for those who keep it. It must never reach a log, a trace, a metric or an error.
    pub fn expose_seed(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// What verifies its receipts.
    pub fn public(&self) -> PublicReceiptKey {
        PublicReceiptKey { id: self.id.clone(), key: self.key.verifying_key() }
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}

/// Shows the id only.
impl fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiptKey({})", self.id)
    }
}

/// Verifies the receipts of one key. No secret.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicReceiptKey {
    id: KeyId,
    key: VerifyingKey,
}

impl PublicReceiptKey {
    /// A key from its bytes in base64url, without padding.
    ///
    /// # Errors
    /// When the id is none, or the text is no key.
    pub fn new(id: &str, public_key: &str) -> Result<Self, ReceiptKeyError> {
        let invalid = ReceiptKeyError::InvalidPublicKey;
        let bytes = URL_SAFE_NO_PAD.decode(public_key).map_err(|_| invalid)?;
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| invalid)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| invalid)?;
        // A weak key verifies what its owner never signed.
        if key.is_weak() { Err(invalid) } else { Ok(Self { id: KeyId::new(id)?, key }) }
    }

    /// Its public name.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Its bytes in base64url, without padding.
    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.key.as_bytes())
    }

    pub(super) fn holds(&self, message: &[u8], signature: &[u8]) -> bool {
        // Strict: of one message a key has one signature only.
        Signature::from_slice(signature).is_ok_and(|signature| self.key.verify_strict(message, &signature).is_ok())
    }
}

impl fmt::Debug for PublicReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicReceiptKey({} {})", self.id, self.to_text())
    }
}

/// The keys whose receipts are believed. To rotate, list the new key beside the old one before anybody signs with it,
/// and take the old one out when the last call that it signed for is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptKeys(BTreeMap<KeyId, PublicReceiptKey>);

#[derive(Serialize, Deserialize)]
struct KeysWire {
    keys: Vec<KeyWire>,
}

#[derive(Serialize, Deserialize)]
struct KeyWire {
    id: Text,
    public_key: Text,
}

impl ReceiptKeys {
    /// None: no receipt is believed.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more key. It takes the place of one with the same id.
    #[must_use]
    pub fn with(mut self, key: PublicReceiptKey) -> Self {
        self.0.insert(key.id.clone(), key);
        self
    }

    /// Without this key: its receipts are not believed any more.
    #[must_use]
    pub fn without(mut self, id: &str) -> Self {
        self.0.retain(|known, _| known.as_str() != id);
        self
    }

    /// The key of this id.
    pub fn key(&self, id: &str) -> Option<&PublicReceiptKey> {
        self.0.get(&KeyId::new(id).ok()?)
    }

    /// All of them, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &PublicReceiptKey> {
        self.0.values()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The stable JSON form: `{"keys": [{"id": …, "public_key": …}]}`.
    pub fn to_json(&self) -> Value {
        let wire =
            |key: &PublicReceiptKey| KeyWire { id: Text::new(key.id.as_str()), public_key: Text::new(&key.to_text()) };
        to_value(&KeysWire { keys: self.iter().map(wire).collect() })
    }

    /// Reads the stable JSON form. Fields that it does not know are for later versions.
    ///
    /// # Errors
    /// When it is too large, is no set of keys, or names an id twice.
    pub fn from_json(text: &str) -> Result<Self, ReceiptKeyError> {
        if text.len() > KEYS_BYTES_MAX {
            return Err(ReceiptKeyError::InvalidSet);
        }
        let wire: KeysWire = serde_json::from_str(text).map_err(|_| ReceiptKeyError::InvalidSet)?;
        if wire.keys.len() > KEYS_MAX {
            return Err(ReceiptKeyError::InvalidSet);
        }
        let mut keys = BTreeMap::new();
        for KeyWire { id, public_key } in wire.keys {
            let key = PublicReceiptKey::new(id.as_str(), public_key.as_str())?;
            if keys.insert(key.id.clone(), key).is_some() {
                return Err(ReceiptKeyError::RepeatedId);
            }
        }
        Ok(Self(keys))
    }
}

impl From<PublicReceiptKey> for ReceiptKeys {
    fn from(key: PublicReceiptKey) -> Self {
        Self::new().with(key)
    }
}
