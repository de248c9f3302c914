//! A server as a backend, over its API. The token says who acts.

use std::time::Duration;

use async_trait::async_trait;
use holdpoint_api::{ApprovalPage, ApprovalView, EventPage, MessageList, Problem, RunPage, RunSummary, RunView};
use holdpoint_codec::view::{EventView, MessageView};
use holdpoint_config::printable;
use holdpoint_core::CallKey;
use holdpoint_store::{Cursor, Page, QuestionStatus};
use reqwest::{Client, Method, RequestBuilder, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{AnswerGiven, Backend, Filter, MAX_LISTED, Part, no_such_approval};
use crate::failure::{Failure, Outcome};
use crate::person::PersonArgs;

/// The variable that holds the token.
const TOKEN: &str = "HOLDPOINT_TOKEN";
/// The most items of one page of a list.
const MAX_PAGE: usize = 200;
/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(90);
/// How often a run that is followed is read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(super) struct ServerBackend {
    base: Url,
    token: Option<SecretString>,
    client: Client,
}

impl ServerBackend {
    pub(super) fn new(url: &str) -> Outcome<Self> {
        let is_server = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let has_no_secret = |url: &Url| url.username().is_empty() && url.password().is_none();
        let base = Url::parse(url).ok().filter(is_server).filter(has_no_secret).ok_or_else(|| {
            let hint = "write it as in `http://127.0.0.1:7411`; the token belongs in HOLDPOINT_TOKEN";
            Failure::usage("--server is not the address of a server").hint(hint)
        })?;
        // A provider that was installed before is kept.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build();
        let client = client.map_err(|_| Failure::usage("no HTTP client could be made"))?;
        let token = std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty());
        Ok(Self { base, token: token.map(|token| SecretString::from(token.trim())), client })
    }

    async fn get<T: DeserializeOwned>(&self, path: &[&str], query: &[(&str, Option<String>)]) -> Outcome<T> {
        let mut url = self.address(path);
        let given = query.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        url.query_pairs_mut().extend_pairs(given);
        self.ask(self.client.request(Method::GET, url)).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &[&str], body: &serde_json::Value) -> Outcome<T> {
        let request = self.client.request(Method::POST, self.address(path));
        self.ask(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// Each part is escaped as a whole.
    fn address(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("v1").extend(path);
        }
        url
    }

    async fn ask<T: DeserializeOwned>(&self, mut request: RequestBuilder) -> Outcome<T> {
        request = request.header("accept", "application/json");
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose_secret());
        }
        let server = self.base.origin().ascii_serialization();
        let unreachable = |_| Failure::new(format!("the server `{server}` cannot be reached"));
        let mut answer = request.send().await.map_err(unreachable)?;
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(unreachable)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MAX_ANSWER_BYTES {
                return Err(Failure::new("the answer of the server is too large"));
            }
        }
        if !answer.status().is_success() {
            return Err(rejected(answer.status().as_u16(), serde_json::from_slice(&bytes).ok()));
        }
        serde_json::from_slice(&bytes).map_err(|_| {
            let failure = Failure::new(format!("the answer of the server `{server}` cannot be read"));
            failure.hint("this program and the server must be of the same version")
        })
    }
}

fn rejected(status: u16, problem: Option<Problem>) -> Failure {
    let failure = match problem {
        Some(problem) => Failure::new(printable::line(&problem.detail)).code(printable::line(&problem.code)),
        None => Failure::new("the server rejected the request").code(status.to_string()),
    };
    if status == 401 { failure.hint(format!("set {TOKEN} to a token of this server")) } else { failure }
}

impl Part {
    fn query(&self, filter: &Filter) -> [(&'static str, Option<String>); 4] {
        [
            ("status", filter.status.clone()),
            ("agent", filter.agent.clone()),
            ("limit", Some(self.limit.min(MAX_PAGE).to_string())),
            ("cursor", self.cursor.as_ref().map(|cursor| cursor.as_str().to_owned())),
        ]
    }
}

#[async_trait(?Send)]
impl Backend for ServerBackend {
    async fn runs(&self, filter: &Filter, part: Part) -> Outcome<Page<RunSummary>> {
        let page: RunPage = self.get(&["runs"], &part.query(filter)).await?;
        Ok(Page { items: page.runs, next: page.next.map(Cursor::new) })
    }

    async fn run(&self, id: &str) -> Outcome<RunView> {
        self.get(&["runs", id], &[]).await
    }

    async fn messages(&self, id: &str) -> Outcome<Vec<MessageView>> {
        let answer: MessageList = self.get(&["runs", id, "messages"], &[]).await?;
        Ok(answer.messages)
    }

    async fn events(&self, id: &str, after: u64) -> Outcome<Vec<EventView>> {
        let answer: EventPage = self.get(&["runs", id, "events"], &[("after", Some(after.to_string()))]).await?;
        Ok(answer.events)
    }

    async fn changed(&self, _: &str, _: u64) -> Outcome<()> {
        tokio::time::sleep(POLL_INTERVAL).await;
        Ok(())
    }

    async fn cancel(&self, id: &str, person: &PersonArgs) -> Outcome<RunView> {
        person.expect_none()?;
        self.post(&["runs", id, "cancel"], &json!({})).await
    }

    async fn approvals(&self, filter: &Filter, part: Part) -> Outcome<Page<ApprovalView>> {
        let query = [&part.query(filter)[..], &[("run", filter.run.clone())]].concat();
        let page: ApprovalPage = self.get(&["approvals"], &query).await?;
        Ok(Page { items: page.approvals, next: page.next.map(Cursor::new) })
    }

    async fn approval(&self, id: &str) -> Outcome<ApprovalView> {
        let key = CallKey::parse(id).ok_or_else(|| no_such_approval(id))?;
        for status in QuestionStatus::ALL {
            let filter = Filter {
                agent: None,
                tenant: None,
                limit: MAX_LISTED,
                status: Some(status.as_str().to_owned()),
                run: Some(key.run.to_string()),
            };
            let page = filter.collect(async |part| self.approvals(&filter, part).await).await?;
            if let Some(found) = page.items.into_iter().find(|approval| approval.id == id) {
                return Ok(found);
            }
        }
        Err(no_such_approval(id))
    }

    async fn answer(&self, approval: &ApprovalView, answer: AnswerGiven, person: &PersonArgs) -> Outcome<()> {
        person.expect_none()?;
        let AnswerGiven { decision, digest, reason } = answer;
        let decision = json!({
            "call_id": approval.call_id, "decision": decision, "digest": digest.to_string(), "reason": reason,
        });
        let body = json!({ "batch_id": approval.batch_id, "partial": true, "decisions": [decision] });
        let _: RunView = self.post(&["runs", &approval.run_id, "answers"], &body).await?;
        Ok(())
    }
}
