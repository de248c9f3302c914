//! The caller of a request: found once, before anything else is read.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use holdpoint::Actor;
use holdpoint_api::{ApiCode, RunView};
use holdpoint_codec::{Pending, pending};
use holdpoint_core::{Run, Status};
use holdpoint_store::Scope;
use http::{HeaderMap, HeaderValue, Method, header};

use super::console::{CSRF_HEADER, ConsoleSession, cookie_of};
use super::{SESSION_COOKIE, Token, TokenRole};
use crate::app::App;
use crate::connection::Peer;
use crate::guard::expect_own_page;
use crate::refusal::{Answer, Refusal};

/// What the local admin is called.
const LOCAL: &str = "local";

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// See all runs of the tenant.
    Read,
    /// See what agents and tools there are.
    Look,
    /// Start, cancel and retry runs, and deliver results.
    Submit,
    /// See questions and grants.
    ReadApprovals,
    /// Answer questions, take grants back.
    Approve,
    /// See the queue.
    ReadTasks,
    /// Take tasks and bring their results.
    Work,
    /// Everything else.
    Administer,
}

impl Right {
    /// The roles of which one is enough; `admin` always is.
    fn roles(self) -> &'static [TokenRole] {
        use TokenRole::{Approve, Read, Submit, Work};
        match self {
            Right::Read => &[Read],
            Right::Look => &[Read, Submit, Approve, Work],
            Right::Submit => &[Submit],
            Right::ReadApprovals => &[Read, Approve],
            Right::Approve => &[Approve],
            Right::ReadTasks => &[Read, Work],
            Right::Work => &[Work],
            Right::Administer => &[],
        }
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) name: Arc<str>,
    /// All of the store for the local admin, and for nobody else.
    pub(crate) scope: Scope,
    /// The session of the console, if it is one.
    pub(crate) session: Option<Arc<ConsoleSession>>,
    pub(crate) roles: BTreeSet<TokenRole>,
    pub(crate) approves_as: BTreeSet<Arc<str>>,
}

impl Caller {
    fn local() -> Self {
        Self {
            name: LOCAL.into(),
            scope: Scope::All,
            session: None,
            roles: TokenRole::ALL.into_iter().collect(),
            approves_as: BTreeSet::new(),
        }
    }

    fn of(token: &Token) -> Self {
        Self {
            name: Arc::clone(&token.name),
            scope: Scope::Tenant(Arc::clone(&token.tenant)),
            session: None,
            roles: token.roles.clone(),
            approves_as: token.approves_as.clone(),
        }
    }

    pub(crate) fn of_session(session: ConsoleSession) -> Self {
        let caller = Self::of(&session.token);
        Self { session: Some(Arc::new(session)), ..caller }
    }

    /// The tenant whose objects it makes and sees. The local admin makes objects without one and sees everything.
    pub(crate) fn tenant(&self) -> Option<Arc<str>> {
        self.scope.tenant().map(Arc::from)
    }

    /// Who acts, for policies and the audit log.
    pub(crate) fn actor(&self) -> Actor {
        Actor { id: Some(Arc::clone(&self.name)), roles: self.approves_as.clone(), tenant: self.tenant() }
    }

    pub(crate) fn may(&self, right: Right) -> bool {
        self.roles.contains(&TokenRole::Admin) || right.roles().iter().any(|role| self.roles.contains(role))
    }

    /// Whether it sees a run: who reads all runs, or who started this one.
    pub(crate) fn sees(&self, run: &Run) -> bool {
        let started = run.actor().id.as_deref() == Some(&*self.name);
        self.may(Right::Read) || (started && self.may(Right::Submit))
    }

