//! `/v2`: predictions by the Open Inference Protocol, for clients of other servers.

use super::predict::{Made, forecasts};
use super::receive::{apart, noted, receive};
use super::tensors;
use crate::error::{ApiError, Code, ErrorBody, Result};
use crate::hosted::{Hosted, LEVEL};
use crate::service::Service;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::ArrowError;
use axum::Json;
use axum::extract::{Path, Request, State};
use kalmia_data::{Input, Kind, Mode, SourceOptions, Table, TableSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// The server.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServerMetadata {
    name: &'static str,
    version: &'static str,
    extensions: Vec<String>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelMetadata {
    name: String,
    /// The last entry of the log in the model.
    versions: Vec<String>,
    platform: &'static str,
    inputs: Vec<TensorMetadata>,
    outputs: Vec<TensorMetadata>,
}

/// A tensor of a model; -1 stands for the number of rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct TensorMetadata {
    pub(super) name: String,
    pub(super) datatype: &'static str,
    pub(super) shape: Vec<i64>,
}

/// Rows to predict: a tensor per column, or one of all columns in the model's order.
#[derive(Debug, Deserialize, ToSchema)]
pub struct InferBody {
    id: Option<String>,
    inputs: Vec<Tensor>,
}

/// A tensor.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Tensor {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    /// BOOL, FP64, FP32, an integer type, or BYTES for texts.
    pub(super) datatype: String,
    /// The values, row by row, nested or not.
    #[schema(value_type = Vec<Object>)]
    pub(super) data: Vec<Value>,
}

/// The predictions.
#[derive(Debug, Serialize, ToSchema)]
pub struct InferAnswer {
    model_name: String,
    model_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    outputs: Vec<Tensor>,
}

/// Whether a model predicts.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelReady {
    name: String,
    ready: bool,
}

/// The server's name and version.
#[utoipa::path(get, path = "/v2", tag = "open inference protocol",
    responses((status = 200, description = "The server", body = ServerMetadata)))]
pub async fn server() -> Json<ServerMetadata> {
    let version = env!("CARGO_PKG_VERSION");
    Json(ServerMetadata { name: "kalmia", version, extensions: Vec::new() })
}

/// The inputs and outputs of a model.
#[utoipa::path(get, path = "/v2/models/{model}", tag = "open inference protocol",
    params(("model" = String, Path, description = "The model's name")),
    responses(
        (status = 200, description = "The model", body = ModelMetadata),
        (status = "4XX", description = "It cannot predict", body = ErrorBody),
    ))]
pub async fn metadata(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
) -> Result<Json<ModelMetadata>> {
    let hosted = service.model(&name)?;
    let reading = hosted.read().await?;
    let live = reading.live()?;
    let tensor = |name: String, datatype| TensorMetadata { name, datatype, shape: vec![-1] };
    let columns = live.model.encoder().columns().iter();
    let inputs = columns
        .map(|column| {
            let datatype = match column.kind {
                Some(Kind::Boolean) => "BOOL",
                Some(Kind::Category | Kind::Text) => "BYTES",
                Some(Kind::Number) | None => "FP64",
            };
            tensor(column.name.clone(), datatype)
        })
        .collect();
    Ok(Json(ModelMetadata {
        name,
        versions: vec![live.sequence.to_string()],
        platform: "kalmia",
        inputs,
        outputs: tensors::metadata(&live.model),
    }))
}

/// Whether a model predicts.
#[utoipa::path(get, path = "/v2/models/{model}/ready", tag = "open inference protocol",
    params(("model" = String, Path, description = "The model's name")),
    responses(
        (status = 200, description = "It predicts", body = ModelReady),
        (status = "4XX", description = "It does not", body = ErrorBody),
    ))]
pub async fn model_ready(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
) -> Result<Json<ModelReady>> {
    service.model(&name)?.read().await?.live()?;
    Ok(Json(ModelReady { name, ready: true }))
}

/// Predicts rows.
#[utoipa::path(post, path = "/v2/models/{model}/infer", tag = "open inference protocol",
    params(("model" = String, Path, description = "The model's name")),
    request_body = InferBody,
    responses(
        (status = 200, description = "The predictions", body = InferAnswer),
        (status = "4XX", description = "A row cannot be predicted", body = ErrorBody),
    ))]
