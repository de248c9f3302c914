//! Why a model gave no reply.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

/// Why a model gave no reply. The text is safe to show: nothing of the prompt and nothing that the provider said is in
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure it is, to branch on.
    pub kind: ModelErrorKind,
    /// What happened, for people.
    pub message: Arc<str>,
    /// The HTTP status, if the provider answered with one.
    pub status: Option<u16>,
    /// When the provider wants to be asked again, if it said so.
    pub retry_after: Option<Duration>,
}

/// The ways in which a provider fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// Too many requests or tokens; later it may work.
    RateLimited,
    /// The account has no money or quota left; waiting does not help.
    QuotaExceeded,
    /// The provider is overloaded or broken: 5xx.
    Overloaded,
    /// No connection, or it was lost before the reply began.
    Connection,
    /// The reply ended before its end.
    Cut,
    /// What came is not what the protocol says.
    Garbage,
    /// An answer with nothing in it, not even an end.
    Empty,
    /// The provider will not answer this.
    Refused,
    /// The key is missing, wrong, or may not do this.
    Auth,
    /// The provider does not accept the request.
    InvalidRequest,
    /// The conversation is longer than the model's window.
    ContextTooLong,
    /// The provider took too long.
    TooSlow,
    /// The reply is larger than any limit of ours.
    TooLarge,
    /// Anything else, such as a model of your own that failed.
    Other,
}

impl ModelErrorKind {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelErrorKind::RateLimited => "rate_limited",
            ModelErrorKind::QuotaExceeded => "quota_exceeded",
            ModelErrorKind::Overloaded => "overloaded",
            ModelErrorKind::Connection => "connection",
            ModelErrorKind::Cut => "cut",
            ModelErrorKind::Garbage => "garbage",
            ModelErrorKind::Empty => "empty",
            ModelErrorKind::Refused => "refused",
            ModelErrorKind::Auth => "auth",
            ModelErrorKind::InvalidRequest => "invalid_request",
            ModelErrorKind::ContextTooLong => "context_too_long",
            ModelErrorKind::TooSlow => "too_slow",
            ModelErrorKind::TooLarge => "too_large",
            ModelErrorKind::Other => "other",
        }
    }

    /// Whether the same request may work a little later.
    pub fn is_transient(self) -> bool {
        match self {
            ModelErrorKind::RateLimited
            | ModelErrorKind::Overloaded
            | ModelErrorKind::Connection
            | ModelErrorKind::Cut
            | ModelErrorKind::Empty => true,
            ModelErrorKind::QuotaExceeded
            | ModelErrorKind::Garbage
            | ModelErrorKind::Refused
            | ModelErrorKind::Auth
            | ModelErrorKind::InvalidRequest
            | ModelErrorKind::ContextTooLong
            // Whoever waited that long once should be told, not made to wait again.
            | ModelErrorKind::TooSlow
            | ModelErrorKind::TooLarge
            | ModelErrorKind::Other => false,
        }
    }
}

impl ModelError {
    /// An error with a text that is safe to show.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self::of(ModelErrorKind::Other, message)
    }

    /// An error of a kind, with a text that is safe to show.
    pub fn of(kind: ModelErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None }
    }

    /// The same error with when to ask again.
    #[must_use]
    pub fn retry_after(mut self, delay: Option<Duration>) -> Self {
        self.retry_after = delay;
        self
    }

    /// What an HTTP status means. `code` is the provider's own word for it; only words that are known here are heeded,
    /// since a provider may repeat the prompt in any text.
    pub fn from_status(status: u16, code: Option<&str>) -> Self {
        let (kind, what) = match (status, code) {
            (_, Some("insufficient_quota" | "billing_not_active" | "credit_balance_too_low")) => {
                (ModelErrorKind::QuotaExceeded, "no quota is left at the provider")
            }
            (_, Some("context_length_exceeded" | "exceed_context_size_error")) => {
                (ModelErrorKind::ContextTooLong, "the conversation is longer than the model's window")
            }
            (_, Some("content_filter" | "content_policy_violation")) => {
                (ModelErrorKind::Refused, "the provider refuses to answer this")
            }
            (401 | 403, _) | (_, Some("invalid_api_key")) => {
                (ModelErrorKind::Auth, "the provider does not accept the API key")
            }
            (402, _) => (ModelErrorKind::QuotaExceeded, "no quota is left at the provider"),
            (404, _) | (_, Some("model_not_found")) => {
                (ModelErrorKind::InvalidRequest, "the provider does not know this model or path")
            }
            (413, _) => (ModelErrorKind::InvalidRequest, "the request is too large for the provider"),
            (429, _) | (_, Some("rate_limit_exceeded" | "rate_limit_error")) => {
                (ModelErrorKind::RateLimited, "the provider limits the rate")
            }
            (408 | 409, _) => (ModelErrorKind::Overloaded, "the provider could not answer now"),
            (500..=599, _) | (_, Some("server_error" | "overloaded_error" | "api_error")) => {
                (ModelErrorKind::Overloaded, "the provider is overloaded or broken")
            }
            (300..=399, _) => {
                (ModelErrorKind::InvalidRequest, "the provider redirects elsewhere, which is not followed")
            }
            (400..=499, _) => (ModelErrorKind::InvalidRequest, "the provider does not accept the request"),
            _ => (ModelErrorKind::Garbage, "the provider answered with an error that says nothing"),
        };
        let text = if (200..300).contains(&status) { what.to_owned() } else { format!("{what} (HTTP {status})") };
        Self { status: Some(status), ..Self::of(kind, text) }
    }
}

/// Why a model cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelChoiceError {
    /// No `:` in it, or nothing before or after.
    #[error("`{text}` names no model\nhint: write `provider:model`, such as `openai:gpt-5-mini`")]
    NotAChoice {
        /// What was given.
        text: String,
    },
    /// Nobody knows this provider.
    #[error("there is no provider `{provider}`\nhint: the known ones are {}", known.join(", "))]
    UnknownProvider {
        /// What was given.
        provider: String,
        /// The known ones.
        known: Vec<&'static str>,
    },
    /// The key is not there.
    #[error("the provider `{provider}` needs an API key\nhint: set `{variable}`, or name another variable or a file")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The variable that was looked for.
        variable: String,
    },
    /// The file with the key cannot be used.
    #[error("the key file `{}` cannot be used: {reason}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The key has characters that no header can have.
    #[error("the API key has characters that cannot be sent")]
    UnusableKey,
    /// The address is not one.
    #[error("`{url}` is not a base URL\nhint: it begins with `http://` or `https://`")]
    BaseUrl {
        /// What was given, without what may be a password.
        url: String,
    },
    /// No client could be made.
    #[error("no HTTP client could be made: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
}
