//! `POST /v1/models/{model}/choose`: Thompson sampling among candidates.

use super::predict::{Made, check_id, forecasts, remember_rows};
use super::receive::{noted, receive};
use crate::body::{Body, BodyFormat};
use crate::error::{ApiError, Code, ErrorBody, Result};
use crate::hosted::{Hosted, LEVEL, ServedRow};
use crate::prediction::{NumberPrediction, Prediction, predictions};
use crate::service::Service;
use crate::store::sql::PendingRow;
use axum::Json;
use axum::extract::{Path, Request, State};
use kalmia_data::Mode;
use rand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use utoipa::ToSchema;

/// Draws that the probability of a choice is estimated from.
const DRAWS: usize = 1000;
/// Candidates of a choice at most.
const MAX_CANDIDATES: usize = 1000;

/// What to choose from.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChooseBody {
    /// The features of each candidate.
    #[schema(value_type = Vec<Object>)]
    candidates: Box<RawValue>,
    /// The identifier of the choice, under which its reward comes; made up if it is left out.
    id: Option<String>,
}

/// What was chosen.
#[derive(Debug, Serialize, ToSchema)]
pub struct Chosen {
    /// The place of the candidate, from 0.
    pub choice: usize,
    /// The probability with which it was chosen, for inverse-propensity estimates.
    pub probability: f64,
    /// The identifier to label with the reward.
    pub id: String,
    /// The prediction for the candidate.
    pub prediction: NumberPrediction,
}

/// Chooses a candidate by Thompson sampling.
///
/// The coefficients are drawn once from the belief, and the candidate of the largest mean under
/// them is chosen. Its row is remembered until `label` brings the reward. A reward is a number or
/// one of two labels: models of several classes or quantiles do not choose.
#[utoipa::path(
    post,
    path = "/v1/models/{model}/choose",
    tag = "learning",
    params(("model" = String, Path, description = "The model's name")),
    request_body = ChooseBody,
    responses(
        (status = 200, description = "The choice", body = Chosen),
        (status = "4XX", description = "Nothing was chosen", body = ErrorBody),
    )
)]
pub async fn choose(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Chosen>> {
    let hosted = service.model(&name)?;
    noted(&hosted, choose_row(&service, &hosted, request).await).map(Json)
}

async fn choose_row(
    service: &Arc<Service>,
    hosted: &Arc<Hosted>,
    request: Request,
) -> Result<Chosen> {
    hosted.check()?;
    let (_, bytes) = receive(service, request).await?;
    let body: ChooseBody = serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::new(Code::BadRequest, format!("the body is not right: {error}"))
            .hint(r#"send {"candidates": [{...}, {...}], "id": "optional"}"#)
    })?;
    let id = body.id.unwrap_or_else(|| format!("{:032x}", rand::rng().next_u64()));
    check_id(&id, 0)?;
    let mut limits = service.config.limits.clone();
    limits.rows = limits.rows.min(MAX_CANDIDATES);
    let schema = hosted.schema().ok_or_else(|| hosted.empty())?;
    let candidates = body.candidates.get().as_bytes().to_vec();
    let table = Body::new(candidates, BodyFormat::Json, &limits)?.table(&schema, Mode::Predict)?;
    let chosen = {
        let hosted = hosted.clone();
        let table = table.clone();
        let draw = move || {
            let guard = hosted.live.blocking_read();
            let live = guard.as_ref().ok_or_else(|| hosted.empty())?;
            let model = live.model.numbers("cannot choose the candidate of the largest mean")?;
            Ok::<_, ApiError>(model.choose_table(&table, DRAWS, &mut rand::rng())?)
        };
        tokio::task::spawn_blocking(draw).await.map_err(ApiError::internal)??
    };
    let row = Arc::new(table.slice(chosen.row..chosen.row + 1));
    let Made { forecasts, .. } = forecasts(hosted, &row, bytes.len(), LEVEL, None).await?;
    let Some(Some(Prediction::Number(prediction))) = predictions(forecasts).pop() else {
        return Err(ApiError::new(Code::MissingValue, "the chosen candidate lacks a value"));
    };
    let served = ServedRow(vec![prediction.mean]);
    let pending = PendingRow { row: row.to_bytes(), served };
    remember_rows(service, hosted, vec![(id.clone(), pending, Some(chosen.probability))]).await?;
    Ok(Chosen { choice: chosen.row, probability: chosen.probability, id, prediction })
}
