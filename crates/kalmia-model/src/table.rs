//! Learning a table as one transaction, and what a service asks about its rows.

mod waiting;

pub use waiting::WaitingRows;

use crate::error::Result;
use crate::model::{Model, ModelOf};
use crate::model_learner::ModelLearner;
use kalmia::Family;
use kalmia::evaluate::deviance;
use kalmia_data::{Block, Table};

/// Memory that [`ModelOf::learn_table`] reuses from call to call; one for each thread that learns.
#[derive(Debug, Default)]
pub struct LearnScratch {
    /// The rows of the last table, encoded.
    pub block: Block,
    waiting: WaitingRows,
}

/// What became of the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedRows {
    /// Rows learned.
    pub rows: usize,
    /// Rows left out for a missing value.
    pub skipped: usize,
}

impl<L: ModelLearner> ModelOf<L> {
    /// Encodes a table, learns its rows as one batch and scores their predictions, each made before
    /// its row was learned. The model is then, byte for byte, what the command's pass over the same
    /// batches makes of it; the history is the caller's.
    ///
    /// All or nothing: after an error everything in the model is as it was before, and the error
    /// names the row.
    pub fn learn_table(
        &mut self,
        table: &Table,
        scratch: &mut LearnScratch,
    ) -> Result<LearnedRows> {
        let mark = self.encoder.mark();
        let LearnScratch { block, waiting } = scratch;
        self.encoder.encode_table(table, block)?;
        // a batch without rows is not learned, as in the command's pass
        if block.rows() > 0
            && let Err(error) = L::learn_counted(self, block, waiting)
        {
            self.encoder.undo(mark);
            return Err(error);
        }
        Ok(LearnedRows { rows: block.rows(), skipped: block.rows_read - block.rows() })
    }
}

impl Model {
    /// The target of row `i` of a block in the coding that losses take: 0 and 1 for labels, counts
    /// and amounts as they are. `None` if it is missing, or not one of the family.
    pub fn canonical_target(&self, block: &Block, i: usize) -> Option<f64> {
        let y = *block.y.get(i)?;
        self.metrics.progressive.family().canonical(y).filter(|y| !y.is_nan())
    }

    /// The loss of a mean that was predicted for a target in canonical coding
    /// ([`Model::canonical_target`]), unweighted: half the unit deviance of
    /// [`kalmia::evaluate::deviance`]. It is the log-loss for labels and half the squared error for
    /// the Gaussian family.
    ///
    /// It equals the loss that [`kalmia::evaluate::Progressive::row`] counts for that target and
    /// mean. It is also what [`Model::metrics`] counts for the row if method `auto` served the mean
    /// just before it learned the row, up to rounding, and after its first 128 rows: until then it
    /// takes the scales of the features anew before some rows. Filters score their plug-in mean,
    /// not the served one, which is averaged over the uncertainty of the coefficients.
    pub fn loss_of_mean(&self, y: f64, mean: f64) -> f64 {
        0.5 * deviance(self.metrics.progressive.family(), y, mean)
    }
}
