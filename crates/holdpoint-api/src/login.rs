//! Sessions of the console.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Exchanges a token for a session of the browser.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    /// The token's secret.
    pub token: String,
}

/// Who is logged in, and what the page must send with every request that changes something.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct LoginAnswer {
    /// The token's name.
    pub name: String,
    /// Its tenant.
    pub tenant: Option<String>,
    /// Its roles.
    pub roles: Vec<String>,
    /// The roles that rules may ask for.
    pub approves_as: Vec<String>,
    /// To be sent as the header `x-csrf-token`.
    pub csrf_token: String,
    /// Until when the session holds.
    pub expires_at: String,
}

/// Who asks.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct WhoAnswer {
    /// The token's name; `local` where there are no tokens.
    pub name: String,
    /// Its tenant.
    pub tenant: Option<String>,
    /// Its roles.
    pub roles: Vec<String>,
    /// The roles that rules may ask for.
    pub approves_as: Vec<String>,
    /// To be sent as the header `x-csrf-token`, if a session of the browser asks.
    pub csrf_token: Option<String>,
    /// Until when that session holds.
    pub expires_at: Option<String>,
}
