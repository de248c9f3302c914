//! The page at `/docs`: the OpenAPI document and the codes, made here, with nothing from anywhere else.

use std::fmt::Write as _;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use holdpoint::Code;
use holdpoint_api::{ApiCode, ProblemCode};
use http::header;
use serde_json::Value;
use utoipa::openapi::OpenApi;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h2{margin-top:2.5rem}h3{margin:2rem 0 .3rem}code,pre{font:14px/1.4 ui-monospace,monospace}
pre{background:#f4f4f4;padding:.8rem;overflow:auto;border-radius:4px}
table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}
.method{display:inline-block;min-width:4.5rem;font-weight:600}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#262626}a{color:#8bf}}";

/// Nothing but its own style.
pub(crate) const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Nothing of this server is shown inside another page, and no address of it is told to others.
pub(crate) async fn harden(request: Request, next: Next) -> Response {
    let headers = [(header::REFERRER_POLICY, "no-referrer"), (header::X_FRAME_OPTIONS, "DENY")];
    (headers, next.run(request).await).into_response()
}

/// The whole page.
pub(crate) fn page(document: &OpenApi) -> String {
    let document = serde_json::to_value(document).unwrap_or_default();
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Holdpoint API</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\
         <h1>Holdpoint API</h1><p>{}</p><p>The same as a document: <a href=\"/openapi.json\">openapi.json</a>.</p>",
        escaped(text(&document["info"]["description"])),
    );
    for tag in document["tags"].as_array().into_iter().flatten() {
        write_tag(&mut html, &document, tag);
    }
    html.push_str("<h2>Schemas</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let shown = serde_json::to_string_pretty(schema).unwrap_or_default();
        // Writing to memory does not fail, here and below.
        let _ = write!(html, "<h3 id=\"schema-{0}\">{0}</h3><pre>{1}</pre>", escaped(name), escaped(&shown));
    }
    write_codes(&mut html);
    html
}

fn write_tag(html: &mut String, document: &Value, tag: &Value) {
    let name = text(&tag["name"]);
    let _ = write!(html, "<h2>{}</h2><p>{}</p>", escaped(name), escaped(text(&tag["description"])));
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let tagged = operation["tags"].as_array().is_some_and(|tags| tags.iter().any(|tag| text(tag) == name));
            if tagged {
                write_operation(html, path, method, operation);
            }
        }
    }
}

fn write_operation(html: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        html,
        "<h3 id=\"{}\"><span class=\"method\">{}</span> <code>{}</code></h3><p>{}</p>",
        escaped(text(&operation["operationId"])),
        escaped(&method.to_uppercase()),
        escaped(path),
        escaped(text(&operation["summary"])),
    );
    if let Some(description) = operation["description"].as_str() {
        let _ = write!(html, "<p>{}</p>", escaped(description));
    }
    let parameters = operation["parameters"].as_array().filter(|parameters| !parameters.is_empty());
    if let Some(parameters) = parameters {
        html.push_str("<table>");
        for parameter in parameters {
            let _ = write!(
                html,
                "<tr><td><code>{}</code><td>{}<td>{}",
                escaped(text(&parameter["name"])),
                escaped(text(&parameter["in"])),
                escaped(text(&parameter["description"])),
            );
        }
        html.push_str("</table>");
    }
    if let Some(schema) = schema_name(&operation["requestBody"]["content"]["application/json"]["schema"]) {
        let _ = write!(html, "<p>Body: <a href=\"#schema-{0}\">{0}</a>", escaped(schema));
    }
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let schema = answer["content"].as_object().into_iter().flatten();
        let schema = schema.filter_map(|(_, content)| schema_name(&content["schema"])).next();
        let link = schema.map(|name| format!(": <a href=\"#schema-{0}\">{0}</a>", escaped(name))).unwrap_or_default();
        let _ = write!(html, "<p><code>{}</code> {}{link}", escaped(status), escaped(text(&answer["description"])));
    }
}

fn schema_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn write_codes(html: &mut String) {
    html.push_str("<h2>Codes</h2><p>Every problem has one of these as its <code>code</code>.</p><table>");
    let run = Code::ALL.iter().map(|code| ProblemCode::Run(*code));
    for code in ApiCode::ALL.iter().map(|code| ProblemCode::Api(*code)).chain(run) {
        let _ = write!(
            html,
            "<tr id=\"{0}\"><td><code>{0}</code><td>{1}<td>{2}",
            code.as_str(),
            code.status(),
            escaped(&code.title())
        );
    }
    html.push_str("</table>");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
