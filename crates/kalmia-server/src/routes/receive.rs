//! What all routes with a body share: receiving it, finding the model, keeping refusals.

use crate::auth::sha256;
use crate::body::{Body, BodyFormat, SMALL_BODY};
use crate::error::{ApiError, Code, Result};
use crate::hosted::{Hosted, Learned, Reply};
use crate::jobs::{Append, Key, Rows};
use crate::service::Service;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::LengthLimitError;
use kalmia_data::{Mode, Table, TableSchema};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// A body must arrive within this time.
const RECEIVE_TIME: Duration = Duration::from_secs(60);
/// Characters of an idempotency key at most.
const MAX_KEY: usize = 200;

/// Whether the body of a request was read to its end. If not, the connection ends with the answer,
/// and the answer must say so: a client would otherwise lose its next request.
#[derive(Debug, Clone, Default)]
pub struct BodyRead(Arc<AtomicBool>);

impl BodyRead {
    /// Whether it was.
    pub fn is_complete(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads a body within the limits.
pub async fn receive(service: &Service, request: Request) -> Result<(HeaderMap, Bytes)> {
    let limit = service.config.limits.body_bytes;
    let (parts, body) = request.into_parts();
    let declared = parts.headers.get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let too_large = || {
        ApiError::new(Code::TooLarge, format!("the body has more than {limit} bytes"))
            .hint("send fewer rows per request, or start the service with a larger --max-body")
    };
    if declared.is_some_and(|bytes| bytes > limit) {
        return Err(too_large());
    }
    let _room = service.admission.receive(declared.unwrap_or(limit))?;
    let received = tokio::time::timeout(RECEIVE_TIME, axum::body::to_bytes(body, limit)).await;
    match received {
        Ok(Ok(bytes)) => {
            if let Some(BodyRead(complete)) = parts.extensions.get() {
                complete.store(true, Ordering::Relaxed);
            }
            Ok((parts.headers, bytes))
        }
        Ok(Err(error)) => {
            let full = error.source().is_some_and(|e| e.is::<LengthLimitError>());
            let broken = ApiError::new(Code::BadRequest, "the body ended too early");
            Err(if full { too_large() } else { broken })
        }
        Err(_) => Err(ApiError::new(Code::BadRequest, "the body took too long to arrive")),
    }
}

/// Runs work that may take long without keeping other requests from their turn.
pub async fn apart<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if size <= SMALL_BODY {
        return work();
    }
    tokio::task::spawn_blocking(work).await.map_err(ApiError::internal)?
}

/// The rows of a body.
pub async fn table(
    service: &Arc<Service>,
    bytes: Bytes,
    format: BodyFormat,
    schema: TableSchema,
    mode: Mode,
) -> Result<Table> {
    let size = bytes.len();
    let service = service.clone();
    apart(size, move || {
        Body::new(bytes.into(), format, &service.config.limits)?.table(&schema, mode)
    })
    .await
}

/// The idempotency key of a request, if it has one, and the hash of what it asks for.
pub fn key(hosted: &Hosted, headers: &HeaderMap, route: &str, bytes: &[u8]) -> Result<Option<Key>> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().map(str::trim).filter(|key| (1..=MAX_KEY).contains(&key.len()));
    let Some(key) = key else {
        return Err(ApiError::new(
            Code::BadRequest,
            format!("an Idempotency-Key has 1 to {MAX_KEY} printable characters"),
        ));
    };
    let Some(in_use) = hosted.keys.take(key.to_owned()) else {
        return Err(ApiError::new(
            Code::UnderWay,
            "a request with this Idempotency-Key is being learned",
        )
        .hint("try again after the time in Retry-After; the answer is then that of the first"));
    };
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let mut all = Vec::with_capacity(route.len() + kind.len() + bytes.len() + 2);
    for part in [route.as_bytes(), kind, bytes] {
        all.extend_from_slice(part);
        all.push(0);
    }
    Ok(Some(Key { key: in_use, body: sha256(&all) }))
}

/// Logs rows, has them learned and waits for the answer.
pub async fn append(
    service: &Arc<Service>,
    hosted: &Arc<Hosted>,
    key: Option<Key>,
    rows: Rows,
) -> Result<Learned> {
    if service.is_stopping() {
        return Err(ApiError::shutting_down());
    }
    let _admitted = service.admission.admit(rows.bytes())?;
    let (sender, answer) = oneshot::channel();
    let reply = Reply { answer: sender, _admitted };
    service.store.send(Append::new(service, hosted, key, rows, reply));
    let learned = answer.await.map_err(|_| ApiError::shutting_down())??;
    if !learned.duplicate {
        service.telemetry.learned(learned.rows);
    }
    Ok(learned)
}

/// Keeps a refusal for those who look at the model.
pub fn noted<T>(hosted: &Hosted, outcome: Result<T>) -> Result<T> {
    if let Err(error) = &outcome
        && !matches!(error.code, Code::QueueFull | Code::UnderWay | Code::ShuttingDown)
        && error.code.status() != StatusCode::FORBIDDEN
    {
        hosted.refused(error);
    }
    outcome
}
