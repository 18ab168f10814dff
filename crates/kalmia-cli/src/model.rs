//! The command's model: learner, encoder, settings, metrics and provenance, in one file.

use crate::error::Result;
use kalmia::evaluate::{Cadence, Progressive, Trace};
use kalmia::file::{self, Metadata};
use kalmia::learner::{Observer, Seen};
use kalmia::{AnyFamily, AnyLearner, AnyState, Family, Learner};
use kalmia_data::{Encoder, Fingerprint, Format, Position};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kind in the file.
pub const KIND: &str = "model";

/// Ratio of rows between two points of the trail.
const TRAIL_FACTOR: f64 = 1.05;

/// A model in memory.
#[derive(Debug, Clone)]
pub struct Model {
    /// What was learned.
    pub learner: AnyLearner,
    /// What the columns mean.
    pub encoder: Encoder,
    /// How it was asked for.
    pub settings: Settings,
    /// How good its predictions were.
    pub metrics: Metrics,
    /// Where its rows came from.
    pub history: History,
}

/// The arguments that decide what is learned; a resumed fit must have the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// As given, `auto` included.
    pub family: String,
    /// The method's name.
    pub method: String,
    /// `off` or `adapt`.
    pub drift: String,
    /// Prior variance of the filters.
    pub prior: f64,
    /// Radius of the online Newton step.
    pub radius: f64,
    /// Exp-concavity constant of the online Newton step.
    pub exp_concavity: f64,
    /// Horizon of averaged SGD, where given.
    pub horizon: Option<u64>,
    /// Format, where given.
    pub format: Option<Format>,
    /// Field separator, where given.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub header: bool,
}

/// Progressive evaluation, with its course for pictures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// All rows so far.
    pub progressive: Progressive,
    loss: Trace,
    baseline: Trace,
}

/// Where the rows came from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct History {
    /// The fit, then each update.
    pub runs: Vec<Run>,
    /// The models that a merged one was made of.
    pub merged: Option<Merge>,
}

/// One pass over files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The files in order, as they were.
    pub files: Vec<Fingerprint>,
    /// Rows learned before this pass.
    pub before: u64,
    /// How far it got.
    pub position: Position,
    /// Whether it got to the end.
    pub finished: bool,
}

/// How two models became one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Merge {
    /// Whether nothing was lost.
    pub exact: bool,
    /// The histories of both.
    pub parts: Vec<History>,
}

/// The file's content, by reference for writing.
#[derive(Serialize)]
struct Stored<'a> {
    encoder: &'a Encoder,
    history: &'a History,
    learner: AnyState,
    metrics: &'a Metrics,
    settings: &'a Settings,
}

/// The file's content as read.
#[derive(Deserialize)]
struct Read {
    encoder: Encoder,
    history: History,
    learner: AnyState,
    metrics: Metrics,
    settings: Settings,
}

impl Metrics {
    /// Nothing seen.
    pub fn new(family: AnyFamily) -> Result<Self> {
        let trace = || Trace::new(Cadence::Geometric { factor: TRAIL_FACTOR });
        Ok(Self { progressive: Progressive::new(family), loss: trace()?, baseline: trace()? })
    }

    /// Rows, mean loss and mean loss of the constant predictor, along the way and now.
    pub fn course(&self) -> Vec<(u64, f64, f64)> {
        let pairs = self.loss.points().iter().zip(self.baseline.points());
        let mut course: Vec<_> = pairs.map(|(loss, baseline)| (loss.0, loss.1, baseline.1)).collect();
        let rows = self.progressive.rows();
        if rows > 0 && course.last().is_none_or(|last| last.0 < rows) {
            course.push((rows, self.progressive.loss(), self.progressive.report().constant_loss));
        }
        course
    }
}

impl Observer for Metrics {
    fn row(&mut self, seen: &Seen<'_>) {
        let Self { progressive, loss, baseline } = self;
        Observer::row(progressive, seen);
        let rows = progressive.rows();
        loss.record(rows, || progressive.loss());
        baseline.record(rows, || progressive.report().constant_loss);
    }
}

impl Model {
    /// Reads and checks a model file.
    pub fn load(path: &Path) -> Result<(Self, String)> {
        let loaded = file::load::<Read>(path, KIND)?;
        let Read { encoder, history, learner, metrics, settings } = loaded.state;
        let learner = AnyLearner::restore(learner)?;
        Ok((Self { learner, encoder, settings, metrics, history }, loaded.version))
    }

    /// Writes the model atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.view(&self.encoder).save(path)
    }

    /// The model with the encoder that a reader holds in the meantime.
    pub fn view<'a>(&'a self, encoder: &'a Encoder) -> View<'a> {
        View { model: self, encoder }
    }

    /// The family that was learned, at the estimated dispersion.
    pub fn family(&self) -> AnyFamily {
        self.learner.family()
    }
}

/// A model about to be written.
pub struct View<'a> {
    model: &'a Model,
    encoder: &'a Encoder,
}

impl View<'_> {
    /// Writes the file atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        let Model { learner, settings, metrics, history, .. } = self.model;
        let mut metadata = Metadata::new();
        metadata.insert("family".into(), learner.family().name().into());
        metadata.insert("method".into(), learner.method().into());
        metadata.insert("rows".into(), learner.count().into());
        metadata.insert("target".into(), self.encoder.target().map(|target| target.name.clone()).into());
        let stored = Stored { encoder: self.encoder, history, learner: learner.state(), metrics, settings };
        Ok(file::save(path, KIND, &stored, metadata)?)
    }
}
