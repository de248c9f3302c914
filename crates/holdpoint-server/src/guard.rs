//! What is not answered at all: a request that says twice where it ends; and, by a server without tokens, another host's name
//! (a page that points its own name here) and another site's page.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use holdpoint_api::ApiCode;
use http::{HeaderMap, HeaderValue, header};

use crate::app::App;
use crate::heads::TwoEnds;
use crate::refusal::{Answer, Refusal};

/// Refuses requests that did not come from this machine's own programs and pages.
pub(crate) async fn local_only(State(app): State<Arc<App>>, request: Request, next: Next) -> Answer<Response> {
    if app.tokens.is_empty() {
        check(request.headers(), request.uri().host())?;
    }
    Ok(next.run(request).await)
}

/// Refuses a request whose end two headers say, and whatever comes after it on the same connection.
pub(crate) async fn one_end(request: Request, next: Next) -> Answer<Response> {
    if request.extensions().get::<TwoEnds>().is_some_and(TwoEnds::seen) {
        let detail = "a request has both `Content-Length` and `Transfer-Encoding`; send one of them";
        let refusal = Refusal::new(ApiCode::InvalidRequest, detail);
        return Err(refusal.with_header(header::CONNECTION, HeaderValue::from_static("close")));
    }
    Ok(next.run(request).await)
}

fn check(headers: &HeaderMap, uri_host: Option<&str>) -> Answer<()> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|value| value.to_str().ok());
    let local = host.is_some_and(|host| is_loopback(without_port(host)));
    if !local || hosts.next().is_some() || uri_host.is_some_and(|host| !is_loopback(host)) {
        let detail = "without tokens only `localhost`, `127.0.0.1` and `[::1]` are served; hint: configure a token";
        return Err(Refusal::new(ApiCode::HostNotAllowed, detail));
    }
    expect_own_page(headers)
}

/// # Errors
/// `origin_not_allowed` when a page that did not come from the same host and port sent the request.
pub(crate) fn expect_own_page(headers: &HeaderMap) -> Answer<()> {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let ours = headers.get_all(header::ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().ok();
        let authority = origin.and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
        authority.is_some() && authority == host
    });
    let refusal = || Refusal::new(ApiCode::OriginNotAllowed, "the request comes from another site's page");
    if ours { Ok(()) } else { Err(refusal()) }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
