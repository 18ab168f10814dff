//! Creating, listing, showing and deleting models.

use super::receive::receive;
use super::view::{ModelBody, ModelLine, ModelList};
use crate::declaration::Declaration;
use crate::error::{ApiError, ErrorBody, Result};
use crate::service::Service;
use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use kalmia_model::AnyModel;
use std::sync::Arc;

/// Lists all models.
#[utoipa::path(
    get,
    path = "/v1/models",
    tag = "models",
    responses((status = 200, description = "All models, by name", body = ModelList))
)]
pub async fn list(State(service): State<Arc<Service>>) -> Json<ModelList> {
    let mut models = Vec::new();
    for hosted in service.models() {
        models.push(ModelLine::new(&hosted).await);
    }
    Json(ModelList { models })
}

/// Creates a model from a declaration, or from a `.kalmia` file.
///
/// The same declaration or file again changes nothing. A file is data and never code; it continues
/// with all that it has learned.
#[utoipa::path(
    put,
    path = "/v1/models/{model}",
    tag = "models",
    params(("model" = String, Path, description = "The model's name")),
    request_body(content(
        (Declaration = "application/json"),
        (Vec<u8> = "application/octet-stream"),
    )),
    responses(
        (status = 201, description = "It was created", body = ModelBody),
        (status = 200, description = "It was there already", body = ModelBody),
        (status = 409, description = "Another model has this name", body = ErrorBody),
        (status = "4XX", description = "It cannot be created", body = ErrorBody),
    )
)]
pub async fn create(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<ModelBody>)> {
    let (headers, bytes) = receive(&service, request).await?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let (declaration, model) = if kind == Some("application/octet-stream") {
        let read = move || {
            let model = AnyModel::from_bytes(&bytes)?;
            Ok::<_, ApiError>((Declaration::of_file(&model, &bytes), Some(model)))
        };
        tokio::task::spawn_blocking(read).await.map_err(ApiError::internal)??
    } else {
        let declaration = Declaration::parse(&bytes)?;
        let model = declaration.declared_model()?;
        (declaration, model)
    };
    let (hosted, new) = service.create(&name, declaration, model).await?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(ModelBody::new(&hosted).await?)))
}

/// Shows a model: scores, coefficients with intervals, drift, and what happened lately.
#[utoipa::path(
    get,
    path = "/v1/models/{model}",
    tag = "models",
    params(("model" = String, Path, description = "The model's name")),
    responses(
        (status = 200, description = "The model", body = ModelBody),
        (status = 404, description = "There is none", body = ErrorBody),
    )
)]
pub async fn show(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
) -> Result<Json<ModelBody>> {
    let hosted = service.model(&name)?;
    ModelBody::new(&hosted).await.map(Json)
}

/// Deletes a model with its log, its snapshots and the rows that wait for labels.
#[utoipa::path(
    delete,
    path = "/v1/models/{model}",
    tag = "models",
    params(("model" = String, Path, description = "The model's name")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "There is none", body = ErrorBody),
    )
)]
pub async fn delete(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    service.delete(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
