//! Every code that an answer may carry, and the HTTP status that goes with it. One table: a new code must choose.

use std::fmt;

use holdpoint_core::Code;

macro_rules! api_codes {
    ($($(#[$doc:meta])* $name:ident = ($text:literal, $status:literal, $title:literal),)*) => {
        /// What can be wrong with a request before a run hears of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ApiCode {
            $($(#[$doc])* $name,)*
        }

        impl ApiCode {
            /// Every code.
            pub const ALL: &'static [ApiCode] = &[$(ApiCode::$name,)*];

            /// Its stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ApiCode::$name => $text,)*
                }
            }

            /// The HTTP status.
            pub fn status(self) -> u16 {
                match self {
                    $(ApiCode::$name => $status,)*
                }
            }

            /// The same for every request: what is wrong in general.
            pub fn title(self) -> &'static str {
                match self {
                    $(ApiCode::$name => $title,)*
                }
            }
        }
    };
}

api_codes! {
    /// Not JSON, of another shape, too deep, or with a key twice.
    InvalidRequest = ("invalid_request", 400, "The request is not of the right shape"),
    /// A field whose value cannot be used, or that does not go with the others.
    InvalidField = ("invalid_field", 422, "A field has a value that cannot be used"),
    /// A place in a list that this server did not make for this caller.
    InvalidCursor = ("invalid_cursor", 422, "The cursor was not made for this list"),
    /// No token, or one that nobody knows.
    Unauthenticated = ("unauthenticated", 401, "A valid token is needed"),
    /// A token that lacks the role.
    Forbidden = ("forbidden", 403, "The token lacks a role"),
    /// A Host header that a server without tokens does not answer.
    HostNotAllowed = ("host_not_allowed", 403, "This host name is not served"),
    /// A web page of somebody else sent the request.
    OriginNotAllowed = ("origin_not_allowed", 403, "Pages of this origin may not send requests"),
    /// A session of the console without the header that proves who sent the request.
    CsrfTokenMissing = ("csrf_token_missing", 403, "The session's request token is missing or wrong"),
    /// No such route, or no such object that the caller may see.
    NotFound = ("not_found", 404, "There is no such thing"),
    /// The route has no such method.
    MethodNotAllowed = ("method_not_allowed", 405, "The route has no such method"),
    /// The request came too slowly.
    RequestTimeout = ("request_timeout", 408, "The request did not arrive in time"),
    /// The first request with this key is still under way.
    IdempotencyInProgress = ("idempotency_in_progress", 409, "The first request with this key is still under way"),
    /// A body above the limit.
    BodyTooLarge = ("body_too_large", 413, "The body is too large"),
    /// A body that is not JSON in UTF-8 by its own account.
    UnsupportedMediaType = ("unsupported_media_type", 415, "The body must be JSON in UTF-8"),
    /// No such agent.
    UnknownAgent = ("unknown_agent", 422, "There is no such agent"),
    /// A context key that the agent does not list.
    UnknownContextKey = ("unknown_context_key", 422, "The agent takes no such context key"),
    /// The key was used for another request.
    IdempotencyMismatch = ("idempotency_mismatch", 422, "The key was used for another request"),
    /// An idempotency key that is too long or not plain text.
    InvalidIdempotencyKey = ("invalid_idempotency_key", 400, "The idempotency key is not usable"),
    /// More requests than the token may send.
    TooManyRequests = ("too_many_requests", 429, "The token sends too many requests"),
    /// More open streams than are allowed.
    TooManyStreams = ("too_many_streams", 429, "Too many streams are open"),
    /// Something went wrong here.
    Internal = ("internal", 500, "Something went wrong in the server"),
    /// The server stops.
    ShuttingDown = ("shutting_down", 503, "The server stops"),
}

/// A code of a run or of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemCode {
    /// A run or its store said so.
    Run(Code),
    /// The request did not get that far.
    Api(ApiCode),
}

impl ProblemCode {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemCode::Run(code) => code.as_str(),
            ProblemCode::Api(code) => code.as_str(),
        }
    }

    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            ProblemCode::Run(code) => run_status(code),
            ProblemCode::Api(code) => code.status(),
        }
    }

    /// The same for every request: what is wrong in general.
    pub fn title(self) -> String {
        match self {
            ProblemCode::Run(code) => spoken(code.as_str()),
            ProblemCode::Api(code) => code.title().to_owned(),
        }
    }
}

impl From<Code> for ProblemCode {
    fn from(code: Code) -> Self {
        ProblemCode::Run(code)
    }
}

impl From<ApiCode> for ProblemCode {
    fn from(code: ApiCode) -> Self {
        ProblemCode::Api(code)
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `stale_continuation` as `Stale continuation`.
fn spoken(code: &str) -> String {
    let words = code.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// The table for the codes of runs. No wildcard: what a client may send again depends on it.
fn run_status(code: Code) -> u16 {
    match code {
        Code::Denied | Code::PolicyFailed | Code::PolicyRevoked | Code::Refused => 403,
        Code::NotAnApprover | Code::ReceiptInvalid => 403,
        Code::ContinuationNotFound | Code::ToolNotFound => 404,
        Code::StaleContinuation
        | Code::WrongPause
        | Code::ConflictingResult
        | Code::ConflictingDecision
        | Code::LeaseLost
        | Code::NotRetryable
        | Code::RunPaused
        | Code::RunBusy
        | Code::RunExists
        | Code::NotExpected => 409,
        Code::RunCancelled | Code::Expired => 410,
        Code::InvalidArguments
        | Code::ArgumentsTooLarge
        | Code::UnknownToolCall
        | Code::MissingDecision
        | Code::InvalidDecision
        | Code::DigestMismatch
        | Code::UnexpectedResult
        | Code::MissingResult
        | Code::InvalidResult
        | Code::UnsupportedSchemaVersion
        | Code::InvalidContinuation
        | Code::ContextValueTooLarge => 422,
        Code::RateLimited => 429,
        Code::UnknownExecutor
        | Code::InvalidConfig
        | Code::NoRuntime
        | Code::ExecutorFailed
        | Code::HookFailed
        | Code::InvalidStoreUrl => 500,
        Code::ToolError | Code::ToolPanicked | Code::UnusableResult => 502,
        Code::StoreFailed
        | Code::StoreMissing
        | Code::StoreNotPermitted
        | Code::StoreUnavailable
        | Code::StoreLocked
        | Code::StoreReadOnly
        | Code::StoreFull
        | Code::StoreCorrupt
        | Code::StoreSchemaNewer
        | Code::StoreSchemaOlder
        | Code::StoreOtherKey
        | Code::ExecutorSaturated
        | Code::CircuitOpen => 503,
        Code::TimedOut => 504,
    }
}

#[cfg(test)]
mod tests;
