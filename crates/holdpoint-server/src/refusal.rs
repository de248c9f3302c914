//! How what went wrong becomes an answer: text for the client here, text for the log there.

use std::error::Error as _;

use axum::response::{IntoResponse, Response};
use holdpoint::{Code, Error};
use holdpoint_api::{ApiCode, PROBLEM_MEDIA_TYPE, Problem, ProblemCode};
use holdpoint_core::Rejection;
use holdpoint_store::StoreError;
use http::{HeaderName, HeaderValue, StatusCode, header};

/// An answer, or why there is none.
pub(crate) type Answer<T> = Result<T, Refusal>;

/// A problem on its way to the client.
#[derive(Debug)]
pub(crate) struct Refusal {
    problem: Box<Problem>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(crate) fn new(code: impl Into<ProblemCode>, detail: impl Into<String>) -> Self {
        Self { problem: Box::new(Problem::new(code, detail)), header: None }
    }

    /// Adds something that helps.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        *self.problem = self.problem.with(name, value);
        self
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// When to try again.
    #[must_use]
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.with_header(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    /// A field that is not as the document of the API says.
    pub(crate) fn field(field: &str, problem: impl Into<String>) -> Self {
        Self::new(ApiCode::InvalidRequest, problem).with("field", field)
    }

    /// A field whose value cannot be used, or does not go with the others.
    pub(crate) fn value(field: &str, problem: impl Into<String>) -> Self {
        Self::new(ApiCode::InvalidField, problem).with("field", field)
    }

    /// Nothing of that name that the caller may see. The same text whether it is another tenant's or nobody's.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(ApiCode::NotFound, format!("there is no such {what}"))
    }

    /// No run of that name that the caller may see.
    pub(crate) fn no_run() -> Self {
        Rejection::ContinuationNotFound.into()
    }

    /// Something that cannot be, and that is nobody's fault but ours.
    pub(crate) fn internal(what: &'static str) -> Self {
        tracing::error!(target: "holdpoint", what, "an answer could not be made");
        Self::new(ApiCode::Internal, "something went wrong here; the log has the request's id")
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> &str {
        &self.problem.code
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        let refusal = Refusal::new(rejection.code(), rejection.to_string());
        match rejection {
            Rejection::StaleContinuation { current } => {
                refusal.with("current_continuation_id", current.map(|id| id.to_string()))
            }
            Rejection::WrongPause { waits_for, .. } => refusal.with("waits_for", waits_for.as_str()),
            Rejection::Call { call, .. } => refusal.with("call_id", call.as_str()),
            Rejection::Missing { calls, .. } => {
                refusal.with("calls", calls.iter().map(|call| call.as_str().to_owned()).collect::<Vec<_>>())
            }
            Rejection::ContinuationNotFound
            | Rejection::RunCancelled
            | Rejection::NotRetryable
            | Rejection::LeaseLost
            | Rejection::Stopping
            | Rejection::RunExists
            | Rejection::InvalidSnapshot { .. }
            | Rejection::BatchNeedsPartial
            | Rejection::NotExpected { .. } => refusal,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Rejected(rejection) => rejection.into(),
            Error::Store(error) => error.into(),
            Error::InvalidArguments { ref call, .. } => {
                let call = call.clone();
                Refusal::new(error.code(), error.to_string()).with("call_id", call.as_str())
            }
            Error::SessionPaused { ref continuation } => {
                let current = continuation.to_string();
                Refusal::new(error.code(), error.to_string()).with("current_continuation_id", current)
            }
            error => match ProblemCode::from(error.code()).status() {
                // What clients cannot mend they need not read.
                500.. => {
                    tracing::error!(target: "holdpoint", code = %error.code(), %error, "a request failed");
                    Refusal::new(error.code(), "the server is not set up for this; its log says more")
                }
                _ => Refusal::new(error.code(), error.to_string()),
            },
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. } => Refusal::no_run(),
            StoreError::InvalidCursor => Refusal::new(ApiCode::InvalidCursor, "start the list again without a cursor"),
            StoreError::Failed { .. } | StoreError::Fault { .. } => {
                let code: Code = error.code();
                tracing::error!(target: "holdpoint", %code, %error, cause = error.source().map(tracing::field::display), "the store failed");
                Refusal::new(code, "the store cannot be used right now").retry_after(1)
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, PROBLEM_MEDIA_TYPE)], body).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        // Whoever is outermost knows the request's id and writes it in.
        response.extensions_mut().insert(Shown(self.problem));
        response
    }
}

/// The problem that an answer holds.
#[derive(Clone, Debug)]
pub(crate) struct Shown(pub(crate) Box<Problem>);
