//! Sparse batches that can fail: only what their rows touch is kept, to return to.

use super::CoreTail;
use crate::covariance::{Decide, Factored};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, Threads};
use crate::sparse::SparseMatrix;

/// A feature before a batch.
struct Before {
    index: u32,
    theta: f64,
    variance: f64,
    place: u32,
}

/// The belief about the features of a batch, and the core.
struct Undo {
    features: Vec<Before>,
    core: Factored,
    core_features: usize,
}

impl<const M: usize> CoreTail<M> {
    /// Learns sparse rows. A failure, or a coefficient that is not finite afterwards, changes
    /// nothing.
    pub(super) fn learn_guarded(
        &mut self,
        theta: &mut Buffer,
        x: SparseMatrix<'_>,
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        let undo = self.save(theta, x);
        let learned = self.learn_sparse_rows(theta, x, decide, threads).and_then(|()| {
            let touched = x.indices().iter().chain(&self.members);
            match touched.map(|&j| theta[j as usize]).find(|v| !v.is_finite()) {
                // overflow in earlier rows shows in the linear predictor of the row after them
                Some(value) => {
                    let row = x.len() - 1;
                    Err(Error::Diverged { row, quantity: "a coefficient", value })
                }
                None => Ok(()),
            }
        });
        if learned.is_err() {
            self.undo(theta, undo);
        }
        learned
    }

    fn save(&self, theta: &Buffer, x: SparseMatrix<'_>) -> Undo {
        let before = |&index: &u32| Before {
            index,
            theta: theta[index as usize],
            variance: self.variances[index as usize],
            place: self.places[index as usize],
        };
        Undo {
            features: x.indices().iter().chain(&self.members).map(before).collect(),
            core: self.core.clone(),
            core_features: self.members.len(),
        }
    }

    fn undo(&mut self, theta: &mut Buffer, undo: Undo) {
        for before in undo.features {
            let j = before.index as usize;
            theta[j] = before.theta;
            self.variances[j] = before.variance;
            self.places[j] = before.place;
        }
        self.core = undo.core;
        self.members.truncate(undo.core_features);
        self.settle();
    }
}
