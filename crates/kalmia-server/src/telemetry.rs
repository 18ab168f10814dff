//! What an operator can watch: `/metrics` in the text format of Prometheus.

use crate::hosted::{Hosted, lock};
use crate::service::Service;
use kalmia_model::AnyModel;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Models that have series of their own; the others are left out, so that their number is bounded.
const MAX_MODELS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    model: String,
}

/// Counts of this process.
pub struct Telemetry {
    requests: Family<Request, Counter>,
    rows: Counter,
    jobs: Counter,
    commit_time: Histogram,
    predict_time: Histogram,
}

impl Default for Telemetry {
    fn default() -> Self {
        let times = || Histogram::new(exponential_buckets(0.0001, 2.0, 16));
        Self {
            requests: Family::default(),
            rows: Counter::default(),
            jobs: Counter::default(),
            commit_time: times(),
            predict_time: times(),
        }
    }
}

impl Telemetry {
    /// A group of jobs was written.
    pub fn committed(&self, jobs: usize, time: Duration) {
        self.jobs.inc_by(jobs as u64);
        self.commit_time.observe(time.as_secs_f64());
    }

    /// A request was answered.
    pub fn answered(&self, route: &'static str, status: u16) {
        self.requests.get_or_create(&Request { route, status }).inc();
    }

    /// Rows were learned.
    pub fn learned(&self, rows: u64) {
        self.rows.inc_by(rows);
    }

    /// A request for predictions took so long.
    pub fn predicted(&self, time: Duration) {
        self.predict_time.observe(time.as_secs_f64());
    }
}

/// The text of `/metrics`.
pub async fn text(service: &Service) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("kalmia");
    let counts = &service.telemetry;
    registry.register("requests", "Requests answered", counts.requests.clone());
    registry.register("rows_learned", "Rows learned by this process", counts.rows.clone());
    registry.register("jobs_committed", "Jobs written to the log", counts.jobs.clone());
    let unit = || Unit::Seconds;
    let help = "Time of a transaction with its fsync";
    registry.register_with_unit("commit", help, unit(), counts.commit_time.clone());
    let help = "Time of a request for predictions";
    registry.register_with_unit("predict", help, unit(), counts.predict_time.clone());
    let waiting: Gauge = Gauge::default();
    waiting.set(service.admission.waiting() as i64);
    registry.register("queue", "Learn requests without an answer yet", waiting);
    let models = service.models();
    let count: Gauge = Gauge::default();
    count.set(models.len() as i64);
    registry.register("models", "Models", count);
    let mut values = Vec::new();
    for hosted in models.iter().take(MAX_MODELS) {
        values.push(Values::of(hosted).await);
    }
    registry.register_collector(Box::new(ByModel(values)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// What is known of a model at one moment.
#[derive(Debug)]
struct Values {
    model: String,
    rows: f64,
    sequence: f64,
    loss: f64,
    baseline_loss: f64,
    rate: f64,
    pending: f64,
    log_bytes: f64,
    snapshot_age: f64,
}

impl Values {
    async fn of(hosted: &Arc<Hosted>) -> Self {
        let live = hosted.live.read().await;
        let model = live.as_ref().map(|live| &live.model);
        let count = |value: &AtomicU64| value.load(Ordering::Relaxed) as f64;
        Self {
            model: hosted.name.clone(),
            rows: model.map_or(0.0, |model| model.rows() as f64),
            sequence: live.as_ref().map_or(0.0, |live| live.sequence as f64),
            loss: model.map_or(f64::NAN, AnyModel::loss),
            baseline_loss: model.map_or(f64::NAN, AnyModel::constant_loss),
            rate: hosted.rate(),
            pending: count(&hosted.pending),
            log_bytes: count(&hosted.log_bytes),
            snapshot_age: lock(&hosted.snapshot).time.elapsed().as_secs_f64(),
        }
    }
}

/// The values of each model as gauges.
#[derive(Debug)]
struct ByModel(Vec<Values>);

impl Collector for ByModel {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        type Value = fn(&Values) -> f64;
        let gauges: [(&str, &str, Value); 8] = [
            ("model_rows", "Rows that the model has learned", |v| v.rows),
            ("model_sequence", "Last entry of the log in the model", |v| v.sequence),
            ("model_loss", "Progressive mean loss", |v| v.loss),
            ("model_baseline_loss", "Mean loss of the constant predictor", |v| v.baseline_loss),
            ("model_rows_per_second", "Rows learned over the last ten seconds", |v| v.rate),
            ("model_pending", "Rows that wait for their label", |v| v.pending),
            ("model_log_bytes", "Bytes logged since the last snapshot", |v| v.log_bytes),
            ("model_snapshot_age_seconds", "Age of the last snapshot", |v| v.snapshot_age),
        ];
        for (name, help, value) in gauges {
            let kind = prometheus_client::metrics::MetricType::Gauge;
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for values in &self.0 {
                let of = Of { model: values.model.clone() };
                let series = family.encode_family(&of)?;
                ConstGauge::new(value(values)).encode(series)?;
            }
        }
        Ok(())
    }
}
