//! Sessions of the console.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use holdpoint_api::{ApiCode, LoginBody, WhoAnswer};
use holdpoint_codec::view::Moment;
use http::{HeaderMap, StatusCode, header};

use super::Problems;
use crate::app::{App, Cookies};
use crate::auth::{Caller, ConsoleSession, SESSION_COOKIE, cookie_of};
use crate::body::read_body;
use crate::guard::expect_own_page;
use crate::limits::{CONSOLE_SESSION, LOGIN_BYTES_MAX};
use crate::params::Ask;
use crate::refusal::{Answer, Refusal};

/// Exchange a token for a session of the browser.
///
/// The cookie cannot be read by scripts and is not sent by other sites' pages; requests that change something need
/// `x-csrf-token` beside it. `Idempotency-Key` means nothing here: each login is a session of its own.
#[utoipa::path(
    post, path = "/v1/login", tag = "server", operation_id = "login", request_body = LoginBody,
    responses((status = 200, description = "Logged in", body = WhoAnswer, headers(("Set-Cookie" = String))), Problems),
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
    let answer = answer(&app, &Caller::of_session(session), Some(&cookie));
    Ok(with_cookie(&app, Json(answer), &cookie, CONSOLE_SESSION.as_secs()))
}

/// Say who the caller is.
///
/// For a session of the browser also what it must send with requests that change something, and until when it holds. A server
/// without tokens knows one caller, the local admin.
#[utoipa::path(
    get, path = "/v1/login", tag = "server", operation_id = "who",
    responses((status = 200, description = "Who asks", body = WhoAnswer), Problems),
)]
pub(super) async fn who(ask: Ask, headers: HeaderMap) -> Json<WhoAnswer> {
    let cookie = cookie_of(&headers, SESSION_COOKIE).filter(|_| ask.caller.session.is_some());
    Json(answer(&ask.app, &ask.caller, cookie))
}

fn answer(app: &App, caller: &Caller, cookie: Option<&str>) -> WhoAnswer {
    WhoAnswer {
        name: caller.name.to_string(),
        tenant: caller.scope.tenant().map(str::to_owned),
        roles: caller.roles.iter().copied().collect(),
        approves_as: caller.approves_as.iter().map(ToString::to_string).collect(),
        csrf_token: cookie.map(|cookie| ConsoleSession::csrf_token(&app.sealer, cookie)),
        expires_at: caller.session.as_ref().map(|session| Moment(session.expires_at)),
    }
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
    Ok(with_cookie(&app, StatusCode::NO_CONTENT, "", 0))
}

fn with_cookie(app: &App, response: impl IntoResponse, value: &str, max_age: u64) -> Response {
    let secure = match app.cookies {
        Cookies::Plain => "",
        Cookies::SecureOnly => "; Secure",
    };
    let cookie = format!("{SESSION_COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={max_age}{secure}");
    ([(header::SET_COOKIE, cookie)], response).into_response()
}
