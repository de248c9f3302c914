//! Sessions of the console.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use holdpoint_api::{ApiCode, LoginAnswer, LoginBody, WhoAnswer, moment};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::Problems;
use crate::app::{App, Cookies};
use crate::auth::{Caller, ConsoleSession, SESSION_COOKIE, Via, cookie_of};
use crate::body::read_body;
use crate::guard::origin_is_ours;
use crate::limits::{CONSOLE_SESSION, LOGIN_BYTES_MAX};
use crate::refusal::{Answer, Refusal};

/// Exchange a token for a session of the browser.
///
/// The cookie cannot be read by scripts and is not sent by other sites' pages; requests that change something need
/// `x-csrf-token` beside it. `Idempotency-Key` means nothing here: each login is a session of its own.
#[utoipa::path(
    post, path = "/v1/login", tag = "server", operation_id = "login", request_body = LoginBody,
    responses((status = 200, description = "Logged in", body = LoginAnswer, headers(("Set-Cookie" = String))), Problems),
)]
pub(super) async fn login(State(app): State<Arc<App>>, request: Request) -> Answer<Response> {
    expect_own_page(request.headers())?;
    // Before anything of the body is read.
    app.rates.check_peer(request.extensions().get().copied().unwrap_or_default())?;
    let body: LoginBody = read_body(request, LOGIN_BYTES_MAX).await?;
    let unknown = || Refusal::new(ApiCode::Unauthenticated, "there is no such token");
    let token = app.tokens.with_secret(&body.token).ok_or_else(unknown)?;
    let session = ConsoleSession::begin(token, app.store.runs.now());
    let cookie = session.seal(&app.sealer);
    let caller = Caller::of(token, Via::Session);
    let answer = LoginAnswer {
        name: caller.name.to_string(),
        tenant: caller.scope.tenant().map(str::to_owned),
        roles: caller.roles().map(|role| role.as_str().to_owned()).collect(),
        approves_as: caller.approves_as().iter().map(ToString::to_string).collect(),
        csrf_token: ConsoleSession::csrf_token(&app.sealer, &cookie),
        expires_at: moment(session.expires_at),
    };
    with_cookie(&app, Json(answer).into_response(), &cookie, CONSOLE_SESSION.as_secs())
}

/// Say who the caller is.
///
/// For a session of the browser also what it must send with requests that change something, and until when it holds. A server
/// without tokens knows one caller, the local admin.
#[utoipa::path(
    get, path = "/v1/login", tag = "server", operation_id = "who",
    responses((status = 200, description = "Who asks", body = WhoAnswer), Problems),
)]
pub(super) async fn who(State(app): State<Arc<App>>, caller: Caller, headers: HeaderMap) -> Json<WhoAnswer> {
    let cookie = cookie_of(&headers, SESSION_COOKIE).filter(|_| caller.via == Via::Session);
    let session = caller.session.as_ref();
    Json(WhoAnswer {
        name: caller.name.to_string(),
        tenant: caller.scope.tenant().map(str::to_owned),
        roles: caller.roles().map(|role| role.as_str().to_owned()).collect(),
        approves_as: caller.approves_as().iter().map(ToString::to_string).collect(),
        csrf_token: cookie.map(|cookie| ConsoleSession::csrf_token(&app.sealer, cookie)),
        expires_at: session.map(|session| moment(session.expires_at)),
    })
}

/// End the session of the browser.
///
/// Its cookie is good for nothing from then on, wherever it was copied to, and its streams end soon after.
#[utoipa::path(
    delete, path = "/v1/login", tag = "server", operation_id = "logout",
    responses((status = 204, description = "Logged out"), Problems),
)]
pub(super) async fn logout(State(app): State<Arc<App>>, headers: HeaderMap) -> Answer<Response> {
    expect_own_page(&headers)?;
    let cookie = cookie_of(&headers, SESSION_COOKIE);
    let session = cookie.and_then(|text| ConsoleSession::open(&app.sealer, &app.tokens, text, app.store.runs.now()));
    if let Some(session) = session {
        session.end(&app.store).await?;
        app.logged_out.send_modify(|count| *count += 1);
    }
    with_cookie(&app, StatusCode::NO_CONTENT.into_response(), "", 0)
}

fn expect_own_page(headers: &HeaderMap) -> Answer<()> {
    if origin_is_ours(headers) {
        return Ok(());
    }
    Err(Refusal::new(ApiCode::OriginNotAllowed, "the request comes from another site's page"))
}

fn with_cookie(app: &App, mut response: Response, value: &str, max_age: u64) -> Answer<Response> {
    let secure = match app.cookies {
        Cookies::Plain => "",
        Cookies::SecureOnly => "; Secure",
    };
    let cookie = format!("{SESSION_COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age}{secure}");
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| Refusal::internal("a cookie"))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}
