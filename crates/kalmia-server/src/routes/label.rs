//! `POST /v1/models/{model}/label`.

use super::receive::{append, key, noted, receive, table};
use crate::body::BodyFormat;
use crate::error::{ErrorBody, Result};
use crate::hosted::{Hosted, ID, Learned};
use crate::jobs::Rows;
use crate::service::Service;
use axum::Json;
use axum::extract::{Path, Request, State};
use kalmia_data::Mode;
use std::sync::Arc;

/// The target in a label; the model's own name for it is read too.
const TARGET: &str = "y";

/// Learns rows that were predicted or chosen earlier, now that their targets are known.
///
/// Each label names the `id` under which its row waits. All labels of a request are learned, or
/// none. The loss of the predictions as they were served is reported apart.
#[utoipa::path(
    post,
    path = "/v1/models/{model}/label",
    tag = "learning",
    params(
        ("model" = String, Path, description = "The model's name"),
        ("Idempotency-Key" = Option<String>, Header, description = "A key of the client's choice"),
    ),
    request_body(
        description = "Rows of `id` and `y`, or the target's own name, in any format of learning",
        content((Object = "application/json", example = json!([{"id": "a1", "y": 1}])))
    ),
    responses(
        (status = 200, description = "The labels were learned", body = Learned),
        (status = 404, description = "No row waits under an id", body = ErrorBody),
        (status = "4XX", description = "Nothing was learned", body = ErrorBody),
    )
)]
pub async fn label(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Learned>> {
    let hosted = service.model(&name)?;
    noted(&hosted, label_rows(&service, &hosted, request).await).map(Json)
}

async fn label_rows(
    service: &Arc<Service>,
    hosted: &Arc<Hosted>,
    request: Request,
) -> Result<Learned> {
    hosted.check()?;
    let (headers, bytes) = receive(service, request).await?;
    let format = BodyFormat::of(&headers)?;
    let key = key(hosted, &headers, "label", &bytes)?;
    let schema = hosted.schema().ok_or_else(|| hosted.empty())?;
    let labels = table(service, bytes, format, schema.labels(ID, TARGET), Mode::Learn).await?;
    append(service, hosted, key, Rows::Labels { labels, schema }).await
}
