//! The server itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The process runs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// That it answers is all that it says.
    pub status: HealthStatus,
    /// The version of the program.
    pub version: String,
}

/// A process that answers runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// It runs.
    Ok,
}

/// Whether a server can do its work.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadyStatus {
    /// All checks passed.
    Ready,
    /// One check failed.
    NotReady,
}

/// One thing that the server needs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReadyCheck {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    pub ok: bool,
    /// What is missing, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Whether the server can do its work.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Whether all checks passed.
    pub status: ReadyStatus,
    /// What was looked at.
    pub checks: Vec<ReadyCheck>,
}

/// A public key by which receipts are verified.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// Its name, as receipts have it.
    pub id: String,
    /// The Ed25519 key.
    pub public_key: String,
}

/// The public keys of receipts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyList {
    /// The keys.
    pub keys: Vec<KeyView>,
}
