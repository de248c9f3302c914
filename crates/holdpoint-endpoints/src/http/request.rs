//! From the arguments of a call to a request.

use holdpoint_core::Repeat;
use holdpoint_tools::{ToolCall, ToolError};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use url::Url;
use url::form_urlencoded::Serializer;

use super::template::{FillError, MAX_URL_BYTES, UrlTemplate};
use crate::arguments::{Named, scalar, scalars};

/// `method`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Reads.
    Get,
    /// Does something.
    #[default]
    Post,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

/// `body`: where arguments go that are neither in the path nor in the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyForm {
    /// A JSON object.
    Json,
    /// As a form of a web page.
    Form,
    /// There is no body: they go into the query.
    None,
}

/// How requests of one tool are made.
#[derive(Debug)]
pub(super) struct RequestPlan {
    pub(super) method: Method,
    pub(super) url: UrlTemplate,
    pub(super) query: Vec<String>,
    pub(super) body: BodyForm,
    pub(super) headers: HeaderMap,
    pub(super) repeat: Repeat,
}

/// A request that is ready to be sent. `Debug` is not there: it holds arguments.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) method: reqwest::Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
}

impl Method {
    /// Where arguments go if nobody says.
    pub(super) fn usual_body(self) -> BodyForm {
        match self {
            Method::Get | Method::Delete => BodyForm::None,
            Method::Post | Method::Put | Method::Patch => BodyForm::Json,
        }
    }

    fn as_http(self) -> reqwest::Method {
        match self {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Patch => reqwest::Method::PATCH,
            Method::Delete => reqwest::Method::DELETE,
        }
    }
}

impl RequestPlan {
    /// The request for this call. Arguments that cannot be put where they belong are the model's to correct.
    pub(super) fn prepare(&self, call: &ToolCall) -> Result<Prepared, ToolError> {
        let mut arguments = Named::of(call)?;
        let whole = arguments.rest().len();
        let mut url = self.url.fill(|name| arguments.find(name).and_then(scalar)).map_err(unfit)?;
        for name in self.url.arguments() {
            arguments.take(name);
        }
        let mut query = Vec::new();
        for name in &self.query {
            if let Some(value) = arguments.take(name) {
                query.push((name.clone(), texts(name, &value)?));
            }
        }
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        if self.repeat == Repeat::WithKey {
            let key = HeaderValue::try_from(call.idempotency_key().as_str())?;
            headers.insert(HeaderName::from_static("idempotency-key"), key);
        }
        let body = match self.body {
            BodyForm::None => {
                for (name, value) in arguments.rest() {
                    query.push((name.clone(), texts(name, value)?));
                }
                None
            }
            BodyForm::Json => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let untouched = arguments.rest().len() == whole;
                // Untouched, it is the text that was approved, byte by byte.
                let text = call.arguments().expose();
                Some(if untouched { text.as_bytes().to_vec() } else { serde_json::to_vec(arguments.rest())? })
            }
            BodyForm::Form => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                Some(form(&arguments)?)
            }
        };
        if let Some((name, _)) = query.iter().find(|(name, _)| self.url.fixes(name)) {
            return Err(ToolError::invalid_arguments(format!("`{name}` is fixed for this tool")));
        }
        append(&mut url, &query)?;
        Ok(Prepared { method: self.method.as_http(), url, headers, body })
    }
}

fn append(url: &mut Url, query: &[(String, Vec<String>)]) -> Result<(), ToolError> {
    if query.is_empty() {
        return Ok(());
    }
    for (name, values) in query {
        for value in values {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    if url.as_str().len() > MAX_URL_BYTES { Err(unfit(FillError::TooLong)) } else { Ok(()) }
}

fn form(arguments: &Named) -> Result<Vec<u8>, ToolError> {
    let mut form = Serializer::new(String::new());
    for (name, value) in arguments.rest() {
        for text in texts(name, value)? {
            form.append_pair(name, &text);
        }
    }
    Ok(form.finish().into_bytes())
}

/// Nothing for `null`, one text for a scalar, several for a list.
fn texts(name: &str, value: &RawValue) -> Result<Vec<String>, ToolError> {
    if value.get() == "null" {
        return Ok(Vec::new());
    }
    let problem = || ToolError::invalid_arguments(format!("`{name}` must be a text, a number, or a list of these"));
    scalars(value).ok_or_else(problem)
}

fn unfit(error: FillError) -> ToolError {
    ToolError::invalid_arguments(match error {
        FillError::Missing(name) => format!("`{name}` must be a text or a number"),
        FillError::Unfit(name) => format!("`{name}` cannot be a part of a path"),
        FillError::TooLong => "the arguments are too long for a URL".to_owned(),
    })
}
