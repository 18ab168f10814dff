//! The routes: which there are, who may use them, and what surrounds every handler.

pub mod choose;
pub mod events;
pub mod health;
pub mod inference;
pub mod label;
pub mod learn;
pub mod models;
pub mod page;
pub mod predict;
mod receive;
pub mod snapshot;
mod view;

use crate::auth::Role;
use crate::error::{ApiError, Code};
use crate::openapi;
use crate::service::Service;
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// Everybody.
    All,
    /// Tokens of this role, or a stronger one.
    From(Role),
}

/// A route.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with the names of its parts.
    pub path: &'static str,
    /// Who may use it.
    pub allowed: Allowed,
}

const fn route(method: &'static str, path: &'static str, allowed: Allowed) -> Route {
    Route { method, path, allowed }
}

const ALL: Allowed = Allowed::All;
const READ: Allowed = Allowed::From(Role::Read);
const LEARN: Allowed = Allowed::From(Role::Learn);
const ADMIN: Allowed = Allowed::From(Role::Admin);

/// Every route. One that is not in this table is refused, and the OpenAPI document lists the same.
pub const ROUTES: &[Route] = &[
    route("GET", "/", ALL),
    route("GET", "/healthz", ALL),
    route("GET", "/readyz", ALL),
    route("GET", "/version", ALL),
    route("GET", "/openapi.json", ALL),
    route("GET", "/metrics", READ),
    route("GET", "/v1/models", READ),
    route("GET", "/v1/models/{model}", READ),
    route("PUT", "/v1/models/{model}", ADMIN),
    route("DELETE", "/v1/models/{model}", ADMIN),
    route("POST", "/v1/models/{model}/learn", LEARN),
    // rows with an identifier are remembered, for which the handler asks for `learn`
    route("POST", "/v1/models/{model}/predict", READ),
    route("POST", "/v1/models/{model}/label", LEARN),
    route("POST", "/v1/models/{model}/choose", LEARN),
    route("GET", "/v1/models/{model}/snapshot", READ),
    route("GET", "/v1/models/{model}/events", READ),
    route("POST", "/v1/admin/tokens/reload", ADMIN),
    route("GET", "/v2", READ),
    route("GET", "/v2/health/live", ALL),
    route("GET", "/v2/health/ready", ALL),
    route("GET", "/v2/models/{model}", READ),
    route("GET", "/v2/models/{model}/ready", READ),
    route("POST", "/v2/models/{model}/infer", READ),
];

/// All routes of a service.
pub fn router(service: Arc<Service>) -> Router {
    let request_id = HeaderName::from_static("x-request-id");
    Router::new()
        .route("/", get(page::page))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/version", get(health::version))
        .route("/openapi.json", get(openapi::document))
        .route("/metrics", get(health::metrics))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{model}", put(models::create).get(models::show).delete(models::delete))
        .route("/v1/models/{model}/learn", post(learn::learn))
        .route("/v1/models/{model}/predict", post(predict::predict))
        .route("/v1/models/{model}/label", post(label::label))
        .route("/v1/models/{model}/choose", post(choose::choose))
        .route("/v1/models/{model}/snapshot", get(snapshot::snapshot))
        .route("/v1/models/{model}/events", get(events::events))
        .route("/v1/admin/tokens/reload", post(health::reload_tokens))
        .route("/v2", get(inference::server))
        .route("/v2/health/live", get(health::live))
        .route("/v2/health/ready", get(health::ready))
        .route("/v2/models/{model}", get(inference::metadata))
        .route("/v2/models/{model}/ready", get(inference::model_ready))
        .route("/v2/models/{model}/infer", post(inference::infer))
        .route_layer(from_fn_with_state(service.clone(), guard))
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(PropagateRequestIdLayer::new(request_id.clone()))
        .layer(SetRequestIdLayer::new(request_id, MakeRequestUuid))
        .with_state(service)
}

/// Checks the role, counts the request and adds the headers that every answer has.
async fn guard(
    State(service): State<Arc<Service>>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    let method = match *request.method() {
        // an answer to HEAD is that to GET without its body
        Method::HEAD => "GET",
        _ => request.method().as_str(),
    };
    let known = ROUTES.iter().find(|route| route.path == path.as_str() && route.method == method);
    let allowed = known.map_or(ADMIN, |route| route.allowed);
    let checked = match allowed {
        Allowed::All => Ok(()),
        Allowed::From(role) => service.access.require(request.headers(), role),
    };
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let route = known.map_or("other", |route| route.path);
    service.telemetry.answered(route, response.status().as_u16());
    let headers = response.headers_mut();
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    response
}

async fn unknown_route() -> ApiError {
    ApiError::new(Code::UnknownRoute, "there is no such route").hint("GET /openapi.json lists all")
}

async fn wrong_method() -> ApiError {
    ApiError::new(Code::MethodNotAllowed, "the route does not take this method")
        .hint("GET /openapi.json lists the methods of each route")
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::internal("a handler panicked").into_response()
}
