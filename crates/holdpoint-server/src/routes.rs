//! All routes, and the OpenAPI document that is made of them.
#![allow(unused_qualifications, reason = "the macros that describe routes name types in full")]

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Html;
use axum::routing::get;
use axum::{Json, Router};
use holdpoint_api::{ApiCode, ApprovalStatus, Problem};
use http::header::CONTENT_SECURITY_POLICY;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, OpenApi as _, PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::refusal::Refusal;
use crate::{auth, console, docs, guard, idempotency, outer};

mod agents;
mod answers;
mod approvals;
mod audit;
mod events;
mod grants;
mod links;
mod login;
mod meta;
mod policy;
mod queue;
mod resumed;
mod runs;
mod tasks;

/// What every route may answer instead.
pub(crate) struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let schema = Ref::from_schema_name(Problem::name());
        let content = Content::new(Some(schema));
        let response = ResponseBuilder::new()
            .description("Why the request was not done: branch on `code`")
            .content(holdpoint_api::PROBLEM_MEDIA_TYPE, content)
            .build();
        BTreeMap::from([("default".to_owned(), response.into())])
    }
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Holdpoint",
        description = "Runs the tool calls of LLM agents: decides, waits for people and workers, runs, remembers. \
            Every object belongs to a tenant; another tenant's is answered as if it were not there. \
            Every POST but the login honours `Idempotency-Key`: the same request again gets the first response again.",
    ),
    components(schemas(Problem, ApprovalStatus)),
    tags(
        (name = "runs", description = "Start, follow and end runs"),
        (name = "answers", description = "What people and programs bring to a paused run"),
        (name = "approvals", description = "Everything that waits for a person"),
        (name = "tasks", description = "The queue, for workers in any language"),
        (name = "insight", description = "Agents, tools, policies, grants, sessions and the audit log"),
        (name = "server", description = "The server itself"),
    ),
)]
struct Document;

/// The routes that need a caller.
fn protected() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(runs::start, runs::list))
        .routes(routes!(runs::show))
        .routes(routes!(runs::messages))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::retry))
        .routes(routes!(events::events))
        .routes(routes!(answers::answers))
        .routes(routes!(answers::results))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::changes))
        .routes(routes!(queue::list))
        .routes(routes!(tasks::lease))
        .routes(routes!(tasks::heartbeat))
        .routes(routes!(tasks::complete))
        .routes(routes!(tasks::fail))
        .routes(routes!(queue::requeue))
        .routes(routes!(queue::workers))
        .routes(routes!(grants::list))
        .routes(routes!(grants::revoke))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
        .routes(routes!(agents::list))
        .routes(routes!(agents::tools))
        .routes(routes!(policy::explain))
        .routes(routes!(runs::sessions))
        .routes(routes!(meta::keys))
        .routes(routes!(meta::metrics))
        .routes(routes!(login::who))
}

/// The routes that anybody may ask. What they tell is no secret.
fn open() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(login::login, login::logout))
        .routes(routes!(meta::health))
        .routes(routes!(meta::ready))
}

/// The OpenAPI 3.1 document of the API.
pub fn openapi() -> OpenApi {
    let mut secured = protected().into_openapi();
    for item in secured.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            operation.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
        }
    }
    let mut document = OpenApiRouter::with_openapi(Document::openapi()).merge(open()).into_openapi();
    document.merge(secured);
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = document.components.get_or_insert_default();
    components.security_schemes.insert("token".to_owned(), SecurityScheme::Http(scheme).into());
    components.schemas.insert(Problem::name().into_owned(), Problem::schema());
    links::add(&mut document);
    document
}

/// Everything together.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let document = openapi();
    let page = docs::page(&document);
    let (protected, _) = protected().split_for_parts();
    let (open, _) = open().split_for_parts();
    let protected = protected
        .route_layer(from_fn_with_state(Arc::clone(app), idempotency::once))
        .route_layer(from_fn_with_state(Arc::clone(app), auth::authenticate));
    let described = Router::new()
        .route("/openapi.json", get(async move || Json(document)))
        .route("/docs", get(async move || ([(CONTENT_SECURITY_POLICY, docs::POLICY)], Html(page.clone()))))
        .merge(console::router());
    protected
        .merge(open)
        .merge(described)
        .method_not_allowed_fallback(async || Refusal::new(ApiCode::MethodNotAllowed, "this route has no such method"))
        .fallback(async || Refusal::new(ApiCode::NotFound, "there is no such route; `/docs` lists them"))
        // Bodies have a limit of ours, which has a code.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(Arc::clone(app), guard::local_only))
        .layer(from_fn(guard::one_end))
        .layer(from_fn_with_state(Arc::clone(app), outer::outer))
        .layer(from_fn(docs::harden))
        .with_state(Arc::clone(app))
}
