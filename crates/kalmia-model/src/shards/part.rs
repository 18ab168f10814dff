//! What shards have learned, as it is shipped and merged.

use super::{bytes, damaged, feature_map, from_bytes};
use crate::error::Result;
use crate::weights::Weights;
use kalmia::evaluate::Metrics;
use kalmia::learner::{Information, InformationState};
use kalmia_data::Encoder;
use serde::{Deserialize, Serialize};

/// The kind of the bytes of a [`Part`].
const PART: &str = "part";

/// What one or several shards have learned.
#[derive(Debug, Clone)]
pub struct Part {
    pub(super) encoder: Encoder,
    pub(super) information: Information,
    pub(super) metrics: Metrics,
    pub(super) weights: Weights,
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
