//! What all workers start from, and the model of what they learned.

use super::{PartOf, Template, bytes, damaged, from_bytes};
use crate::error::{Error, Result};
use crate::history::{History, Merge};
use crate::merging::{MergeLearner, PartMap, drift_of};
use crate::model::ModelOf;
use crate::settings::Settings;
use kalmia::learner::{Heterogeneity, MergedMany};
use kalmia::{AnyFamily, DriftMode};
use kalmia_data::Encoder;
use serde::{Deserialize, Serialize};

/// What every worker starts from: columns, kinds, levels, classes, family, method, and the
/// coefficients that a sample gave, near which information is summed.
///
/// The sample decides the kinds of the columns and the family. Levels and classes that it lacks may
/// appear on any worker.
#[derive(Debug, Clone)]
pub struct TemplateOf<L: MergeLearner> {
    pub(super) encoder: Encoder,
    pub(super) settings: Settings,
    pub(super) law: L::Law,
    pub(super) reference: Vec<f64>,
    /// The prior of the model, without rows.
    prior: L,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct StoredTemplate<L: MergeLearner> {
    encoder: Encoder,
    settings: Settings,
    #[serde(rename = "family")]
    law: L::Law,
    reference: Vec<f64>,
    prior: L::State,
}

impl<L: MergeLearner> TemplateOf<L> {
    /// From a model that has learned a sample of the rows: some from every part, because the rows
    /// may be sorted. The sample is forgotten, except for its columns, levels and classes.
    ///
    /// Refuses methods whose models cannot be merged, wide rows, and `drift` `adapt`, because the
    /// order of rows on several workers means nothing.
    pub fn new(sample: ModelOf<L>) -> Result<Self> {
        L::require_shardable(&sample)?;
        if drift_of(&sample.settings) == DriftMode::Adapt {
            return Err(Error::ShardsAdapt);
        }
        let law = L::law(&sample);
        let reference = sample.learner.reference();
        let map = PartMap::new(&sample.encoder, &sample.encoder)?;
        let prior = sample.learner.prior_of(&map)?;
        let mut encoder = sample.encoder;
        encoder.reset_counts();
        Ok(Self { encoder, settings: sample.settings, law, reference, prior })
    }

    /// What the columns mean, as far as the sample shows it.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The model of all rows of a part, and whether its workers agree.
    pub fn model(&self, part: &PartOf<L>) -> Result<MergedOf<L>> {
        let whole = PartMap::new(&part.encoder, &part.encoder)?;
        let information = L::mapped_information(&part.information, &whole)?;
        let map = PartMap::new(&self.encoder, &part.encoder)?;
        let MergedMany { merged, heterogeneity } =
            self.prior.prior_of(&map)?.of_information(&information)?;
        let exact = merged.is_exact();
        let model = ModelOf {
            learner: merged.into_inner().with_drift(drift_of(&self.settings))?,
            encoder: part.encoder.clone(),
            metrics: part.metrics.clone(),
            settings: self.settings.clone(),
            weights: part.weights,
            history: History { runs: Vec::new(), merged: Some(Merge { exact, parts: Vec::new() }) },
            metadata: Default::default(),
        };
        Ok(MergedOf { model, heterogeneity, shards: part.shards(), exact })
    }

    /// The bytes, to be shipped.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let stored = StoredTemplate::<L> {
            encoder: self.encoder.clone(),
            settings: self.settings.clone(),
            law: self.law.clone(),
            reference: self.reference.clone(),
            prior: self.prior.state(),
        };
        bytes(L::TEMPLATE, &stored)
    }

    /// The template of [`TemplateOf::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored: StoredTemplate<L> = from_bytes(L::TEMPLATE, bytes)?;
        stored.encoder.check().map_err(damaged)?;
        let prior = L::restore(stored.prior)?;
        prior.check_encoder(&stored.encoder).map_err(damaged)?;
        if stored.reference.len() != prior.reference().len() {
            return Err(damaged("the columns are not those of the prior".into()));
        }
        Ok(Self {
            encoder: stored.encoder,
            settings: stored.settings,
            law: stored.law,
            reference: stored.reference,
            prior,
        })
    }
}

impl Template {
    /// The family.
    pub fn family(&self) -> AnyFamily {
        self.law
    }
}

/// A model of several parts.
#[derive(Debug)]
pub struct MergedOf<L: MergeLearner> {
    /// The model.
    pub model: ModelOf<L>,
    /// Whether the parts agree.
    pub heterogeneity: Heterogeneity,
    /// How many parts had rows.
    pub shards: u64,
    /// Whether it is, to rounding, the model that one pass over all rows gives.
    pub exact: bool,
}
