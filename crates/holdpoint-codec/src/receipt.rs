//! Receipts: what proves to a worker on another machine that exactly this call may run.
//!
//! A receipt is signed with Ed25519, so that whoever verifies holds only public keys and can make none. The signature
//! covers the token up to its last dot as it stands; nothing is written anew to be checked.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdpoint_core::{Arguments, CallId, CallIndex, CallKey, CallState, Digest, Run, Timestamp, ToolName};

use crate::arguments::digest_of;
use crate::wire::{Stored, stored};

mod keys;
mod problem;
#[cfg(test)]
mod tests;

pub use keys::{KeyId, PublicReceiptKey, ReceiptKey, ReceiptKeyError, ReceiptKeys};
pub use problem::ReceiptProblem;

/// The longest token that is looked at.
const RECEIPT_BYTES_MAX: usize = 64 * 1024;

/// How a token of the known version begins.
const VERSION: &str = "v1";
/// Keeps what is signed here apart from everything else that a key could sign.
const DOMAIN: &str = "holdpoint.receipt\0";

stored! {
    /// Says that one call may run with exactly these arguments, and who said so.
    #[derive(Clone, PartialEq, Eq)]
    pub struct Receipt {
        /// The people who approved it, by id; a person without a name is `None`. Empty when policy allowed it by itself.
        pub approved_by: Vec<Option<Arc<str>>>,
        /// The call: its run, turn and position.
        pub call: CallKey,
        /// Covers the tool and the arguments.
        pub digest: Digest,
        /// From this moment on it proves nothing.
        pub expires_at: Option<Timestamp>,
        /// When the call was handed out.
        pub granted_at: Timestamp,
        /// The id of the call that is shown.
        pub id: CallId,
        /// The version of the policy that decided, where policies have versions.
        pub policy_version: Option<Arc<str>>,
        /// The registered tool.
        pub tool: ToolName,
    }
}

impl Receipt {
    /// What may be said of a call that is handed out; nothing of any other call.
    #[doc(hidden)]
    pub fn of(run: &Run, index: CallIndex, at: Timestamp) -> Option<Self> {
        let call = run.call(index)?;
        let CallState::Deferred { deadline, .. } = call.state else { return None };
        let (facts, arguments) = (call.tool.as_ref()?, call.canonical()?);
        Some(Self {
            call: CallKey { run: run.id().clone(), turn: run.turn(), index },
            id: call.id.clone(),
            tool: facts.name.clone(),
            digest: arguments.digest(),
            policy_version: call.policy.clone(),
            approved_by: call.approvals.iter().map(|actor| actor.id.clone()).collect(),
            granted_at: at,
            expires_at: deadline,
        })
    }

    /// As a token, signed.
    pub fn sign(&self, key: &ReceiptKey) -> Arc<str> {
        // Writing to memory does not fail, and nothing in a receipt refuses to be written.
        let payload = serde_json::to_vec(self).unwrap_or_default();
        let body = format!("{VERSION}.{}.{}", key.id(), URL_SAFE_NO_PAD.encode(payload));
        let signature = key.sign(signed(&body).as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(signature)).into()
    }

    /// Whether it is for exactly what is about to run.
    fn covers(&self, call: &ReceiptClaim<'_>) -> Result<(), ReceiptProblem> {
        if self.expires_at.is_some_and(|at| at <= call.at) {
            return Err(ReceiptProblem::Expired);
        }
        // Whatever the task says of its digest, what counts is what would run.
        let digest = digest_of(call.tool.as_str(), call.arguments.expose());
        let checks = [
            (ReceiptProblem::OtherRun, self.call.run == call.key.run),
            (ReceiptProblem::OtherCall, self.call == *call.key && self.id == *call.id),
            (ReceiptProblem::OtherTool, self.tool == *call.tool),
            (ReceiptProblem::OtherArguments, self.digest == digest && call.arguments.digest() == digest),
        ];
        match checks.into_iter().find(|(_, holds)| !holds) {
            Some((problem, _)) => Err(problem),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt({} {})", self.call, self.tool)
    }
}

/// What a worker is about to run, and when.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptClaim<'a> {
    /// The call that it has a lease of.
    pub key: &'a CallKey,
    /// The id of the call that is shown.
    pub id: &'a CallId,
    /// The registered tool.
    pub tool: &'a ToolName,
    /// What it would run with.
    pub arguments: &'a Arguments,
    /// The time.
    pub at: Timestamp,
}

/// Makes receipts at one moment.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptMaker<'a> {
    /// Signs them.
    pub key: &'a ReceiptKey,
    /// When the calls are handed out.
    pub at: Timestamp,
}

impl ReceiptMaker<'_> {
    /// The token of a call that is handed out; nothing for any other call.
    pub fn token(&self, run: &Run, index: CallIndex) -> Option<Arc<str>> {
        Some(Receipt::of(run, index, self.at)?.sign(self.key))
    }
}

impl ReceiptKeys {
    /// Reads a token and checks who signed it, and nothing else.
    ///
    /// # Errors
    /// When it is no token, or one that no known key signed.
    pub fn open(&self, token: &str) -> Result<Receipt, ReceiptProblem> {
        if token.len() > RECEIPT_BYTES_MAX {
            return Err(ReceiptProblem::TooLarge);
        }
        let (body, signature) = token.rsplit_once('.').ok_or(ReceiptProblem::Malformed)?;
        let mut parts = body.split('.');
        let (version, id, payload) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(version), Some(id), Some(payload), None) => (version, id, payload),
            _ => return Err(ReceiptProblem::Malformed),
        };
        if version != VERSION {
            return Err(ReceiptProblem::UnsupportedVersion);
        }
        let key = self.key(id).ok_or(ReceiptProblem::UnknownKey)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| ReceiptProblem::Malformed)?;
        if !key.holds(signed(body).as_bytes(), &signature) {
            return Err(ReceiptProblem::BadSignature);
        }
        let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| ReceiptProblem::Malformed)?;
        serde_json::from_slice(&payload).map_err(|_| ReceiptProblem::Malformed)
    }

    /// Checks that a token says that exactly this call may run now.
    ///
    /// # Errors
    /// When there is no token, no known key signed it, it expired, or it is for something else.
    pub fn verify(&self, token: Option<&str>, call: &ReceiptClaim<'_>) -> Result<Receipt, ReceiptProblem> {
        let receipt = self.open(token.ok_or(ReceiptProblem::Missing)?)?;
        receipt.covers(call)?;
        Ok(receipt)
    }
}

fn signed(body: &str) -> String {
    format!("{DOMAIN}{body}")
}
