//! Routes for operators: health, version, metrics, tokens.

use crate::auth::Access;
use crate::error::{ApiError, Code, ErrorBody, Result};
use crate::service::Service;
use crate::telemetry;
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    status: &'static str,
}

/// The version of the service.
#[derive(Debug, Serialize, ToSchema)]
pub struct Version {
    /// `kalmia`.
    name: &'static str,
    /// As `kalmia --version` prints it.
    version: &'static str,
}

/// The tokens in use.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenCount {
    /// How many the file has.
    tokens: usize,
}

/// Whether the process runs.
#[utoipa::path(get, path = "/healthz", tag = "operation",
    responses((status = 200, description = "It runs", body = Health)))]
pub async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether it takes requests: the log is learned, and it does not stop.
#[utoipa::path(get, path = "/readyz", tag = "operation",
    responses(
        (status = 200, description = "It takes requests", body = Health),
        (status = 503, description = "It stops", body = ErrorBody),
    ))]
pub async fn readyz(State(service): State<Arc<Service>>) -> Result<Json<Health>> {
    if service.is_stopping() {
        return Err(ApiError::shutting_down());
    }
    Ok(Json(Health { status: "ok" }))
}

/// As `/healthz`, for the Open Inference Protocol.
#[utoipa::path(get, path = "/v2/health/live", tag = "open inference protocol",
    responses((status = 200, description = "It runs", body = Live)))]
pub async fn live() -> Json<Live> {
    Json(Live { live: true })
}

/// Whether the process runs.
#[derive(Debug, Serialize, ToSchema)]
pub struct Live {
    live: bool,
}

/// As `/readyz`, for the Open Inference Protocol.
#[utoipa::path(get, path = "/v2/health/ready", tag = "open inference protocol",
    responses(
        (status = 200, description = "It takes requests", body = Ready),
        (status = 503, description = "It stops", body = ErrorBody),
    ))]
pub async fn ready(State(service): State<Arc<Service>>) -> Result<Json<Ready>> {
    readyz(State(service)).await.map(|_| Json(Ready { ready: true }))
}

/// Whether requests are taken.
#[derive(Debug, Serialize, ToSchema)]
pub struct Ready {
    ready: bool,
}

/// The version.
#[utoipa::path(get, path = "/version", tag = "operation",
    responses((status = 200, description = "The version", body = Version)))]
pub async fn version() -> Json<Version> {
    Json(Version { name: "kalmia", version: env!("CARGO_PKG_VERSION") })
}

/// Metrics in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operation",
    responses((status = 200, description = "The metrics", body = String,
               content_type = "application/openmetrics-text")))]
pub async fn metrics(State(service): State<Arc<Service>>) -> Result<Response> {
    let text = telemetry::text(&service).await.map_err(ApiError::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Reads the token file again, as SIGHUP does. If it cannot be read, the tokens stay.
#[utoipa::path(post, path = "/v1/admin/tokens/reload", tag = "operation",
    responses(
        (status = 200, description = "The tokens in use", body = TokenCount),
        (status = 400, description = "The tokens are as before", body = ErrorBody),
    ))]
pub async fn reload_tokens(State(service): State<Arc<Service>>) -> Result<Json<TokenCount>> {
    let refuse = |message: String| Err(ApiError::new(Code::BadRequest, message));
    match &service.access {
        Access::Open => refuse("the service was started without --token-file".into()),
        Access::Tokens(file) => match file.reload() {
            Ok(tokens) => Ok(Json(TokenCount { tokens })),
            Err(problem) => refuse(problem),
        },
    }
}
