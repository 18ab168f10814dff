//! What shards have learned, as it is shipped and merged.

use super::{bytes, damaged, from_bytes};
use crate::error::Result;
use crate::merging::{MergeLearner, PartMap};
use crate::weights::Weights;
use kalmia_data::Encoder;
use serde::{Deserialize, Serialize};

/// What one or several shards have learned.
#[derive(Debug, Clone)]
pub struct PartOf<L: MergeLearner> {
    pub(super) encoder: Encoder,
    pub(super) information: L::Information,
    pub(super) metrics: L::Metrics,
    pub(super) weights: Weights,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct StoredPart<L: MergeLearner> {
    encoder: Encoder,
    information: L::Shipped,
    metrics: L::Metrics,
    weights: Weights,
}

impl<L: MergeLearner> PartOf<L> {
    /// Adds the rows of another part. Levels and classes are matched by name. Refuses a part of
    /// another template, and then changes nothing.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let encoder = Encoder::union(&[&self.encoder, &other.encoder])?;
        let own_map = PartMap::new(&self.encoder, &encoder)?;
        let other_map = PartMap::new(&other.encoder, &encoder)?;
        let mut information = L::mapped_information(&self.information, &own_map)?;
        let added = L::mapped_information(&other.information, &other_map)?;
        L::add_information(&mut information, &added)?;
        self.metrics = L::merged_metrics(
            &L::mapped_metrics(&self.metrics, &own_map),
            &L::mapped_metrics(&other.metrics, &other_map),
        )?;
        self.weights = self.weights.merged(&other.weights);
        self.information = information;
        self.encoder = encoder;
        Ok(())
    }

    /// Rows learned.
    pub fn rows(&self) -> u64 {
        L::information_counts(&self.information).rows
    }

    /// Shards with rows.
    pub fn shards(&self) -> u64 {
        L::information_counts(&self.information).parts
    }

    /// The bytes, to be shipped.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let stored = StoredPart::<L> {
            encoder: self.encoder.clone(),
            information: L::shipped(&self.information),
            metrics: self.metrics.clone(),
            weights: self.weights,
        };
        bytes(L::PART, &stored)
    }

    /// The part of [`PartOf::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stored: StoredPart<L> = from_bytes(L::PART, bytes)?;
        stored.encoder.check().map_err(damaged)?;
        stored.weights.check().map_err(damaged)?;
        L::check_shipped_metrics(&stored.metrics)?;
        let information = L::received(stored.information, &stored.encoder)?;
        let StoredPart { encoder, metrics, weights, .. } = stored;
        Ok(Self { encoder, information, metrics, weights })
    }
}