    /// A run that the caller answered. Of a run that the caller may not see: the questions that it may answer, and no text.
    pub(crate) fn run_view(&self, run: &Run) -> RunView {
        let shown = RunView::of(run);
        if self.sees(run) {
            return shown;
        }
        let asks = run.status() == Status::AwaitingToolConfirmation;
        let admits = |call: &Pending| call.admits(&self.answerer(call.approvers.iter().cloned()), run.actor());
        let pending = pending(run).iter().filter(|call| asks && admits(call)).map(Pending::view).collect();
        RunView { text: None, pending, ..shown }
    }

    /// # Errors
    /// `forbidden` for those who see no run at all; for others a run that they do not see is not there.
    pub(crate) fn need_to_see(&self, run: &Run) -> Answer<()> {
        if self.sees(run) {
            return Ok(());
        }
        if !self.may(Right::Submit) {
            self.need(Right::Read)?;
        }
        Err(Refusal::no_run())
    }

    /// Who answers a question that asks for these roles. The local admin has them all.
    pub(crate) fn answerer(&self, asked: impl IntoIterator<Item = Arc<str>>) -> Actor {
        let actor = self.actor();
        match self.scope {
            Scope::All => Actor { roles: asked.into_iter().collect(), ..actor },
            Scope::Tenant(_) => actor,
        }
    }

    /// # Errors
    /// `forbidden` when none of its roles is enough.
    pub(crate) fn need(&self, right: Right) -> Answer<()> {
        if self.may(right) {
            return Ok(());
        }
        let names: Vec<&str> = right.roles().iter().chain([&TokenRole::Admin]).map(|role| role.as_str()).collect();
        let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
        Err(Refusal::new(ApiCode::Forbidden, format!("this needs the role {listed}")).with("roles", names))
    }
}

/// Finds the caller of every request below, and refuses those of whom there is none or too many.
pub(crate) async fn authenticate(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Answer<Response> {
    let peer = request.extensions().get::<Peer>().copied().unwrap_or_default();
    let caller = find(&app, request.method(), request.headers(), peer)?;
    if let Some(session) = &caller.session
        && session.is_over(&app.store).await?
    {
        return Err(unauthenticated());
    }
    if caller.scope != Scope::All {
        app.rates.check(&caller.name)?;
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

fn find(app: &App, method: &Method, headers: &HeaderMap, peer: Peer) -> Answer<Caller> {
    if app.tokens.is_empty() {
        return Ok(Caller::local());
    }
    if let Some(secret) = bearer(headers)? {
        let Some(token) = app.tokens.with_secret(secret) else {
            // Only what is wrong is counted: behind one address may be many.
            app.rates.check_peer(peer)?;
            return Err(unauthenticated());
        };
        return Ok(Caller::of(token));
    }
    let cookie = cookie_of(headers, SESSION_COOKIE).ok_or_else(unauthenticated)?;
    let now = app.store.runs.now();
    let session = ConsoleSession::open(&app.sealer, &app.tokens, cookie, now).ok_or_else(unauthenticated)?;
    if !matches!(*method, Method::GET | Method::HEAD) {
        expect_own_page(headers)?;
        let sent = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !session.holds(&app.sealer, cookie, sent) {
            let detail = "send the `csrf_token` of the login as `x-csrf-token`";
            return Err(Refusal::new(ApiCode::CsrfTokenMissing, detail));
        }
    }
    Ok(Caller::of_session(session))
}

/// The secret of the one `Authorization` header.
fn bearer(headers: &HeaderMap) -> Answer<Option<&str>> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (sent.next(), sent.next());
    if second.is_some() {
        return Err(Refusal::field("authorization", "there are two `Authorization` headers"));
    }
    let Some(value) = first else { return Ok(None) };
    let text = value.to_str().map_err(|_| unauthenticated())?;
    let (scheme, secret) = text.split_once(' ').ok_or_else(unauthenticated)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unauthenticated());
    }
    Ok(Some(secret.trim()))
}

pub(crate) fn unauthenticated() -> Refusal {
    Refusal::new(ApiCode::Unauthenticated, "send `Authorization: Bearer` with a token that this server knows")
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}
