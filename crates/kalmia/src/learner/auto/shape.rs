//! The estimate of a parameter of the law that does not divide the loss: the shape of a family.
//!
//! The shape $\varphi$ is learned by its own recursion in $\zeta = \ln(\varphi + c)$, where a row
//! has about the same information whatever the shape is: $\zeta \mathrel{+}= S/J$, the scores of
//! the rows since the last step over the information of all rows. That is Newton's method with one
//! step per block of rows. In a block all rows have the same shape, so the filter sees a law that
//! does not move under it.

use crate::error::{Result, require};
use crate::family::{Family, FastPaths, ShapeTerms};
use crate::learner::information::PartShape;
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Information that the first guess counts as, about that of four rows.
const PRIOR_INFORMATION: f64 = 2.0;
/// Largest step in $\zeta$.
const MAX_STEP: f64 = 3.0;
/// Largest step that the rows since the last one may ask for by themselves before all earlier rows
/// are taken as rows of another scale and forgotten.
const MAX_OWN_STEP: f64 = 1.0;
/// Share of clear rows, relative to those whose belief is wider than the law, below which the
/// latter count too.
const MIN_CLEAR_SHARE: f64 = 0.25;
/// Rows that the family's own law counts as, for the factor of the covariance.
const PRIOR_ROWS: f64 = 20.0;
/// Range of that factor.
const MIN_INFLATION: f64 = 0.1;
const MAX_INFLATION: f64 = 10.0;

fn is_default(terms: &ShapeTerms) -> bool {
    *terms == ShapeTerms::default()
}

/// What the rows say of the shape.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::learner) struct ShapeSums {
    /// Rows since the last step, in units of the shape.
    recent: ShapeTerms,
    /// The same of rows whose belief is wider than the law; none in older files.
    #[serde(default, skip_serializing_if = "is_default")]
    vague: ShapeTerms,
    /// Information of the rows before, in $\zeta$.
    information: f64,
    /// Sums over all rows that show a curvature: their weights, [`ShapeTerms::squared_slope`] and
    /// [`ShapeTerms::curvature`].
    curved: [f64; 3],
}

impl ShapeSums {
    /// For a field that other families do not store.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses a restored value that no rows can give.
    pub fn check(&self) -> Result<()> {
        let terms = [self.recent, self.vague];
        let sums = terms.into_iter().flat_map(|t| [t.weight, t.information, t.level]);
        for value in sums.chain([self.information]).chain(self.curved) {
            let legal = value.is_finite() && value >= 0.0;
            require(legal, "shape", value, "must be finite, 0 or more")?;
        }
        terms.into_iter().try_for_each(|ShapeTerms { score, .. }| {
            require(score.is_finite(), "shape", score, "must be finite")
        })
    }

    /// Adds a row whose linear predictor without the offset is $N(m, s)$.
    pub fn add<F: Family>(&mut self, family: &F, observation: &Observation, m: f64, s: f64) {
        let terms = family.fast().shape_terms(observation, m, s);
        // a row of a huge weight or count could overflow
        if !(terms.score.is_finite() && terms.information.is_finite()) {
            return;
        }
        let sums = if terms.is_vague { &mut self.vague } else { &mut self.recent };
        sums.weight += terms.weight;
        sums.score += terms.score;
        sums.information += terms.information;
        sums.level += terms.level;
        if terms.squared_slope > 0.0 && !terms.is_vague {
            let added = [terms.weight, terms.squared_slope, terms.curvature];
            self.curved.iter_mut().zip(added).for_each(|(sum, term)| *sum += term);
        }
    }

    /// What the covariance is multiplied with where it is reported: by how much the slopes of the
    /// loss vary more than its curvature says. It is 1 if the law is that of the family; the belief
    /// itself is that of the family's law.
    pub fn inflation(&self) -> f64 {
        let [rows, squared_slope, curvature] = self.curved;
        if rows == 0.0 {
            return 1.0;
        }
        let prior = squared_slope * PRIOR_ROWS / rows;
        let factor = (squared_slope + prior) / (curvature + prior);
        factor.clamp(MIN_INFLATION, MAX_INFLATION)
    }

    /// The family after a step, with a shape of at least `least`; `None` if no row has said
    /// anything since the last one.
    ///
    /// With `restarts`, rows that ask for a step of more than [`MAX_OWN_STEP`] outweigh all earlier
    /// ones: a stream that began with equal targets would otherwise keep their tiny scale.
    pub fn step<F: Family>(
        &mut self,
        family: &F,
        least: f64,
        restarts: bool,
        sparse: bool,
    ) -> Option<F> {
        let recent = std::mem::take(&mut self.recent);
        let vague = std::mem::take(&mut self.vague);
        // Of sparse rows with a scale far too small every belief is wider than the law: without
        // these rows it would stay so.
        let counts = sparse && recent.weight < MIN_CLEAR_SHARE * vague.weight;
        let sum = |of: fn(&ShapeTerms) -> f64| of(&recent) + if counts { of(&vague) } else { 0.0 };
        let weight = sum(|terms| terms.weight);
        let score = sum(|terms| terms.score);
        let information = sum(|terms| terms.information);
        let level = sum(|terms| terms.level);
        let fast = family.fast();
        let shape = fast.shape().filter(|_| weight > 0.0)?;
        let offset = fast.shape_offset(level / weight);
        let unit = shape + offset;
        if restarts && (score / (information * unit)).abs() > MAX_OWN_STEP {
            self.information = 0.0;
        }
        self.information += information * unit * unit;
        let step = score * unit / (self.information + PRIOR_INFORMATION);
        let moved = unit * step.clamp(-MAX_STEP, MAX_STEP).exp() - offset;
        moved.is_finite().then(|| fast.with_shape_unchecked(moved.max(least)))
    }

    /// What a learner of this shape tells others.
    pub fn part(&self, shape: f64) -> PartShape {
        let [rows, squared_slope, curvature] = self.curved;
        PartShape { shape, sums: [self.information, rows, squared_slope, curvature] }
    }

    /// The sums of several learners.
    pub fn from_part(part: &PartShape) -> Self {
        let [information, rows, squared_slope, curvature] = part.sums;
        let curved = [rows, squared_slope, curvature];
        Self { information, curved, ..Self::default() }
    }
}
