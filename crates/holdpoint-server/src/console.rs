//! The console: pages for people, made of files that are part of the program. They use the public API and nothing else, so
//! that whatever they can do a program can do too.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use holdpoint_api::ApiCode;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::refusal::Refusal;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../console/", $name)) as &[u8])),*]
    };
}

/// Every file of the console.
const FILES: &[(&str, &[u8])] = files![
    "agents.js",
    "answer.js",
    "api.js",
    "app.js",
    "audit.js",
    "console.css",
    "conversation.js",
    "dom.js",
    "grants.js",
    "icon.svg",
    "inbox.js",
    "index.html",
    "json.js",
    "policy.js",
    "question.js",
    "queue.js",
    "run.js",
    "runs.js",
    "schema.js",
    "shell.js",
    "signin.js",
    "start.js",
    "table.js",
    "theme.js",
    "time.js",
    "timeline.js",
    "tools.js",
    "value.js",
    "virtual.js",
    "visible.js",
    "waiting.js",
];

/// The page that everything begins with.
const FIRST: &str = "index.html";

/// Scripts, styles and requests of this server alone, nothing inline, no text that becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// One file, ready to be sent.
struct Asset {
    kind: &'static str,
    tag: HeaderValue,
    plain: Bytes,
    packed: Bytes,
}

type Assets = Arc<BTreeMap<&'static str, Asset>>;

/// The routes of the console.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let assets: Assets =
        Arc::new(FILES.iter().filter_map(|(name, bytes)| Some((*name, asset(name, bytes)?))).collect());
    Router::new().route("/", get(first)).route("/console/{name}", get(file)).with_state(assets)
}

fn asset(name: &str, bytes: &'static [u8]) -> Option<Asset> {
    let kind = match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    let packed = encoder.finish().ok()?;
    let digest = u64::from_be_bytes(Sha256::digest(bytes).first_chunk().copied()?);
    let tag = HeaderValue::from_str(&format!("\"{digest:016x}\"")).ok()?;
    Some(Asset { kind, tag, plain: Bytes::from_static(bytes), packed: packed.into() })
}

async fn first(State(assets): State<Assets>, headers: HeaderMap) -> Response {
    sent(&assets, FIRST, &headers)
}

async fn file(State(assets): State<Assets>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    sent(&assets, &name, &headers)
}

fn sent(assets: &Assets, name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = assets.get(name) else {
        return Refusal::new(ApiCode::NotFound, "the console has no such file").into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| *tag == asset.tag);
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if takes_gzip(headers) {
        let mut response = asset.packed.clone().into_response();
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response
    } else {
        asset.plain.clone().into_response()
    };
    let fixed = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.kind)),
        (header::ETAG, asset.tag.clone()),
        // A new version of the program is seen at once; an old page of it costs one short answer.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, value);
    }
    response
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0")
    })
}

#[cfg(test)]
mod tests;
