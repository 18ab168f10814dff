//! `POST /v1/models/{model}/learn`.

use super::receive::{apart, append, key, noted, receive, table};
use crate::body::{Body, BodyFormat};
use crate::error::{ErrorBody, Result};
use crate::hosted::{Hosted, Kind, Learned, Live, ServedRows, learn_entry};
use crate::jobs::Rows;
use crate::service::Service;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use kalmia_data::{Mode, TableSchema};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// The options of learning.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LearnQuery {
    /// 1: predict each row before it is learned, and return the predictions. Rows are then learned
    /// one by one.
    #[serde(default)]
    predict: u8,
}

/// Learns rows, durably and once.
///
/// Rows are learned in the order of arrival, all rows of a request or none. The answer comes after
/// they are on the disk and in the model. A request that is repeated with the same
/// `Idempotency-Key` gets the answer of the first one.
#[utoipa::path(
    post,
    path = "/v1/models/{model}/learn",
    tag = "learning",
    params(
        ("model" = String, Path, description = "The model's name"),
        LearnQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "A key of the client's choice"),
    ),
    request_body(
        description = "Rows with the model's columns and its target, as JSON, JSON Lines, CSV or \
                       an Arrow stream",
        content(
            (Object = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
            (Vec<u8> = "application/vnd.apache.arrow.stream"),
        )
    ),
    responses(
        (status = 200, description = "The rows were learned", body = Learned),
        (status = "4XX", description = "Nothing was learned", body = ErrorBody),
        (status = 507, description = "The disk is full; nothing was learned", body = ErrorBody),
    )
)]
pub async fn learn(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Query(query): Query<LearnQuery>,
    request: Request,
) -> Result<Json<Learned>> {
    let hosted = service.model(&name)?;
    noted(&hosted, learn_rows(&service, &hosted, query.predict != 0, request).await).map(Json)
}

async fn learn_rows(
    service: &Arc<Service>,
    hosted: &Arc<Hosted>,
    predict: bool,
    request: Request,
) -> Result<Learned> {
    hosted.check()?;
    let (headers, bytes) = receive(service, request).await?;
    let format = BodyFormat::of(&headers)?;
    let kind = if predict { Kind::Predicted } else { Kind::Batch };
    let route = if predict { "learn?predict" } else { "learn" };
    let key = key(hosted, &headers, route, &bytes)?;
    let schema = match hosted.schema() {
        Some(schema) => schema,
        None => first_rows(service, hosted, &bytes, format).await?,
    };
    let table = table(service, bytes, format, schema, Mode::Learn).await?;
    let bytes = table.to_bytes();
    append(service, hosted, key, Rows::Given { table, bytes, kind }).await
}

/// Lets the rows of a first request decide the columns.
async fn first_rows(
    service: &Arc<Service>,
    hosted: &Arc<Hosted>,
    bytes: &Bytes,
    format: BodyFormat,
) -> Result<TableSchema> {
    let _first = hosted.first_rows.lock().await;
    if let Some(schema) = hosted.schema() {
        return Ok(schema);
    }
    let body = Body::new(bytes.to_vec(), format, &service.config.limits)?;
    let declaration = hosted.declaration.clone();
    let first = body.clone();
    let model = apart(bytes.len(), move || declaration.first_model(&first)).await?;
    service.check_memory(Some(&model)).await?;
    let live = apart(bytes.len(), move || {
        let live = Live::new(model);
        let table = body.table(&live.model.encoder().table_schema(), Mode::Learn)?;
        // rows that would be refused decide nothing
        learn_entry(&mut live.copy(), 1, Kind::Batch, &table, &ServedRows::default())?;
        Ok(live)
    })
    .await?;
    service.give_first_state(hosted, live).await?;
    hosted.schema().ok_or_else(|| hosted.empty())
}
