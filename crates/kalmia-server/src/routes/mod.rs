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
mod tensors;
mod view;

use crate::auth::{Access, Role};
use crate::error::{ApiError, Code};
use crate::openapi;
use crate::service::Service;
use axum::Router;
use axum::body::HttpBody;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use receive::BodyRead;
use std::net::IpAddr;
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
        .layer(from_fn(close_unread))
        .layer(PropagateRequestIdLayer::new(request_id.clone()))
        .layer(SetRequestIdLayer::new(request_id, MakeRequestUuid))
        .with_state(service)
}

/// Bytes of a reason that is not ours.
const MAX_REASON: usize = 4096;

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
    let checked = same_origin(&service.access, request.headers()).and_then(|()| match allowed {
        Allowed::All => Ok(()),
        Allowed::From(role) => service.access.require(request.headers(), role),
    });
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    if response.status().is_client_error() && response.extensions().get::<Code>().is_none() {
        // from an extractor of axum, as plain text
        let text = axum::body::to_bytes(response.into_body(), MAX_REASON).await;
        let text = text.unwrap_or_default();
        response = bad_address(&String::from_utf8_lossy(&text)).into_response();
    }
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

/// Says in the answer that the connection ends with it, if the body was not read to its end.
async fn close_unread(mut request: Request, next: Next) -> Response {
    let has_body = !request.body().is_end_stream();
    let body_read = BodyRead::default();
    request.extensions_mut().insert(body_read.clone());
    let mut response = next.run(request).await;
    if has_body && !body_read.is_complete() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Refuses what a page of another site sends. Such a page could otherwise use a service without
/// tokens through the browser of somebody on this machine, by a plain form or by a name of its own
/// that resolves to this machine.
fn same_origin(access: &Access, headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let foreign = |what: String| {
        Err(ApiError::new(Code::Forbidden, what)
            .hint("call the service by its own address, or put a proxy with tokens before it"))
    };
    if let Some(origin) = text(header::ORIGIN)
        && origin.split_once("://").is_none_or(|(_, place)| place != host)
    {
        return foreign("a page of another site may not use this service".into());
    }
    if matches!(access, Access::Open) && !is_loopback(host) {
        return foreign(format!("without tokens this machine is not called `{host}`"));
    }
    Ok(())
}

/// Whether a Host header names the loopback interface.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

async fn unknown_route() -> ApiError {
    ApiError::new(Code::UnknownRoute, "there is no such route").hint("GET /openapi.json lists all")
}

/// A parameter that a route does not take, or a path that is no text; `reason` is axum's.
fn bad_address(reason: &str) -> ApiError {
    let parameter = reason.strip_prefix("Failed to deserialize query string: ");
    let message = match parameter {
        Some(reason) => format!("a parameter of the address is not right: {reason}"),
        None => "the path or a parameter of the address cannot be read".to_owned(),
    };
    ApiError::new(Code::BadRequest, message)
        .hint("GET /openapi.json lists the parameters of each route")
}

async fn wrong_method() -> ApiError {
    ApiError::new(Code::MethodNotAllowed, "the route does not take this method")
        .hint("GET /openapi.json lists the methods of each route")
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::internal("a handler panicked").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in
            ["localhost", "localhost:8642", "127.0.0.1", "127.0.0.9:1", "[::1]:8642", "[::1]"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "evil.example:8642", "localhost.evil.example", "10.0.0.1", "[::2]:1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let refused = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            same_origin(&Access::Open, &headers).is_err()
        };
        assert!(!refused("localhost:8642", None));
        assert!(!refused("localhost:8642", Some("http://localhost:8642")));
        assert!(refused("localhost:8642", Some("http://evil.example")));
        assert!(refused("localhost:8642", Some("null")));
        assert!(refused("evil.example", Some("http://evil.example")));
        assert!(refused("evil.example", None));
    }
}
