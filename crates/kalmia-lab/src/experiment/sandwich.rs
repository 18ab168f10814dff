//! Standard errors that hold under misspecification: $P\,(\sum_t\ell_t'^2x_tx_t^\top)\,P$.

use crate::matrix::{add_square, dot};
use kalmia::{Observer, Predict, RowView};

/// Sums $\ell_t'^2x_tx_t^\top$ over the rows that a learner learns, each at the prediction made
/// before it.
#[derive(Debug, Clone)]
pub(crate) struct Sandwich {
    dim: usize,
    middle: Vec<f64>,
}

impl Sandwich {
    pub fn new(dim: usize) -> Self {
        Self { dim, middle: vec![0.0; dim * dim] }
    }

    /// $\sqrt{(PMP)_{jj}}$ with the covariance $P$ of the learner; NaN without one.
    pub fn standard_errors(&self, learner: &impl Predict) -> Vec<f64> {
        let d = self.dim;
        let entry = |i, j| learner.covariance_entry(i, j).unwrap_or(f64::NAN);
        (0..d)
            .map(|j| {
                let column: Vec<f64> = (0..d).map(|i| entry(i, j)).collect();
                let quadratic = |(k, row): (usize, &[f64])| column[k] * dot(row, &column);
                self.middle.chunks_exact(d).enumerate().map(quadratic).sum::<f64>().sqrt()
            })
            .collect()
    }
}

impl Observer for Sandwich {
    fn row(&mut self, row: &RowView<'_>) {
        add_square(&mut self.middle, row.x, row.gradient * row.gradient);
    }

    fn uses_loss(&self) -> bool {
        false
    }
}
