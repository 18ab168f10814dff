//! The command's model: learner, encoder, settings, metrics and provenance, in one file.

use crate::error::Result;
use kalmia::evaluate::Metrics;
use kalmia::file::{self, MODEL, Metadata};
use kalmia::{AnyFamily, AnyLearner, Family, Learner, Predict};
use kalmia_data::{Encoder, Fingerprint, Format, Position};
use serde::{Deserialize, Serialize};
use std::path::Path;

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
    /// What the file says beside its state; what others wrote there is carried along.
    pub metadata: Metadata,
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

/// Where the rows came from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct History {
    /// The fit, then each update.
    pub runs: Vec<Run>,
    /// The models that a merged one was made of.
    pub merged: Option<Merge>,
}

impl History {
    /// Every file that was learned from.
    pub fn files(&self) -> Vec<&Fingerprint> {
        let parts = self.merged.iter().flat_map(|merge| &merge.parts).flat_map(History::files);
        parts.chain(self.runs.iter().flat_map(|run| &run.files)).collect()
    }
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

/// The file's content as read.
type Read = file::Model<Encoder, History, Metrics, Settings>;

impl Model {
    /// Reads and checks a model file.
    pub fn load(path: &Path) -> Result<(Self, String)> {
        let loaded = file::load::<Read>(path, MODEL)?;
        let file::Model { encoder, history, learner, metrics, settings } = loaded.state;
        let learner = AnyLearner::restore(learner)?;
        Ok((
            Self { learner, encoder, settings, metrics, history, metadata: loaded.metadata },
            loaded.version,
        ))
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
        let Model { learner, settings, metrics, history, metadata, .. } = self.model;
        let mut metadata = metadata.clone();
        metadata.insert("family".into(), learner.family().name().into());
        metadata.insert("method".into(), learner.method().into());
        metadata.insert("rows".into(), learner.count().into());
        metadata.insert(
            "target".into(),
            self.encoder.target().map(|target| target.name.clone()).into(),
        );
        let stored = file::Model {
            encoder: self.encoder,
            history,
            learner: learner.state(),
            metrics,
            settings,
        };
        Ok(file::save(path, MODEL, &stored, metadata)?)
    }
}