pub async fn infer(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<InferAnswer>> {
    let hosted = service.model(&name)?;
    noted(&hosted, infer_rows(&service, &hosted, request).await).map(Json)
}

async fn infer_rows(
    service: &Arc<Service>,
    hosted: &Arc<Hosted>,
    request: Request,
) -> Result<InferAnswer> {
    let (_, bytes) = receive(service, request).await?;
    let size = bytes.len();
    let names: Vec<String> = {
        let reading = hosted.read().await?;
        let columns = reading.live()?.model.encoder().columns().iter();
        columns.map(|column| column.name.clone()).collect()
    };
    let schema = hosted.schema().ok_or_else(|| hosted.empty())?;
    let max_rows = service.config.limits.rows;
    let (id, table) = apart(size, move || {
        let body: InferBody = serde_json::from_slice(&bytes).map_err(|error| {
            ApiError::new(Code::BadRequest, format!("the body is no inference request: {error}"))
        })?;
        Ok((body.id, table(body.inputs, &names, &schema, max_rows)?))
    })
    .await?;
    let Made { forecasts, sequence } =
        forecasts(hosted, &Arc::new(table), size, LEVEL, None).await?;
    Ok(InferAnswer {
        model_name: hosted.name.clone(),
        model_version: sequence.to_string(),
        id,
        outputs: tensors::outputs(forecasts),
    })
}

/// Tensors as rows.
fn table(
    tensors: Vec<Tensor>,
    names: &[String],
    schema: &TableSchema,
    max_rows: usize,
) -> Result<Table> {
    let columns: Vec<(String, ArrayRef)> = match &tensors[..] {
        [one] if one.shape.len() == 2 && (names.len() > 1 || one.name != names.concat()) => {
            split(one, names)?
        }
        _ => tensors
            .iter()
            .map(|tensor| Ok((tensor.name.clone(), column(tensor, flat(tensor)?)?)))
            .collect::<Result<_>>()?,
    };
    let refuse = |error: ArrowError| {
        ApiError::new(Code::BadRequest, format!("the tensors do not fit together: {error}"))
    };
    let batch = RecordBatch::try_from_iter(columns).map_err(refuse)?;
    let of = batch.schema();
    let input = Input::record_batches("request", RecordBatchIterator::new([Ok(batch)], of));
    let options = SourceOptions { threaded: false, ..SourceOptions::default() };
    Ok(Table::read(input, &options, schema, Mode::Predict, max_rows)?)
}

/// A tensor of all columns, cut into them.
fn split(tensor: &Tensor, names: &[String]) -> Result<Vec<(String, ArrayRef)>> {
    let width = tensor.shape[1];
    if width != names.len() {
        let message =
            format!("tensor `{}` has {width} columns, the model has {}", tensor.name, names.len());
        return Err(ApiError::new(Code::BadRequest, message)
            .hint("GET /v2/models/{model} lists the inputs in order"));
    }
    let values = flat(tensor)?;
    let one = |(j, name): (usize, &String)| {
        let of_column = values.iter().skip(j).step_by(width).copied().collect();
        Ok((name.clone(), column(tensor, of_column)?))
    };
    names.iter().enumerate().map(one).collect()
}

/// The values of a tensor, row by row.
fn flat(tensor: &Tensor) -> Result<Vec<&Value>> {
    let mut values = Vec::new();
    for value in &tensor.data {
        match value {
            Value::Array(row) => values.extend(row),
            value => values.push(value),
        }
    }
    let size = tensor.shape.iter().try_fold(1_usize, |size, n| size.checked_mul(*n));
    if size == Some(values.len()) {
        return Ok(values);
    }
    let message = format!(
        "tensor `{}` has {} values, which is not its shape {:?}",
        tensor.name,
        values.len(),
        tensor.shape
    );
    Err(ApiError::new(Code::BadRequest, message))
}

/// Values as a column; null is a missing value.
fn column(tensor: &Tensor, values: Vec<&Value>) -> Result<ArrayRef> {
    let refuse = |row: usize| {
        let message = format!("a value of tensor `{}` is not {}", tensor.name, tensor.datatype);
        ApiError {
            row: Some(row as u64 + 1),
            column: Some(tensor.name.clone()),
            ..ApiError::new(Code::BadRow, message)
        }
    };
    /// The values by `read`; `None` for null.
    fn all<'a, T>(
        values: &[&'a Value],
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> std::result::Result<Vec<Option<T>>, usize> {
        let one = |(i, value): (usize, &&'a Value)| match value {
            Value::Null => Ok(None),
            value => read(value).map(Some).ok_or(i),
        };
        values.iter().enumerate().map(one).collect()
    }
    Ok(match tensor.datatype.as_str() {
        "BOOL" => {
            let truth = all(&values, Value::as_bool).map_err(refuse)?;
            Arc::new(BooleanArray::from(truth))
        }
        "BYTES" => {
            let texts = all(&values, Value::as_str).map_err(refuse)?;
            Arc::new(StringArray::from(texts))
        }
        "FP64" | "FP32" | "FP16" | "INT8" | "INT16" | "INT32" | "INT64" | "UINT8" | "UINT16"
        | "UINT32" | "UINT64" => {
            let numbers = all(&values, Value::as_f64).map_err(refuse)?;
            Arc::new(Float64Array::from(numbers))
        }
        other => {
            let message = format!("tensor `{}` has the datatype `{other}`", tensor.name);
            return Err(ApiError::new(Code::BadRequest, message)
                .hint("use FP64, BOOL, BYTES or an integer type"));
        }
    })
}
