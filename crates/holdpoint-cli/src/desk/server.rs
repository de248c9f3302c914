//! A server, over its API.

use std::process::ExitCode;
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_codec::Shown;
use holdpoint_config::printable;
use holdpoint_core::CallKey;
use reqwest::{Client, Method, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::store::no_such_approval;
use super::{Desk, Found, Said, Wanted, listed, text};
use crate::person::PersonArgs;
use crate::problem::{self, BAD_USAGE};

/// The variable that holds the token.
const TOKEN: &str = "HOLDPOINT_TOKEN";
/// The most that one page of a list has.
const PAGE_MAX: usize = 200;
/// The most pages of a run's questions that are looked through for one.
const PAGES_MAX: usize = 500;
/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(90);
/// How often a run is looked at that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Asks a server as whoever the token belongs to.
pub(super) struct ServerDesk {
    base: Url,
    token: Option<SecretString>,
    client: Client,
}

impl ServerDesk {
    pub(super) fn new(url: &str) -> Result<Self, ExitCode> {
        let refuse = |message: &str, hint: Option<&str>| {
            problem::failure(message, hint);
            ExitCode::from(BAD_USAGE)
        };
        let base = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let base = base.filter(|url| url.username().is_empty() && url.password().is_none());
        let hint = "write it as in `http://127.0.0.1:7411`; the token belongs in HOLDPOINT_TOKEN";
        let base = base.ok_or_else(|| refuse("--server is not the address of a server", Some(hint)))?;
        // Somebody who installed another provider before knows better.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build();
        let client = client.map_err(|_| refuse("no HTTP client could be made", None))?;
        let token = std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty());
        Ok(Self { base, token: token.map(|token| SecretString::from(token.trim())), client })
    }

    async fn get(&self, path: &[&str], query: &[(&str, String)]) -> Result<Shown, ExitCode> {
        let mut url = self.address(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.ask(Method::GET, url, None).await
    }

    async fn post(&self, path: &[&str], body: &Value) -> Result<Shown, ExitCode> {
        self.ask(Method::POST, self.address(path), Some(body)).await
    }

    /// Each part is escaped as a whole.
    fn address(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("v1").extend(path);
        }
        url
    }

    async fn ask(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Shown, ExitCode> {
        let mut request = self.client.request(method, url).header("accept", "application/json");
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose_secret());
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let unreachable = |_| {
            let address = self.base.origin().ascii_serialization();
            problem::failure(&format!("the server `{address}` cannot be reached"), None)
        };
        let mut answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(unreachable)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > ANSWER_BYTES_MAX {
                return Err(problem::failure("the answer of the server is too large", None));
            }
        }
        let shown: Shown = serde_json::from_slice(&bytes).unwrap_or_default();
        if status.is_success() { Ok(shown) } else { Err(refused(status.as_u16(), &shown)) }
    }

    async fn listed(&self, what: &str, (wanted, query): (&Wanted, Vec<(&str, String)>)) -> Result<Found, ExitCode> {
        let mut found = Found { items: Vec::new(), more: true };
        let mut cursor: Option<String> = None;
        while found.more && found.items.len() < wanted.limit {
            let mut query = query.clone();
            query.push(("limit", (wanted.limit - found.items.len()).min(PAGE_MAX).to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let page = self.get(&[what], &query).await?;
            found.items.extend(listed(&page, what));
            cursor = page.text("next");
            found.more = cursor.is_some();
        }
        Ok(found)
    }
}

/// Says what the server said.
fn refused(status: u16, problem: &Shown) -> ExitCode {
    let code = problem.text("code").unwrap_or_else(|| status.to_string());
    let told = problem.text("detail").or_else(|| problem.text("title"));
    let told = told.unwrap_or_else(|| "the server refused".to_owned());
    eprintln!("error[{}]: {}", printable::line(&code), printable::line(&told));
    if status == 401 {
        eprintln!("hint: set {TOKEN} to a token of this server");
    }
    ExitCode::FAILURE
}

#[async_trait]
impl Desk for ServerDesk {
    async fn runs(&self, wanted: &Wanted) -> Result<Found, ExitCode> {
        let given = [("status", &wanted.status), ("agent", &wanted.agent)];
        let query = given.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect();
        self.listed("runs", (wanted, query)).await
    }

    async fn run(&self, id: &str) -> Result<Shown, ExitCode> {
        self.get(&["runs", id], &[]).await
    }

    async fn messages(&self, id: &str) -> Result<Vec<Shown>, ExitCode> {
        let answer = self.get(&["runs", id, "messages"], &[]).await?;
        Ok(listed(&answer, "messages"))
    }

    async fn events(&self, id: &str, after: u64) -> Result<Vec<Shown>, ExitCode> {
        let answer = self.get(&["runs", id, "events"], &[("after", after.to_string())]).await?;
        Ok(listed(&answer, "events"))
    }

    async fn changed(&self, _: &str, _: u64) -> Result<(), ExitCode> {
        tokio::time::sleep(LOOK_EVERY).await;
        Ok(())
    }

    async fn cancel(&self, id: &str, person: &PersonArgs) -> Result<Shown, ExitCode> {
        person.expect_none()?;
        self.post(&["runs", id, "cancel"], &json!({})).await
    }

    async fn questions(&self, wanted: &Wanted) -> Result<Found, ExitCode> {
        let given = [("status", &wanted.status), ("agent", &wanted.agent), ("run", &wanted.run)];
        let query = given.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))).collect();
        self.listed("approvals", (wanted, query)).await
    }

    async fn question(&self, id: &str) -> Result<Shown, ExitCode> {
        let key = CallKey::parse(id).ok_or_else(|| no_such_approval(id))?;
        for status in ["pending", "answered", "expired", "gone"] {
            let mut query =
                vec![("status", status.to_owned()), ("run", key.run.to_string()), ("limit", PAGE_MAX.to_string())];
            for _ in 0..PAGES_MAX {
                let page = self.get(&["approvals"], &query).await?;
                let found = listed(&page, "approvals").into_iter().find(|item| text(item, "id") == id);
                if let Some(question) = found {
                    return Ok(question);
                }
                let Some(next) = page.text("next") else { break };
                query.retain(|(name, _)| *name != "cursor");
                query.push(("cursor", next));
            }
        }
        Err(no_such_approval(id))
    }

    async fn answer(&self, question: &Shown, said: &Said, person: &PersonArgs) -> Result<(), ExitCode> {
        person.expect_none()?;
        let call = text(question, "call_id");
        let decision = json!({
            "call_id": call, "decision": said.word.as_str(), "digest": said.digest.to_string(), "reason": said.reason,
        });
        let key = CallKey::parse(&text(question, "id"));
        let batch = key.map(|key| holdpoint_core::BatchId { run: key.run, turn: key.turn }.to_string());
        let body = json!({ "batch_id": batch, "partial": true, "decisions": [decision] });
        self.post(&["runs", &text(question, "run_id"), "answers"], &body).await.map(drop)
    }
}
