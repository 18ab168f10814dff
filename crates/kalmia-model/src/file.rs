//! The model file: one layout for the command, Python and the service.

use crate::any_model::AnyModel;
use crate::error::{Error, Result};
use crate::history::History;
use crate::model::{Model, ModelOf};
use crate::model_learner::ModelLearner;
use crate::settings::Settings;
use crate::weights::Weights;
use kalmia::AnyLearner;
use kalmia::file::{self, Claim, Metadata, ModelFile, Problem};
use kalmia::learner::{AnyCategorical, Quantiles};
use kalmia_data::Encoder;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kind of a file that holds one [`Model`].
pub const MODEL: &str = AnyLearner::KIND;

/// The kind of a file that holds one [`ClassModel`](crate::ClassModel).
pub const CLASS_MODEL: &str = AnyCategorical::KIND;

/// The kind of a file that holds one [`QuantileModel`](crate::QuantileModel).
pub const QUANTILE_MODEL: &str = Quantiles::KIND;

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
struct Written<'a, L: ModelLearner> {
    encoder: &'a Encoder,
    history: &'a History,
    learner: L::State,
    metrics: &'a L::Metrics,
    settings: &'a Settings,
    #[serde(skip_serializing_if = "Weights::is_empty")]
    weights: &'a Weights,
}

/// A model as it is read.
#[derive(Deserialize)]
struct Read<L: ModelLearner> {
    encoder: Encoder,
    history: History,
    learner: L::State,
    metrics: L::Metrics,
    settings: Settings,
    #[serde(default)]
    weights: Weights,
}

impl<L: ModelLearner> Read<L> {
    /// The model, if everything in it belongs together: a file may hold anything.
    fn model(self, metadata: Metadata) -> std::result::Result<ModelOf<L>, Problem> {
        let misfit =
            |at: &'static str| move |message: String| Problem::State { at: at.into(), message };
        let learner =
            L::restore(self.learner).map_err(|error| misfit("learner")(error.to_string()))?;
        self.encoder.check().map_err(misfit("encoder"))?;
        learner
            .check_metrics(&self.metrics)
            .map_err(|error| misfit("metrics")(error.to_string()))?;
        self.history.check().map_err(misfit("history"))?;
        self.weights.check().map_err(misfit("weights"))?;
        let learner = learner.limited();
        learner.check_encoder(&self.encoder).map_err(misfit("learner"))?;
        Ok(ModelOf {
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

impl<L: ModelLearner> ModelOf<L> {
    /// Reads and checks a model file. Refuses a file that is damaged, of a newer format, or of
    /// another kind, such as a set of several models (see [`FileContent`]).
    pub fn load(path: &Path) -> Result<Loaded<Self>> {
        let file = ModelFile::read(path)?;
        let content = L::read(&file).map_err(|problem| problem.at(path))?;
        Ok(Loaded { content, version: file.version().into() })
    }

    /// As [`Model::load`], from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let model = ModelFile::from_bytes(bytes).and_then(|file| L::read(&file));
        Ok(model.map_err(|problem| problem.at("in memory"))?)
    }

    /// The bytes that [`Model::save`] writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(L::write(self).map_err(|problem| problem.at("in memory"))?.to_bytes())
    }

    /// Writes the model atomically: at every moment the path holds the old file or the new one.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(L::write(self).map_err(|problem| problem.at(path))?.write(path)?)
    }

    /// Writes the model to a file that this process has claimed (see [`Claim`]).
    pub fn save_claimed(&self, claim: &mut Claim) -> Result<()> {
        let file = L::write(self).map_err(|problem| problem.at(claim.path()))?;
        Ok(claim.write(&file)?)
    }

    fn written(&self) -> Written<'_, L> {
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
        metadata.insert("family".into(), self.learner.family_name().into());
        metadata.insert("method".into(), self.learner.method().into());
        metadata.insert("rows".into(), self.learner.count().into());
        let target = self.encoder.target().map(|target| target.name.clone());
        metadata.insert("target".into(), target.into());
        metadata
    }
}

impl AnyModel {
    /// As [`ModelOf::load`], for a model of any kind.
    pub fn load(path: &Path) -> Result<Loaded<Self>> {
        let file = ModelFile::read(path)?;
        let content = Self::of_file(&file).map_err(|problem| problem.at(path))?;
        Ok(Loaded { content, version: file.version().into() })
    }

    /// As [`AnyModel::load`], from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let model = ModelFile::from_bytes(bytes).and_then(|file| Self::of_file(&file));
        Ok(model.map_err(|problem| problem.at("in memory"))?)
    }

    /// The model that a file holds, by the kind of the file.
    fn of_file(file: &ModelFile) -> std::result::Result<Self, Problem> {
        Ok(match file.kind() {
            CLASS_MODEL => Self::Classes(Box::new(AnyCategorical::read(file)?)),
            QUANTILE_MODEL => Self::Quantiles(Box::new(Quantiles::read(file)?)),
            _ => Self::Numbers(Box::new(AnyLearner::read(file)?)),
        })
    }
}

/// For [`ModelLearner::read`].
pub(crate) fn read_model<L: ModelLearner>(
    file: &ModelFile,
) -> std::result::Result<ModelOf<L>, Problem> {
    file.state::<Read<L>>(L::KIND)?.model(file.metadata().clone())
}

/// For [`ModelLearner::write`].
pub(crate) fn write_model<L: ModelLearner>(
    model: &ModelOf<L>,
) -> std::result::Result<ModelFile, Problem> {
    ModelFile::new(L::KIND, &model.written(), model.metadata())
}

/// What a model file of any kind holds.
#[derive(Debug)]
pub enum FileContent {
    /// One model.
    One(AnyModel),
    /// Several models of numbers or of two labels, one per class, as [`save_set`] writes them.
    Set(Vec<Model>),
}

impl FileContent {
    /// Reads and checks a file, once. The models of a set come in the order in which they were
    /// written.
    pub fn load(path: &Path) -> Result<Loaded<Self>> {
        let file = ModelFile::read(path)?;
        let read = || -> std::result::Result<Self, Problem> {
            if file.kind() != MODEL_SET {
                return AnyModel::of_file(&file).map(Self::One);
            }
            let stored: Vec<Read<AnyLearner>> = file.state(MODEL_SET)?;
            let models = stored.into_iter().map(|one| one.model(file.metadata().clone()));
            models.collect::<std::result::Result<_, Problem>>().map(Self::Set)
        };
        let content = read().map_err(|problem| problem.at(path))?;
        Ok(Loaded { content, version: file.version().into() })
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
