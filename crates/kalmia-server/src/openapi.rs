//! The OpenAPI document, made from the handlers.

use crate::routes;
use axum::Json;
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "kalmia",
        description = "Generalized linear models that learn while they predict. Every request that \
                       writes is durable before it is answered."
    ),
    paths(
        routes::page::page,
        routes::health::healthz,
        routes::health::readyz,
        routes::health::version,
        routes::health::metrics,
        routes::health::reload_tokens,
        routes::health::live,
        routes::health::ready,
        routes::models::list,
        routes::models::create,
        routes::models::show,
        routes::models::delete,
        routes::learn::learn,
        routes::predict::predict,
        routes::label::label,
        routes::choose::choose,
        routes::snapshot::snapshot,
        routes::events::events,
        routes::inference::server,
        routes::inference::metadata,
        routes::inference::model_ready,
        routes::inference::infer,
        document,
    )
)]
struct Document;

/// The document, as it is committed.
pub fn json() -> String {
    let mut text = Document::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operation",
    responses((status = 200, description = "The OpenAPI document", body = Object)))]
pub async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Document::openapi())
}
