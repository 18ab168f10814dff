//! `POST /v1/models/{model}/predict`.

use super::receive::{apart, noted, receive, table};
use crate::auth::Role;
use crate::body::BodyFormat;
use crate::error::{ApiError, Code, ErrorBody, Result};
use crate::hosted::{Hosted, LEVEL, ServedRow};
use crate::prediction::{Prediction, predictions};
use crate::service::{Service, after};
use crate::store::sql::{self, PendingRow};
use axum::Json;
use axum::extract::{Path, Query, Request, State};
use kalmia_data::{Block, Mode, Table};
use kalmia_model::{Forecasts, IntervalOf};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use utoipa::{IntoParams, ToSchema};

/// Characters of an identifier at most.
pub const MAX_ID: usize = 200;

/// The options of predicting.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PredictQuery {
    /// The probability of the intervals; 0.95 by default.
    #[serde(default = "level")]
    level: f64,
    /// What the interval holds: `mean`, `y`, `conformal` (of models that were declared with
    /// `conformal`) or `none`; by default the mean for labels, else y. Several classes and several
    /// quantiles have none.
    interval: Option<String>,
}

fn level() -> f64 {
    LEVEL
}

impl PredictQuery {
    fn interval(&self) -> Result<Option<IntervalOf>> {
        if !(self.level > 0.0 && self.level < 1.0) {
            let message = format!("level is {}", self.level);
            return Err(ApiError::new(Code::BadRequest, message)
                .hint("give a probability strictly between 0 and 1"));
        }
        match self.interval.as_deref() {
            None => Ok(None),
            Some("mean") => Ok(Some(IntervalOf::Mean)),
            Some("y") => Ok(Some(IntervalOf::Y)),
            Some("conformal") => Ok(Some(IntervalOf::Conformal)),
            Some("none") => Ok(Some(IntervalOf::None)),
            Some(other) => Err(ApiError::new(Code::BadRequest, format!("interval is `{other}`"))
                .hint("give mean, y, conformal or none")),
        }
    }
}

/// Predictions of rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct Predictions {
    /// One per row; null for a row left out for a missing value.
    pub predictions: Vec<Option<Prediction>>,
    /// The last entry of the log that the model knew.
    pub sequence: u64,
}

/// Predicts rows.
///
/// A row with an `id` is remembered until its label comes; that needs the role `learn`.
#[utoipa::path(
    post,
    path = "/v1/models/{model}/predict",
    tag = "predicting",
    params(("model" = String, Path, description = "The model's name"), PredictQuery),
    request_body(
        description = "Rows with the model's feature columns, as in learning, and optionally `id`",
        content(
            (Object = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
            (Vec<u8> = "application/vnd.apache.arrow.stream"),
        )
    ),
    responses(
        (status = 200, description = "The predictions", body = Predictions),
        (status = "4XX", description = "A row cannot be predicted", body = ErrorBody),
    )
)]
pub async fn predict(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Query(query): Query<PredictQuery>,
    request: Request,
) -> Result<Json<Predictions>> {
    let start = Instant::now();
    let hosted = service.model(&name)?;
    let outcome = noted(&hosted, predict_rows(&service, &hosted, query, request).await);
    service.telemetry.predicted(start.elapsed());
    outcome.map(Json)
}

async fn predict_rows(
    service: &Arc<Service>,
    hosted: &Arc<Hosted>,
    query: PredictQuery,
    request: Request,
) -> Result<Predictions> {
    hosted.check()?;
    let interval = query.interval()?;
    let (headers, bytes) = receive(service, request).await?;
    let format = BodyFormat::of(&headers)?;
    let schema = hosted.schema().ok_or_else(|| hosted.empty())?;
    let size = bytes.len();
    let table = table(service, bytes, format, schema, Mode::Predict).await?;
    let remembered = (0..table.rows()).any(|i| table.key(i).is_some());
    if remembered {
        service.access.require(&headers, Role::Learn)?;
    }
    let table = Arc::new(table);
    let Made { forecasts, sequence } =
        forecasts(hosted, &table, size, query.level, interval).await?;
    if remembered {
        remember(service, hosted, &table, &forecasts).await?;
    }
    Ok(Predictions { predictions: predictions(forecasts), sequence })
}

/// The forecasts of a table.
pub struct Made {
    /// One per row.
    pub forecasts: Forecasts,
    /// The last entry of the log that the model knew.
    pub sequence: u64,
}

/// Predicts a table with the model as it is.
pub async fn forecasts(
    hosted: &Arc<Hosted>,
    table: &Arc<Table>,
    size: usize,
    level: f64,
    interval: Option<IntervalOf>,
) -> Result<Made> {
    if size <= crate::body::SMALL_BODY {
        let reading = hosted.read().await?;
        let live = reading.live()?;
        let mut block = Block::new();
        let forecasts = live.model.forecast_table(table, level, interval, &mut block)?;
        return Ok(Made { forecasts, sequence: live.sequence });
    }
    let hosted = hosted.clone();
    let table = table.clone();
    apart(size, move || {
        let guard = hosted.live.blocking_read();
        let live = guard.as_ref().ok_or_else(|| hosted.empty())?;
        let forecasts = live.model.forecast_table(&table, level, interval, &mut Block::new())?;
        Ok(Made { forecasts, sequence: live.sequence })
    })
    .await
}

/// Remembers the rows that have an identifier, durably.
async fn remember(
    service: &Service,
    hosted: &Arc<Hosted>,
    table: &Table,
    forecasts: &Forecasts,
) -> Result<()> {
    let mut rows = Vec::new();
    for i in 0..table.rows() {
        let (Some(id), Some(served)) = (table.key(i), forecasts.served(i)) else { continue };
        check_id(id, i)?;
        let row = table.slice(i..i + 1).to_bytes();
        rows.push((id.to_owned(), PendingRow { row, served: ServedRow(served) }, None));
    }
    remember_rows(service, hosted, rows).await
}

/// Refuses identifiers that are too long.
pub fn check_id(id: &str, row: usize) -> Result<()> {
    if id.len() <= MAX_ID {
        return Ok(());
    }
    let message = format!("row {}: its `id` has more than {MAX_ID} characters", row + 1);
    Err(ApiError { row: Some(row as u64 + 1), ..ApiError::new(Code::BadRow, message) })
}

/// Remembers rows under their identifiers, each with the probability of its choice, if it was
/// chosen.
pub async fn remember_rows(
    service: &Service,
    hosted: &Arc<Hosted>,
    rows: Vec<(String, PendingRow, Option<f64>)>,
) -> Result<()> {
    if service.is_stopping() {
        return Err(ApiError::shutting_down());
    }
    let model = hosted.id;
    let expires = after(service.config.label_ttl);
    let size = |(_, row, _): &(_, PendingRow, _)| row.row.len() + 8 * row.served.0.len();
    let _room = service.admission.admit(rows.iter().map(size).sum())?;
    let added = service
        .store
        .call(move |writing| {
            let mut added = 0;
            for (id, row, probability) in &rows {
                let new =
                    sql::remember(writing.transaction, model, id, row, *probability, expires)?;
                added += u64::from(new);
            }
            Ok(added)
        })
        .await?;
    hosted.pending.fetch_add(added, Ordering::Relaxed);
    hosted.changed();
    Ok(())
}
