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

/// All files. Changes whenever one of them does.
struct Assets {
    version: String,
    files: BTreeMap<&'static str, Asset>,
}

/// A new version of the program is seen at once; an old page of it costs one short answer.
const ASK: &str = "no-cache";
/// The address has the version in it: there is never anything else behind it.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// The routes of the console.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/", get(first)).route("/console/{*path}", get(file)).with_state(Arc::new(Assets::read()))
}

impl Assets {
    fn read() -> Self {
        let mut all = Sha256::new();
        FILES.iter().for_each(|(_, bytes)| all.update(bytes));
        let version = hex_of(&all.finalize());
        let files = FILES.iter().filter_map(|(name, bytes)| Some((*name, asset(name, bytes, &version)?)));
        Self { files: files.collect(), version }
    }
}

/// The first digits of a hash.
fn hex_of(digest: &[u8]) -> String {
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn asset(name: &str, bytes: &'static [u8], version: &str) -> Option<Asset> {
    let kind = match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    };
    let plain = match name {
        // Everything that the page asks for has the version in its address; modules name each other beside themselves.
        FIRST => {
            Bytes::from(std::str::from_utf8(bytes).ok()?.replace("\"/console/", &format!("\"/console/{version}/")))
        }
        _ => Bytes::from_static(bytes),
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&plain).ok()?;
    let packed = encoder.finish().ok()?;
    let tag = HeaderValue::from_str(&format!("\"{}\"", hex_of(&Sha256::digest(&plain)))).ok()?;
    Some(Asset { kind, tag, plain, packed: packed.into() })
}

async fn first(State(assets): State<Arc<Assets>>, headers: HeaderMap) -> Response {
    sent(&assets, FIRST, ASK, &headers)
}

/// A file, perhaps of a version. Of another version there is only this one, and nobody keeps it under that address.
async fn file(State(assets): State<Arc<Assets>>, Path(path): Path<String>, headers: HeaderMap) -> Response {
    let (version, name) = path.split_once('/').unwrap_or(("", &path));
    let keep = if version == assets.version { FOREVER } else { ASK };
    sent(&assets, name, keep, &headers)
}

fn sent(assets: &Assets, name: &str, keep: &'static str, headers: &HeaderMap) -> Response {
    let Some(asset) = assets.files.get(name) else {
        return Refusal::new(ApiCode::NotFound, "the console has no such file").into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| *tag == asset.tag);
    let response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if takes_gzip(headers) {
        ([(header::CONTENT_ENCODING, "gzip")], asset.packed.clone()).into_response()
    } else {
        asset.plain.clone().into_response()
    };
    let fixed = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, keep),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    (fixed, [(header::ETAG, asset.tag.clone())], response).into_response()
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
