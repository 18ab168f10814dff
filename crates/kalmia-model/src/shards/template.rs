//! What all workers start from, and the model of what they learned.

use super::{Part, bytes, damaged, feature_map, from_bytes};
use crate::error::{Error, Result};
use crate::history::{History, Merge};
use crate::method::Algorithm;
use crate::model::Model;
use crate::settings::Settings;
use kalmia::learner::{AnyState, FeatureMap, Heterogeneity, MergedMany};
use kalmia::{AnyFamily, AnyLearner, DriftMode, Learner};
use kalmia_data::Encoder;
use serde::{Deserialize, Serialize};

/// What every worker starts from: columns, kinds, levels, family, method, and the coefficients that
/// a sample gave, near which information is summed.
///
/// The sample decides the kinds of the columns and the family. Levels that it lacks may appear on
/// any worker.
#[derive(Debug, Clone)]
pub struct Template {
    pub(super) encoder: Encoder,
    pub(super) settings: Settings,
    pub(super) family: AnyFamily,
    pub(super) reference: Vec<f64>,
    /// The prior of the model, without rows.
    prior: AnyLearner,
}

/// The kind of the bytes of a [`Template`].
const TEMPLATE: &str = "template";

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
            Algorithm::Auto { drift, .. } => drift,
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
            (AnyLearner::Auto(auto), Algorithm::Auto { drift, .. }) => {
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
