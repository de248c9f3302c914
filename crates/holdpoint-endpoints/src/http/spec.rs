//! The table of an HTTP tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_codec::canonical_value;
use holdpoint_tools::Tool;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use url::Host;

use super::request::RequestPlan;
use super::response::{RESPONSE_BYTES_DEFAULT, RESPONSE_BYTES_MAX};
use super::target::Target;
use super::template::UrlTemplate;
use super::tool::HttpTool;
use super::{BodyForm, HeaderSpec, Method, ResponseSpec, headers};
use crate::spec::{Common, NearestKeys, within};
use crate::{Parameters, RepeatSpec, SpecError, Surroundings};

/// How many redirects are followed if nobody says.
pub const REDIRECTS_DEFAULT: u32 = 3;
/// The most redirects that can be followed.
pub const REDIRECTS_MAX: u32 = 10;

/// `kind = "http"`: a call is a request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct HttpToolSpec {
    /// Where it goes. Path and query may hold `{argument}`.
    pub url: String,
    /// How it goes; `POST` if nobody says.
    pub method: Method,
    /// Arguments that go into the query.
    pub query: Vec<String>,
    /// How the other arguments go; JSON, or the query for methods without a body, if nobody says.
    pub body: Option<BodyForm>,
    /// What goes along.
    pub headers: BTreeMap<String, HeaderSpec>,
    /// What the model gets of the answer.
    pub response: ResponseSpec,
    /// How much of an answer is read.
    pub response_bytes_max: Option<i64>,
    /// How many redirects are followed.
    pub redirects_max: Option<u32>,
    /// Whether the host of `url` may have a private address.
    pub allow_private: bool,
    /// What the model is told.
    pub description: Option<String>,
    /// The arguments.
    pub parameters: Option<Parameters>,
    /// Whether it may run beside others.
    pub parallelizable: Option<bool>,
    /// Whether a call in doubt may run again; `with_key` sends `Idempotency-Key`.
    pub repeat: RepeatSpec,
    /// How long it may take.
    pub timeout_ms: Option<i64>,
}

impl HttpToolSpec {
    /// Makes the tool, as seen from this process.
    ///
    /// # Errors
    /// When a key has a value that cannot be, or a secret is not there.
    pub fn build(&self, name: &str) -> Result<Arc<dyn Tool>, SpecError> {
        self.build_in(name, &Surroundings::default())
    }

    /// Makes the tool in these surroundings.
    ///
    /// # Errors
    /// When a key has a value that cannot be, or a secret is not there.
    pub fn build_in(&self, name: &str, surroundings: &Surroundings) -> Result<Arc<dyn Tool>, SpecError> {
        let common = self.common(name, surroundings);
        let mut definition = common.definition()?;
        definition.metadata.implementation = Some(self.implementation());
        if self.url.is_empty() {
            return Err(SpecError::new(name, "url", "is missing"));
        }
        let url = UrlTemplate::parse(&self.url).map_err(|problem| SpecError::new(name, "url", problem))?;
        let target = Target::new(url.example(), self.allow_private);
        self.check_address(name, &url, &target)?;
        for argument in url.arguments() {
            common.check_argument("url", argument, &definition)?;
        }
        for argument in &self.query {
            common.check_argument("query", argument, &definition)?;
            if url.fixes(argument) {
                return Err(SpecError::new(name, "query", format!("names `{argument}`, which the URL has already")));
            }
        }
        self.response.check(name)?;
        let bytes_max = self.response_bytes_max.unwrap_or(RESPONSE_BYTES_DEFAULT);
        let bytes_max = within(name, "response_bytes_max", bytes_max, RESPONSE_BYTES_MAX)?;
        let redirects_max = self.redirects_max.unwrap_or(REDIRECTS_DEFAULT);
        if redirects_max > REDIRECTS_MAX {
            let problem = format!("is {redirects_max}, and must not be above {REDIRECTS_MAX}");
            return Err(SpecError::new(name, "redirects_max", problem));
        }
        let plan = RequestPlan {
            method: self.method,
            url,
            query: self.query.clone(),
            body: self.body.unwrap_or(self.method.usual_body()),
            headers: headers::build(name, &self.headers, surroundings)?,
            repeat: definition.metadata.repeat,
        };
        Ok(Arc::new(HttpTool {
            definition,
            plan,
            target,
            response: self.response.clone(),
            redirects_max,
            bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
            network: surroundings.network().clone(),
        }))
    }

    /// What is called, for approvals and grants: another address, method or header makes another tool. Of a secret only where
    /// it comes from counts.
    fn implementation(&self) -> Arc<str> {
        let header = |header: &HeaderSpec| match header {
            HeaderSpec::Text(text) => json!(text),
            HeaderSpec::Secret(secret) => json!({ "env": secret.env, "file": secret.file, "prefix": secret.prefix }),
        };
        let headers: BTreeMap<&str, Value> =
            self.headers.iter().map(|(name, value)| (&**name, header(value))).collect();
        let calls = json!({
            "url": self.url,
            "method": format!("{:?}", self.method),
            "query": self.query,
            "body": format!("{:?}", self.body.unwrap_or(self.method.usual_body())),
            "headers": headers,
        });
        canonical_value(&calls).into()
    }

    fn common<'a>(&'a self, tool: &'a str, surroundings: &'a Surroundings) -> Common<'a> {
        Common {
            tool,
            source: "http",
            description: self.description.as_deref(),
            parameters: self.parameters.as_ref(),
            parallelizable: self.parallelizable,
            repeat: self.repeat,
            timeout_ms: self.timeout_ms,
            surroundings,
        }
    }

    /// An address that could never be reached is refused at once, and not with every call.
    fn check_address(&self, name: &str, url: &UrlTemplate, target: &Target) -> Result<(), SpecError> {
        if target.admit(url.example()).is_ok() {
            return Ok(());
        }
        let literal = matches!(url.example().host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
        let problem = match (literal, self.allow_private) {
            (true, false) => "is a private or special address; hint: `allow_private = true` if it is meant",
            (true, true) => "is an address that no tool may reach",
            (false, _) => "has no host",
        };
        Err(SpecError::new(name, "url", problem))
    }
}

impl<'de> Deserialize<'de> for HttpToolSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(NearestKeys(deserializer))
    }
}
