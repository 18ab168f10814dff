//! One fit on several workers: what they start from, what each of them learned, and the model of
//! all rows.
//!
//! ```text
//! sample -> Template ----> Shard (a worker, its rows) -> Part \
//!                    \---> Shard (a worker, its rows) -> Part  -> Part -> Template::model
//! ```
//!
//! A part is a pure function of the template and its rows, so a task that is lost or repeated
//! changes nothing. Parts merge in any order and in any tree, and are as large as one matrix,
//! however many rows or workers there are. The model of all parts is approximate unless the noise
//! is normal; [`crate::Polishing`] makes it exact.

use crate::error::{Error, Result};
use crate::history::{History, Merge};
use crate::method::Algorithm;
use crate::model::Model;
use crate::settings::Settings;
use crate::weights::Weights;
use kalmia::evaluate::{Metrics, RowBuffer};
use kalmia::file::{ModelFile, Problem};
use kalmia::learner::{
    AnyState, FeatureMap, FeatureTerm, Heterogeneity, Information, InformationState, MergedMany,
};
use kalmia::{AnyFamily, AnyLearner, DriftMode, Learner};
use kalmia_data::{Block, Encoder};
use serde::{Deserialize, Serialize};

/// What every worker starts from: columns, kinds, levels, family, method, and the coefficients that
/// a sample gave, near which information is summed.
///
/// The sample decides the kinds of the columns and the family. Levels that it lacks may appear on
/// any worker.
#[derive(Debug, Clone)]
pub struct Template {
    encoder: Encoder,
    settings: Settings,
    family: AnyFamily,
    reference: Vec<f64>,
    /// The prior of the model, without rows.
    prior: AnyLearner,
}

/// The kind of the bytes of a [`Template`].
const TEMPLATE: &str = "template";
/// The kind of the bytes of a [`Part`].
const PART: &str = "part";

#[derive(Serialize, Deserialize)]
struct StoredTemplate {
    encoder: Encoder,
    settings: Settings,
    family: AnyFamily,
    reference: Vec<f64>,
    prior: AnyState,
}

impl Template {
    /// From a model that has learned a sample of the rows: some from every part, because the rows
    /// may be sorted. The sample is forgotten, except for its columns and levels.
    ///
    /// Refuses methods whose models cannot be merged, wide rows, and `drift` `adapt`, because the
    /// order of rows on several workers means nothing.
    pub fn new(sample: Model) -> Result<Self> {
        let settings = sample.settings;
        let drift = match settings.method.algorithm {
            Algorithm::Auto { drift } => drift,
            _ => DriftMode::Off,
        };
        let mergeable = matches!(sample.learner, AnyLearner::Auto(_) | AnyLearner::Filter(_));
        if !mergeable || settings.method.averaged || sample.encoder.is_wide() {
            return Err(Error::NotMergeable { method: sample.learner.title() });
        }
        if drift == DriftMode::Adapt {
            return Err(Error::ShardsAdapt);
        }
        let family = *sample.metrics.progressive.family();
        let reference = sample.learner.coefficients().into_owned();
        let prior = sample.learner.mapped(&FeatureMap::identity(reference.len()))?;
        let mut encoder = sample.encoder;
        encoder.reset_counts();
        Ok(Self { encoder, settings, family, reference, prior })
    }

    /// What the columns mean, as far as the sample shows it.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The family.
    pub fn family(&self) -> AnyFamily {
        self.family
    }

    /// The model of all rows of a part, and whether its workers agree.
    pub fn model(&self, part: &Part) -> Result<MergedModel> {
        let map = feature_map(&self.encoder, &part.encoder)?;
        let MergedMany { merged, heterogeneity } =
            self.prior.mapped(&map)?.with_information(&part.information)?;
        let exact = merged.is_exact();
        let learner = match (merged.into_inner(), self.settings.method.algorithm) {
            (AnyLearner::Auto(auto), Algorithm::Auto { drift }) => {
                AnyLearner::Auto(auto.with_drift_mode(drift)?)
            }
            (other, _) => other,
        };
        let model = Model {
            learner,
            encoder: part.encoder.clone(),
            metrics: part.metrics.clone(),
            settings: self.settings.clone(),
            weights: part.weights,
            history: History { runs: Vec::new(), merged: Some(Merge { exact, parts: Vec::new() }) },
            metadata: Default::default(),
        };
        Ok(MergedModel { model, heterogeneity, shards: part.information.parts(), exact })
    }

    /// The bytes, to be shipped.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let stored = StoredTemplate {
            encoder: self.encoder.clone(),
            settings: self.settings.clone(),
            family: self.family,
            reference: self.reference.clone(),
            prior: self.prior.state(),
        };
        bytes(TEMPLATE, &stored)
    }

    /// The template of [`Template::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored: StoredTemplate = from_bytes(TEMPLATE, bytes)?;
        stored.encoder.check().map_err(damaged)?;
        let prior = AnyLearner::restore(stored.prior)?;
        if prior.dim() != stored.encoder.dim() || stored.reference.len() != stored.encoder.dim() {
            return Err(damaged("the columns are not those of the prior".into()));
        }
        Ok(Self {
            encoder: stored.encoder,
            settings: stored.settings,
            family: stored.family,
            reference: stored.reference,
            prior,
        })
    }
}

/// A model of several parts.
#[derive(Debug)]
pub struct MergedModel {
    /// The model.
    pub model: Model,
    /// Whether the parts agree.
    pub heterogeneity: Heterogeneity,
    /// How many parts had rows.
    pub shards: u64,
    /// Whether it is, to rounding, the model that one pass over all rows gives.
    pub exact: bool,
}

