//! The same conversations with a bare HTTP client: what nobody can be quicker than.

use serde_json::{Value, json};

use super::parameters;

/// A client and where it sends to.
#[derive(Clone)]
pub(super) struct Bare {
    pub(super) http: reqwest::Client,
    pub(super) url: String,
}

impl Bare {
    pub(super) fn new(base_url: &str) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().tls_certs_only([]).build()?;
        Ok(Self { http, url: format!("{}/chat/completions", base_url.trim_end_matches('/')) })
    }

    /// A conversation to its end, with tools that do nothing.
    pub(super) async fn run(&self, script: &str, messages: &[Value]) -> anyhow::Result<()> {
        let mut messages = messages.to_vec();
        let function = json!({ "name": "work", "description": "do work", "parameters": parameters() });
        let tools = json!([{ "type": "function", "function": function }]);
        loop {
            let body = json!({ "model": script, "messages": messages, "tools": tools });
            let body = serde_json::to_vec(&body)?;
            let request = self.http.post(&self.url).bearer_auth("x").header("content-type", "application/json");
            let answer = request.body(body).send().await?.error_for_status()?.bytes().await?;
            let mut answer: Value = serde_json::from_slice(&answer)?;
            let message = answer["choices"][0]["message"].take();
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            messages.push(message);
            if calls.is_empty() {
                return Ok(());
            }
            let result = |call: &Value| json!({ "role": "tool", "tool_call_id": call["id"], "content": "ok" });
            messages.extend(calls.iter().map(result));
        }
    }
}

/// What a run begins with.
pub(super) fn go() -> Vec<Value> {
    vec![json!({ "role": "user", "content": "go" })]
}
