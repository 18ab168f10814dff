//! Labels of many rows, from the sign of the linear predictor where it decides.

use super::Predict;
use crate::covariance::Covariance;
use crate::error::{Result, require_len};
use crate::family::{Family, FastPaths};
use crate::linalg::row_products;
use crate::rows::Inputs;

/// Rows that a batch of predictions takes at a time.
pub(super) const PREDICTED_ROWS: usize = 256;
/// Fewest rows for which the variances of all coefficients are worth computing.
const MIN_ROWS: usize = 64;
/// Smallest linear predictor whose sign decides, relative to 1 and its largest deviation. Below it
/// the probability is so close to one half that the rounding of its integral could decide.
const MIN_LINEAR: f64 = 1e-6;

/// What a member knows of the sign of a linear predictor.
pub(super) struct LabelBelief<'a> {
    theta: &'a [f64],
    /// $P_{jj}^{1/2}$: $(x^\top Px)^{1/2} \le \sum_j |x_j| P_{jj}^{1/2}$.
    deviations: Box<dyn Fn() -> Vec<f64> + 'a>,
}

impl<'a> LabelBelief<'a> {
    pub fn new<C: Covariance>(theta: &'a [f64], covariance: &'a C) -> Self {
        let deviations =
            move || (0..covariance.dim()).map(|j| covariance.entry(j, j).sqrt()).collect();
        Self { theta, deviations: Box::new(deviations) }
    }
}

/// Whether the mean of each row is above one half. It is if all members' linear predictors are
/// clearly positive, and it is not if all are clearly negative; other rows are predicted in full.
pub(super) fn predict_labels<L: Predict>(
    learner: &L,
    inputs: Inputs<'_>,
    beliefs: &[LabelBelief<'_>],
    labels: &mut [bool],
) -> Result<()> {
    require_len("labels", labels.len(), inputs.len())?;
    let dim = learner.dim();
    let few = beliefs.is_empty() || inputs.len() < MIN_ROWS;
    if !learner.family().fast().is_label() || few {
        return learner.predict_many(inputs, &mut |i, prediction| {
            labels[i] = crate::predict::Predictive::mean(prediction) > 0.5;
            Ok(())
        });
    }
    inputs.check(dim)?;
    let mut linear = vec![0.0; inputs.len()];
    let mut positive = vec![true; inputs.len()];
    let mut negative = vec![true; inputs.len()];
    let mut sizes = vec![0.0; dim];
    for belief in beliefs {
        let deviations = (belief.deviations)();
        row_products(inputs.features(), dim, belief.theta, &mut linear);
        for i in 0..inputs.len() {
            sizes.iter_mut().zip(inputs.x(i)).for_each(|(size, x)| *size = x.abs());
            let mut deviation = [0.0];
            row_products(&sizes, dim, &deviations, &mut deviation);
            let m = linear[i] + inputs.offset(i);
            let clear = m.is_finite() && m.abs() > MIN_LINEAR * (1.0 + deviation[0]);
            // an unseen level widens the belief by an amount that is not bounded here
            let clear = clear && inputs.unseen(i) == 0;
            positive[i] &= clear && m > 0.0;
            negative[i] &= clear && m < 0.0;
        }
    }
    for i in 0..inputs.len() {
        labels[i] = positive[i];
        if !positive[i] && !negative[i] {
            learner.predict_many(inputs.slice(i..i + 1), &mut |_, prediction| {
                labels[i] = crate::predict::Predictive::mean(prediction) > 0.5;
                Ok(())
            })?;
        }
    }
    Ok(())
}