/// A worker: it learns the rows of one part of the data.
#[derive(Debug)]
pub struct Shard {
    model: Model,
    reference: Vec<f64>,
    rows: RowBuffer,
}

impl Shard {
    /// Without rows.
    pub fn new(template: &Template) -> Result<Self> {
        let mut settings = template.settings.clone();
        if let Algorithm::Auto { drift } = &mut settings.method.algorithm {
            // rows of a part have no order that a drift could follow
            *drift = DriftMode::Off;
        }
        Ok(Self {
            model: Model::new(settings, template.family, template.encoder.clone())?,
            reference: template.reference.clone(),
            rows: RowBuffer::default(),
        })
    }

    /// What the columns mean; a reader encodes the blocks of this shard with it.
    pub fn encoder_mut(&mut self) -> &mut Encoder {
        &mut self.model.encoder
    }

    /// Learns a block that [`Shard::encoder_mut`] encoded. An error names the row, and leaves the
    /// shard without the block's rows but with its new levels.
    pub fn learn(&mut self, block: &Block) -> Result<()> {
        if block.rows() == 0 {
            return Ok(());
        }
        self.rows.start(&self.model.metrics);
        if let Err(error) = self.model.learn(block, Some(&mut self.rows)) {
            self.rows.clear();
            return Err(error);
        }
        self.rows.apply_to(&mut self.model.metrics);
        Ok(())
    }

    /// The model of this part alone.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// What was learned, to be merged.
    pub fn part(&self) -> Result<Part> {
        let mut reference = self.reference.clone();
        reference.resize(self.model.learner.dim(), 0.0);
        let information = match self.model.learner.count() {
            0 => Information::none(reference),
            _ => self.model.learner.information(reference)?,
        };
        Ok(Part {
            encoder: self.model.encoder.clone(),
            information,
            metrics: self.model.metrics.clone(),
            weights: self.model.weights,
        })
    }
}

/// What one or several shards have learned.
#[derive(Debug, Clone)]
pub struct Part {
    encoder: Encoder,
    information: Information,
    metrics: Metrics,
    weights: Weights,
}

#[derive(Serialize, Deserialize)]
struct StoredPart {
    encoder: Encoder,
    information: InformationState,
    metrics: Metrics,
    weights: Weights,
}

impl Part {
    /// Adds the rows of another part. Levels are matched by name. Refuses a part of another
    /// template, and then changes nothing.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let encoder = Encoder::union(&[&self.encoder, &other.encoder])?;
        let mut information = mapped(self, &encoder)?;
        information.add(&mapped(other, &encoder)?)?;
        self.metrics = self.metrics.merged(&other.metrics)?;
        self.weights = self.weights.merged(&other.weights);
        self.information = information;
        self.encoder = encoder;
        Ok(())
    }

    /// Rows learned.
    pub fn rows(&self) -> u64 {
        self.information.rows()
    }

    /// Shards with rows.
    pub fn shards(&self) -> u64 {
        self.information.parts()
    }

    /// The bytes, to be shipped.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let stored = StoredPart {
            encoder: self.encoder.clone(),
            information: self.information.state(),
            metrics: self.metrics.clone(),
            weights: self.weights,
        };
        bytes(PART, &stored)
    }

    /// The part of [`Part::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored: StoredPart = from_bytes(PART, bytes)?;
        stored.encoder.check().map_err(damaged)?;
        stored.weights.check().map_err(damaged)?;
        stored.metrics.check(stored.metrics.progressive.family())?;
        let information = Information::restore(stored.information)?;
        if information.dim() != stored.encoder.dim() {
            return Err(damaged("the information is not that of its columns".into()));
        }
        let StoredPart { encoder, metrics, weights, .. } = stored;
        Ok(Self { encoder, information, metrics, weights })
    }
}

/// The information of a part in the features of the whole. The reference of a new level is 0.
fn mapped(part: &Part, whole: &Encoder) -> Result<Information> {
    let map = feature_map(&part.encoder, whole)?;
    if map.is_identity() {
        return Ok(part.information.clone());
    }
    let mut reference = part.information.reference().to_vec();
    reference.resize(map.dim(), 0.0);
    Ok(part.information.mapped(&map, reference)?)
}

/// How the features of a whole follow from those of a part.
pub(crate) fn feature_map(part: &Encoder, whole: &Encoder) -> Result<FeatureMap> {
    let alignment = part.alignment(whole)?;
    let terms = |i: usize| {
        let terms = alignment.terms(i).iter();
        terms.map(|term| FeatureTerm { feature: term.feature, factor: term.factor }).collect()
    };
    let terms = (0..alignment.rows()).map(terms).collect();
    Ok(FeatureMap::new(alignment.part_dim(), terms)?)
}

/// Bytes in the container of model files.
pub(crate) fn bytes<T: Serialize>(kind: &str, value: &T) -> Result<Vec<u8>> {
    let file = ModelFile::new(kind, value, Default::default());
    Ok(file.map_err(|problem| problem.at("in memory"))?.to_bytes())
}

/// The value that [`bytes`] wrote.
pub(crate) fn from_bytes<T: serde::de::DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<T> {
    let read = || ModelFile::from_bytes(bytes)?.state::<T>(kind);
    Ok(read().map_err(|problem: Problem| problem.at("in memory"))?)
}

/// The error of bytes that do not fit together.
pub(crate) fn damaged(message: String) -> Error {
    Problem::State { at: "shard".into(), message }.at("in memory").into()
}
