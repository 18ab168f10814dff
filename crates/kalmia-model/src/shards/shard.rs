//! A worker.

use super::{PartOf, TemplateOf};
use crate::error::Result;
use crate::merging::MergeLearner;
use crate::method::Algorithm;
use crate::model::ModelOf;
use kalmia::DriftMode;
use kalmia::evaluate::RowBuffer;
use kalmia_data::{Block, Encoder};

/// A worker: it learns the rows of one part of the data.
#[derive(Debug)]
pub struct ShardOf<L: MergeLearner> {
    model: ModelOf<L>,
    reference: Vec<f64>,
    rows: RowBuffer,
}

impl<L: MergeLearner> ShardOf<L> {
    /// Without rows.
    pub fn new(template: &TemplateOf<L>) -> Result<Self> {
        let mut settings = template.settings.clone();
        if let Algorithm::Auto { drift, .. } = &mut settings.method.algorithm {
            // rows of a part have no order that a drift could follow
            *drift = DriftMode::Off;
        }
        Ok(Self {
            model: L::untrained(settings, &template.law, template.encoder.clone())?,
            reference: template.reference.clone(),
            rows: RowBuffer::default(),
        })
    }

    /// What the columns mean; a reader encodes the blocks of this shard with it.
    pub fn encoder_mut(&mut self) -> &mut Encoder {
        &mut self.model.encoder
    }

    /// Learns a block that [`ShardOf::encoder_mut`] encoded. An error names the row, and leaves the
    /// shard without the block's rows but with its new levels.
    pub fn learn(&mut self, block: &Block) -> Result<()> {
        match block.rows() {
            0 => Ok(()),
            _ => L::learn_judged(&mut self.model, block, &mut self.rows),
        }
    }

    /// The model of this part alone.
    pub fn into_model(self) -> ModelOf<L> {
        self.model
    }

    /// What was learned, to be merged.
    pub fn part(&self) -> Result<PartOf<L>> {
        Ok(PartOf {
            encoder: self.model.encoder.clone(),
            information: self.model.learner.rows_information(&self.reference)?,
            metrics: self.model.metrics.clone(),
            weights: self.model.weights,
        })
    }
}
