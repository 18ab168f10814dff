//! A model as answers and events show it.

use crate::error::Result;
use crate::hosted::{Hosted, Live, PastError, Served};
use kalmia::evaluate::Confusion;
use kalmia_model::{AnyModel, AnySummary};
use serde::Serialize;
use std::sync::atomic::Ordering;
use utoipa::ToSchema;

/// Classes whose coefficients are listed, besides the reference class: the file has all of them,
/// and every event would.
const MAX_LISTED_CLASSES: usize = Confusion::MAX_CLASSES;

/// The state of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It predicts and learns.
    Ready,
    /// Its columns are decided by the first rows that it learns.
    Empty,
    /// Its files are damaged.
    Damaged,
}

/// All models.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelList {
    /// By name.
    pub models: Vec<ModelLine>,
}

/// A model in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelLine {
    /// Its name.
    name: String,
    /// Whether it predicts and learns.
    state: State,
    /// Its family; null if the first rows will decide it.
    family: Option<String>,
    /// Its method.
    method: String,
    /// Its target.
    target: String,
    /// Rows learned.
    rows: u64,
    /// The last entry of its log.
    sequence: u64,
    /// Progressive mean loss.
    loss: Option<f64>,
    /// Mean loss of the constant predictor.
    baseline_loss: Option<f64>,
}

impl ModelLine {
    /// The line of a model.
    pub async fn new(hosted: &Hosted) -> Self {
        let guard = hosted.live.read().await;
        let live = guard.as_ref();
        let model = live.map(|live| &live.model);
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        Self {
            name: hosted.name.clone(),
            state: state(hosted, live),
            family: model.map(AnyModel::family_name).or_else(|| declared_family(hosted)),
            method: hosted.declaration.method.clone(),
            target: hosted.declaration.target.clone(),
            rows: model.map_or(0, AnyModel::rows),
            sequence: live.map_or(0, |live| live.sequence),
            loss: finite(model.map(AnyModel::loss)),
            baseline_loss: finite(model.map(AnyModel::constant_loss)),
        }
    }
}

fn state(hosted: &Hosted, live: Option<&Live>) -> State {
    match (hosted.damage(), live) {
        (Some(_), _) => State::Damaged,
        (None, Some(_)) => State::Ready,
        (None, None) => State::Empty,
    }
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelBody {
    /// Its name.
    name: String,
    /// Whether it predicts and learns.
    state: State,
    /// The last entry of its log.
    sequence: u64,
    /// What it has learned, with the names that `kalmia fit --json` prints; in the states empty and
    /// damaged only what was declared.
    #[serde(flatten)]
    content: Content,
    /// What there is to say about a drift.
    drift_note: Option<String>,
    /// The progressive loss as it evolved.
    course: Vec<CoursePoint>,
    /// How often events of a predicted probability happened; for labels, and for the likeliest of
    /// several classes.
    calibration: Vec<CalibrationBin>,
    /// The loss of predictions as they were served, for rows whose labels came later.
    served: Option<Served>,
    /// Rows that wait for their label.
    pending: u64,
    /// Rows learned per second, over the last ten seconds.
    rows_per_second: f64,
    /// The last refused requests, the newest first.
    errors: Vec<PastError>,
}

/// What is known of a model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Content {
    /// After its columns are known.
    Ready(AnySummary),
    /// Before.
    Empty(Declared),
}

/// What was declared of a model without columns.
#[derive(Debug, Serialize, ToSchema)]
struct Declared {
    /// Rows learned: none.
    rows: u64,
    /// Its family, if it was declared.
    family: Option<String>,
    /// Its method.
    method: String,
    /// Its target.
    target: String,
}

/// The mean losses after some number of rows.
#[derive(Debug, Serialize, ToSchema)]
struct CoursePoint {
    /// Rows so far.
    rows: u64,
    /// Mean loss.
    loss: f64,
    /// Mean loss of the constant predictor.
    baseline_loss: f64,
}

/// Rows whose predicted probability is close together.
#[derive(Debug, Serialize, ToSchema)]
struct CalibrationBin {
    /// Mean of the predicted probability.
    predicted: f64,
    /// Share of events.
    observed: f64,
    /// Rows.
    rows: u64,
}

impl ModelBody {
    /// The model as it is now.
    pub async fn new(hosted: &Hosted) -> Result<Self> {
        let guard = hosted.live.read().await;
        let live = guard.as_ref();
        let content = match live {
            Some(live) => Content::Ready(AnySummary::new(&live.model, MAX_LISTED_CLASSES)?),
            None => Content::Empty(Declared::new(hosted)),
        };
        let drift_note = match &content {
            Content::Ready(summary) => summary.drift_note("\"drift\": \"adapt\""),
            Content::Empty(_) => None,
        };
        Ok(Self {
            name: hosted.name.clone(),
            state: state(hosted, live),
            sequence: live.map_or(0, |live| live.sequence),
            content,
            drift_note,
            course: live.map_or_else(Vec::new, course),
            calibration: live.map_or_else(Vec::new, calibration),
            served: live.and_then(Live::served),
            pending: hosted.pending.load(Ordering::Relaxed),
            rows_per_second: hosted.rate(),
            errors: hosted.errors(),
        })
    }
}

impl Declared {
    fn new(hosted: &Hosted) -> Self {
        Self {
            rows: 0,
            family: declared_family(hosted),
            method: hosted.declaration.method.clone(),
            target: hosted.declaration.target.clone(),
        }
    }
}

/// The family that was declared; `None` if the first rows decide it.
fn declared_family(hosted: &Hosted) -> Option<String> {
    let choice = &hosted.declaration.family;
    (!choice.is_inferred()).then(|| choice.clone().into())
}

fn course(live: &Live) -> Vec<CoursePoint> {
    let points = live.model.course().into_iter();
    points
        .map(|point| CoursePoint {
            rows: point.rows,
            loss: point.loss,
            baseline_loss: point.constant_loss,
        })
        .collect()
}

fn calibration(live: &Live) -> Vec<CalibrationBin> {
    let bins = live.model.reliability().into_iter().filter(|bin| bin.count > 0);
    bins.map(|bin| CalibrationBin {
        predicted: bin.predicted,
        observed: bin.observed,
        rows: bin.count,
    })
    .collect()
}
