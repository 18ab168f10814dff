//! A worker.

use super::{Part, Template};
use crate::error::Result;
use crate::method::Algorithm;
use crate::model::Model;
use kalmia::evaluate::RowBuffer;
use kalmia::learner::Information;
use kalmia::{DriftMode, Learner};
use kalmia_data::{Block, Encoder};

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
        if let Algorithm::Auto { drift, .. } = &mut settings.method.algorithm {
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
