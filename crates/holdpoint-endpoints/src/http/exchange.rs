//! Sending a request and following where the answer points, within limits.

#[cfg(test)]
mod tests;

use std::error::Error;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode};

use super::body::{self, Body, BodyError};
use super::network::{Network, Refused};
use super::request::Prepared;
use super::target::Target;

/// Sends the requests of one tool.
pub(super) struct Exchange<'a> {
    pub(super) network: &'a Network,
    pub(super) target: &'a Target,
    pub(super) max_redirects: u32,
    pub(super) max_bytes: usize,
}

/// What the service answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) media_type: Option<String>,
    pub(super) body: Body,
}

/// Why there is no answer. None of them holds an address, an argument or a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It leads where tools may not go. Nothing was sent there.
    Refused(Refused),
    /// Nobody is there. Nothing was sent there.
    Unreachable,
    /// It was sent, perhaps, and then the connection broke.
    Broken,
    /// An answer came that cannot be unpacked.
    Unpackable,
    /// It was redirected to something that cannot or may not be followed.
    BadRedirect,
    /// It was redirected too often.
    TooManyRedirects,
    /// There is no client.
    NoClient,
}

/// Why there is no answer, and whether a service may have acted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) fault: Fault,
    /// Whether a request had been sent when it happened: its effect is there, whatever became of the rest of the chain.
    pub(super) was_sent: bool,
}

impl Exchange<'_> {
    pub(super) async fn run(&self, request: Prepared) -> Result<Answer, Failure> {
        let mut hops = 0;
        let answer = self.follow_all(request, &mut hops).await;
        answer.map_err(|fault| {
            let was_sent = match fault {
                Fault::Refused(_) | Fault::Unreachable | Fault::NoClient => hops > 0,
                Fault::Broken | Fault::Unpackable | Fault::BadRedirect | Fault::TooManyRedirects => true,
            };
            Failure { fault, was_sent }
        })
    }

    async fn follow_all(&self, mut request: Prepared, hops: &mut u32) -> Result<Answer, Fault> {
        while *hops <= self.max_redirects {
            let response = self.send(&request).await?;
            *hops += 1;
            if !is_redirect(response.status()) {
                return self.answer(response).await;
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            request = follow(request, response.status(), location.ok_or(Fault::BadRedirect)?)?;
        }
        Err(if self.max_redirects == 0 { Fault::BadRedirect } else { Fault::TooManyRedirects })
    }

    async fn send(&self, request: &Prepared) -> Result<Response, Fault> {
        let reach = self.target.admit(&request.url).map_err(Fault::Refused)?;
        let client = self.network.client(reach).map_err(|error| {
            tracing::error!(error, "there is no HTTP client");
            Fault::NoClient
        })?;
        let mut sending = client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
        if let Some(body) = &request.body {
            sending = sending.body(body.clone());
        }
        sending.send().await.map_err(|error| fault_of(&error))
    }

    async fn answer(&self, response: Response) -> Result<Answer, Fault> {
        let status = response.status();
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.map(str::to_ascii_lowercase);
        let body = body::read(response, self.max_bytes).await.map_err(|error| match error {
            BodyError::Broken => Fault::Broken,
            BodyError::Unpackable => Fault::Unpackable,
        })?;
        Ok(Answer { status, media_type, body })
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The next request of a chain. What was secret or an argument does not go to another origin.
fn follow(mut request: Prepared, status: StatusCode, location: &str) -> Result<Prepared, Fault> {
    let mut next = request.url.join(location).map_err(|_| Fault::BadRedirect)?;
    next.set_fragment(None);
    let downgrade = request.url.scheme() == "https" && next.scheme() != "https";
    let has_user = !next.username().is_empty() || next.password().is_some();
    if !matches!(next.scheme(), "http" | "https") || downgrade || has_user {
        return Err(Fault::BadRedirect);
    }
    let elsewhere = next.origin() != request.url.origin();
    match status.as_u16() {
        // What was asked is to be asked again there, with its body.
        307 | 308 if elsewhere && request.body.is_some() => return Err(Fault::BadRedirect),
        307 | 308 => {}
        // As everybody does: the rest is read with GET.
        _ => {
            request.method = reqwest::Method::GET;
            request.body = None;
            request.headers.remove(CONTENT_TYPE);
        }
    }
    if elsewhere {
        request.headers = without_secrets(&request.headers);
    }
    request.url = next;
    Ok(request)
}

fn without_secrets(headers: &HeaderMap) -> HeaderMap {
    let kept = headers.iter().filter(|(name, value)| {
        !value.is_sensitive() && **name != AUTHORIZATION && **name != COOKIE && name.as_str() != "idempotency-key"
    });
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn fault_of(error: &reqwest::Error) -> Fault {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return Fault::Refused(*refused);
        }
        cause = error.source();
    }
    if error.is_connect() { Fault::Unreachable } else { Fault::Broken }
}
