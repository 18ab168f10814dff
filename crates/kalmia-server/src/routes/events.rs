//! `GET /v1/models/{model}/events`: the model as it changes, as server-sent events.

use super::view::ModelBody;
use crate::error::{ErrorBody, Result};
use crate::hosted::Hosted;
use crate::service::Service;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

/// Time between two events at least.
const PAUSE: Duration = Duration::from_secs(1);
/// A model that does not change is sent this often, because its rate does change.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The model as it changes, at most once per second, as server-sent events.
///
/// Each event has the name `model`, and its data is the model as `GET` shows it. The first comes at
/// once. The stream ends when the model is deleted or the service stops.
#[utoipa::path(
    get,
    path = "/v1/models/{model}/events",
    tag = "models",
    params(("model" = String, Path, description = "The model's name")),
    responses(
        (status = 200, description = "Events", body = String, content_type = "text/event-stream"),
        (status = 404, description = "There is no such model", body = ErrorBody),
    )
)]
pub async fn events(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
) -> Result<Response> {
    let hosted = service.model(&name)?;
    let (sender, events) = mpsc::channel(1);
    tokio::spawn(watch_model(hosted, service.stopping.subscribe(), sender));
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(Events(events))).into_response())
}

/// Sends the model until nobody listens, the model is deleted or the service stops: an open stream
/// would otherwise keep the service from stopping.
async fn watch_model(
    hosted: Arc<Hosted>,
    mut stopping: watch::Receiver<bool>,
    sender: mpsc::Sender<Bytes>,
) {
    let mut changes = hosted.changes.subscribe();
    loop {
        changes.mark_unchanged();
        let Ok(model) = ModelBody::new(&hosted).await else { return };
        let Ok(json) = serde_json::to_string(&model) else { return };
        let event = Bytes::from(format!("event: model\ndata: {json}\n\n"));
        if sender.send(event).await.is_err() || hosted.is_deleted() {
            return;
        }
        let changed = async {
            sleep(PAUSE).await;
            // a time-out sends the model again
            let _ = timeout(HEARTBEAT, changes.changed()).await;
        };
        tokio::select! {
            () = changed => {}
            _ = stopping.wait_for(|stop| *stop) => return,
            () = sender.closed() => return,
        }
    }
}

/// The events of a channel as a stream.
struct Events(mpsc::Receiver<Bytes>);

impl Stream for Events {
    type Item = std::result::Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}
