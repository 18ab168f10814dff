//! The estimate of a parameter of the law that does not divide the loss: the shape of a family.
//!
//! The shape $\varphi$ is learned by its own recursion in $\zeta = \ln(\varphi + c)$, where a row
//! has about the same information whatever the shape is: $\zeta \mathrel{+}= S/J$, the scores of
//! the rows since the last step over the information of all rows. That is Newton's method with one
//! step per block of rows. In a block all rows have the same shape, so the filter sees a law that
//! does not move under it.

use crate::error::{Result, require};
use crate::family::{Family, FastPaths, ShapeTerms};
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Information that the first guess counts as, about that of four rows.
const PRIOR_INFORMATION: f64 = 2.0;
/// Largest step in $\zeta$.
const MAX_STEP: f64 = 1.5;

/// What the rows say of the shape.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::learner) struct ShapeSums {
    /// Rows since the last step, in units of the shape.
    recent: ShapeTerms,
    /// Information of the rows before, in $\zeta$.
    information: f64,
}

impl ShapeSums {
    /// For a field that other families do not store.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses a restored value that no rows can give.
    pub fn check(&self) -> Result<()> {
        let ShapeTerms { weight, score, information, level } = self.recent;
        for value in [weight, information, level, self.information] {
            let legal = value.is_finite() && value >= 0.0;
            require(legal, "shape", value, "must be finite, 0 or more")?;
        }
        require(score.is_finite(), "shape", score, "must be finite")
    }

    /// Adds a row whose linear predictor without the offset is $N(m, s)$.
    pub fn add<F: Family>(&mut self, family: &F, observation: &Observation, m: f64, s: f64) {
        let terms = family.fast().shape_terms(observation, m, s);
        // a row of a huge weight or count could overflow
        if !(terms.score.is_finite() && terms.information.is_finite()) {
            return;
        }
        self.recent.weight += terms.weight;
        self.recent.score += terms.score;
        self.recent.information += terms.information;
        self.recent.level += terms.level;
    }

    /// The family after a step; `None` if no row has said anything since the last one.
    pub fn step<F: Family>(&mut self, family: &F) -> Option<F> {
        let ShapeTerms { weight, score, information, level } = std::mem::take(&mut self.recent);
        let fast = family.fast();
        let shape = fast.shape().filter(|_| weight > 0.0)?;
        let offset = fast.shape_offset(level / weight);
        let unit = shape + offset;
        self.information += information * unit * unit;
        let step = score * unit / (self.information + PRIOR_INFORMATION);
        let moved = unit * step.clamp(-MAX_STEP, MAX_STEP).exp() - offset;
        moved.is_finite().then(|| fast.with_shape_unchecked(moved))
    }

    /// The family with the shape of both, and its sums: the mean of their logarithms, weighted by
    /// the rows.
    pub fn merged<F: Family>(&mut self, family: &F, other: &Self, theirs: &F) -> Option<F> {
        let own = family.fast().shape()?;
        let their = theirs.fast().shape()?;
        let share = other.information / (self.information + other.information + PRIOR_INFORMATION);
        self.information += other.information;
        Some(family.fast().with_shape_unchecked(own * (their / own).powf(share)))
    }
}
