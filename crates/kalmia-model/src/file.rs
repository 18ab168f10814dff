//! The model file: one layout for the command, Python and the service.

use crate::error::{Error, Result};
use crate::history::History;
use crate::memory::with_feature_limit;
use crate::model::Model;
use crate::settings::Settings;
use crate::weights::Weights;
use kalmia::evaluate::Metrics;
use kalmia::file::{self, Claim, Metadata, ModelFile, Problem};
use kalmia::learner::AnyState;
use kalmia::{AnyLearner, Family, Learner, Predict};
use kalmia_data::Encoder;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kind of a file that holds one [`Model`].
pub const MODEL: &str = "model";

/// The kind of a file that holds several models, one per class.
pub const MODEL_SET: &str = "model-set";

/// Models read from a file, with the version of kalmia that wrote it.
#[derive(Debug)]
pub struct Loaded<T> {
    /// What the file holds.
    pub content: T,
    /// The version that wrote it.
    pub version: String,
}

/// A model as it is written. Keys stand in the order of their names.
#[derive(Serialize)]
struct Written<'a> {
    encoder: &'a Encoder,
    history: &'a History,
    learner: AnyState,
    metrics: &'a Metrics,
    settings: &'a Settings,
    #[serde(skip_serializing_if = "Weights::is_empty")]
    weights: &'a Weights,
}

/// A model as it is read.
#[derive(Deserialize)]
struct Read {
    encoder: Encoder,
    history: History,
    learner: AnyState,
    metrics: Metrics,
    settings: Settings,
    #[serde(default)]
    weights: Weights,
}

impl Read {
    /// Whether the learner takes the features that the encoder makes.
    fn check_features(encoder: &Encoder, learner: &AnyLearner) -> std::result::Result<(), String> {
        let (found, expected) = match (learner, encoder.is_wide()) {
            (AnyLearner::Wide(wide), true) => {
                // of very many numbers some are taken as sparse features
                (wide.numbers(), wide.numbers().min(encoder.number_features()))
            }
            (AnyLearner::Wide(_), false) => return Err("sparse rows, but dense columns".into()),
            (_, true) => return Err("dense rows, but sparse columns".into()),
            (dense, false) => (dense.dim(), encoder.dim()),
        };
        match found == expected {
            true => Ok(()),
            false => Err(format!("{found} coefficients for {expected} features")),
        }
    }

    /// The model, if everything in it belongs together: a file may hold anything.
    fn model(self, metadata: Metadata) -> std::result::Result<Model, Problem> {
        let misfit =
            |at: &'static str| move |message: String| Problem::State { at: at.into(), message };
        let learner = AnyLearner::restore(self.learner)
            .map_err(|error| misfit("learner")(error.to_string()))?;
        self.encoder.check().map_err(misfit("encoder"))?;
        self.metrics
            .check(&learner.family())
            .map_err(|error| misfit("metrics")(error.to_string()))?;
        self.history.check().map_err(misfit("history"))?;
        self.weights.check().map_err(misfit("weights"))?;
        let learner = match learner {
            AnyLearner::Wide(wide) => AnyLearner::Wide(Box::new(with_feature_limit(*wide))),
            dense => dense,
        };
        Self::check_features(&self.encoder, &learner).map_err(misfit("learner"))?;
        Ok(Model {
            learner,
            encoder: self.encoder,
            metrics: self.metrics,
            settings: self.settings,
            weights: self.weights,
            history: self.history,
            metadata,
        })
    }
}

impl Model {
    /// Reads and checks a model file. Refuses a file that is damaged, of a newer format, or of
    /// another kind, such as a set of several models (see [`load_set`]).
    pub fn load(path: &Path) -> Result<Loaded<Self>> {
        let loaded = file::load::<Read>(path, MODEL)?;
        let content = loaded.state.model(loaded.metadata).map_err(|problem| problem.at(path))?;
        Ok(Loaded { content, version: loaded.version })
    }

    /// As [`Model::load`], from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let read = || -> std::result::Result<Self, Problem> {
            let file = ModelFile::from_bytes(bytes)?;
            file.state::<Read>(MODEL)?.model(file.metadata().clone())
        };
        Ok(read().map_err(|problem| problem.at("in memory"))?)
    }

    /// The bytes that [`Model::save`] writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let file = ModelFile::new(MODEL, &self.written(), self.metadata());
        Ok(file.map_err(|problem| problem.at("in memory"))?.to_bytes())
    }

    /// Writes the model atomically: at every moment the path holds the old file or the new one.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(file::save(path, MODEL, &self.written(), self.metadata())?)
    }

    /// Writes the model to a file that this process has claimed (see [`Claim`]).
    pub fn save_claimed(&self, claim: &mut Claim) -> Result<()> {
        let file = ModelFile::new(MODEL, &self.written(), self.metadata());
        Ok(claim.write(&file.map_err(|problem| problem.at(claim.path()))?)?)
    }

    fn written(&self) -> Written<'_> {
        Written {
            encoder: &self.encoder,
            history: &self.history,
            learner: self.learner.state(),
            metrics: &self.metrics,
            settings: &self.settings,
            weights: &self.weights,
        }
    }

    /// The metadata with what programs that only list files want to know.
    fn metadata(&self) -> Metadata {
        let mut metadata = self.metadata.clone();
        metadata.insert("family".into(), self.learner.family().name().into());
        metadata.insert("method".into(), self.learner.method().into());
        metadata.insert("rows".into(), self.learner.count().into());
        let target = self.encoder.target().map(|target| target.name.clone());
        metadata.insert("target".into(), target.into());
        metadata
    }
}

/// Writes several models, one per class, as one file. A single model is written as an ordinary
/// model file.
pub fn save_set(path: &Path, models: &[Model]) -> Result<()> {
    match models {
        [only] => only.save(path),
        [] => Err(Error::NoModel),
        [first, ..] => {
            let written: Vec<_> = models.iter().map(Model::written).collect();
            Ok(file::save(path, MODEL_SET, &written, first.metadata())?)
        }
    }
}

/// Reads a file of one model or of several, in the order in which they were written.
pub fn load_set(path: &Path) -> Result<Loaded<Vec<Model>>> {
    let file = ModelFile::read(path)?;
    let at = |problem: Problem| problem.at(path);
    let stored: Vec<Read> = match file.kind() {
        MODEL_SET => file.state(MODEL_SET).map_err(at)?,
        _ => vec![file.state(MODEL).map_err(at)?],
    };
    let models =
        stored.into_iter().map(|one| Ok(one.model(file.metadata().clone()).map_err(at)?));
    Ok(Loaded { content: models.collect::<Result<_>>()?, version: file.version().into() })
}
