//! Sessions of the console.

use holdpoint_codec::view::Moment;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

holdpoint_core::named! {
    /// What a token may do within its tenant.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TokenRole {
        /// Start, cancel and retry runs, deliver results, and read the runs that it started.
        Submit = "submit",
        /// Read everything.
        Read = "read",
        /// Answer questions and see those that wait; list grants and take them back.
        Approve = "approve",
        /// Take tasks and bring their results.
        Work = "work",
        /// Everything.
        Admin = "admin",
    }
}

/// Exchanges a token for a session of the browser.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBody {
    /// The token's secret.
    pub token: String,
}

/// The caller, and what a session of the browser must send with every request that changes something.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct WhoAnswer {
    /// The token's name; `local` where there are no tokens.
    pub name: String,
    /// Its tenant.
    pub tenant: Option<String>,
    /// What it may do.
    pub roles: Vec<TokenRole>,
    /// The roles that rules may ask for.
    pub approves_as: Vec<String>,
    /// To be sent as the header `x-csrf-token`, by a session of the browser.
    pub csrf_token: Option<String>,
    /// Until when that session holds.
    pub expires_at: Option<Moment>,
}
