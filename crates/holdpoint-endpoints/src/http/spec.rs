//! The keys of an HTTP tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_codec::canonical_value;
use holdpoint_config::{Problem, within};
use holdpoint_tools::{Tool, ToolDefinition};
use serde::Deserialize;
use serde_json::json;
use url::Host;

use super::request::RequestPlan;
use super::target::Target;
use super::template::UrlTemplate;
use super::tool::HttpTool;
use super::{BodyForm, HeaderSpec, Method, ResponseSpec, headers};
use crate::Surroundings;
use crate::spec::check_argument;

const DEFAULT_REDIRECTS: u32 = 3;
const MAX_REDIRECTS: u32 = 10;
const DEFAULT_RESPONSE_BYTES: usize = 1024 * 1024;
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// `kind = "http"`: a call is a request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HttpToolSpec {
    /// Where it goes. Path and query may hold `{argument}`.
    pub url: String,
    /// How it goes; `POST` by default.
    pub method: Method,
    /// Arguments that go into the query.
    pub query: Vec<String>,
    /// How the other arguments go; by default JSON, or the query for methods without a body.
    pub body: Option<BodyForm>,
    /// What goes along.
    pub headers: BTreeMap<String, HeaderSpec>,
    /// What the model gets of the answer.
    pub response: ResponseSpec,
    /// How much of an answer is read; 1 MiB by default, 64 MiB at most.
    pub max_response_bytes: Option<usize>,
    /// How many redirects are followed; 3 by default, 10 at most.
    pub max_redirects: Option<u32>,
    /// Whether the host of `url` may have a private address.
    pub allow_private: bool,
}

impl HttpToolSpec {
    pub(crate) fn build(
        &self,
        mut definition: ToolDefinition,
        around: &Surroundings,
    ) -> Result<Arc<dyn Tool>, Problem> {
        if self.url.is_empty() {
            return Err(Problem::at("url", "is missing"));
        }
        let url = UrlTemplate::parse(&self.url).map_err(|problem| Problem::at("url", problem))?;
        let target = Target::new(url.example(), self.allow_private);
        self.check_address(&url, &target)?;
        for argument in url.arguments() {
            check_argument("url", argument, &definition)?;
        }
        for argument in &self.query {
            check_argument("query", argument, &definition)?;
            if url.fixes(argument) {
                return Err(Problem::at("query", format_args!("names `{argument}`, which the URL has already")));
            }
        }
        self.response.check().map_err(|problem| problem.below("response"))?;
        within("max_response_bytes", self.max_response_bytes, 1..=MAX_RESPONSE_BYTES)?;
        within("max_redirects", self.max_redirects, 0..=MAX_REDIRECTS)?;
        let body = self.body.unwrap_or(self.method.usual_body());
        // For approvals and grants: another address, method or header makes another tool. Of a secret only its source
        // counts.
        let calls = json!({
            "url": self.url,
            "method": self.method,
            "query": self.query,
            "body": body,
            "headers": self.headers,
        });
        definition.metadata.implementation = Some(canonical_value(&calls).into());
        let plan = RequestPlan {
            method: self.method,
            url,
            query: self.query.clone(),
            body,
            headers: headers::build(&self.headers, around)?,
            repeat: definition.metadata.repeat,
        };
        Ok(Arc::new(HttpTool {
            definition,
            plan,
            target,
            response: self.response.clone(),
            max_redirects: self.max_redirects.unwrap_or(DEFAULT_REDIRECTS),
            max_bytes: self.max_response_bytes.unwrap_or(DEFAULT_RESPONSE_BYTES),
            network: around.network().clone(),
        }))
    }

    /// An address that could never be reached is rejected at once, and not with every call.
    fn check_address(&self, url: &UrlTemplate, target: &Target) -> Result<(), Problem> {
        if target.admit(url.example()).is_ok() {
            return Ok(());
        }
        let literal = matches!(url.example().host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
        let problem = match (literal, self.allow_private) {
            (true, false) => "is a private or special address\nhint: `allow_private = true` if it is meant",
            (true, true) => "is an address that no tool may reach",
            (false, _) => "has no host",
        };
        Err(Problem::at("url", problem))
    }
}
