//! `GET /v1/models/{model}/snapshot`: the model file.

use crate::error::{ErrorBody, Result};
use crate::service::Service;
use crate::snapshots::current_file;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// The model as a `.kalmia` file, which the command and Python read.
#[utoipa::path(
    get,
    path = "/v1/models/{model}/snapshot",
    tag = "models",
    params(
        ("model" = String, Path, description = "The model's name"),
        ("If-None-Match" = Option<String>, Header, description = "The ETag of an earlier answer"),
    ),
    responses(
        (status = 200, description = "The file; its ETag is the sequence number", body = Vec<u8>,
         content_type = "application/octet-stream"),
        (status = 304, description = "It has not changed"),
        (status = "4XX", description = "There is no file", body = ErrorBody),
    )
)]
pub async fn snapshot(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    let hosted = service.model(&name)?;
    let tag = |sequence: u64| format!("\"{sequence}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let now = hosted.read().await?.live()?.sequence;
    if known == Some(tag(now).as_str()) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag(now))]).into_response());
    }
    let (sequence, bytes) = current_file(&hosted).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::ETAG, tag(sequence)),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.kalmia\"")),
    ];
    Ok((headers, bytes).into_response())
}
