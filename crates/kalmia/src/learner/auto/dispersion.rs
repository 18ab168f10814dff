//! The estimate of the dispersion: normal-inverse-gamma for normal noise, Pearson's estimator for
//! the other families that have one.

use crate::family::Family;
use crate::math::ln_gamma;
use crate::rows::{Observation, Rows};
use serde::{Deserialize, Serialize};

/// Shape $a_1$ of the inverse-gamma prior, which counts as one row.
const PRIOR_SHAPE: f64 = 0.5;

/// Largest contribution of one row to Pearson's sum, in units of the estimate.
const MAX_PEARSON: f64 = 100.0;

/// How the dispersion is learned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// The family has none.
    None,
    /// Normal noise: exact, Student predictive.
    Normal,
    /// Any other: a point estimate.
    Pearson,
}

/// The part of the dispersion's belief that all members share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Dispersion {
    pub kind: Kind,
    /// Guess before the rows, from the warm-up.
    pub guess: f64,
    /// Sum of weights.
    pub rows: f64,
}

impl Dispersion {
    pub fn new<F: Family>(family: &F) -> Self {
        let kind = match (family.dispersion(), family.normal_noise()) {
            (None, _) => Kind::None,
            (Some(_), Some(_)) => Kind::Normal,
            (Some(_), None) => Kind::Pearson,
        };
        Self { kind, guess: 1.0, rows: 0.0 }
    }

    /// Degrees of freedom of the predictive distribution.
    pub fn degrees(&self) -> f64 {
        if self.kind == Kind::Normal { 2.0 * PRIOR_SHAPE + self.rows } else { f64::INFINITY }
    }

    /// The estimate from a member's residual sum.
    pub fn estimate(&self, residual: f64) -> f64 {
        match self.kind {
            Kind::None => 1.0,
            _ => (2.0 * PRIOR_SHAPE * self.guess + residual) / (2.0 * PRIOR_SHAPE + self.rows),
        }
    }

    /// What a row adds to the residual sum: for normal noise $w r^2/(1+ws)$, else the counterpart
    /// with Pearson's residual (and mean curvature 1), capped at [`MAX_PEARSON`].
    pub fn residual<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        so_far: f64,
    ) -> f64 {
        let Observation { y, weight, offset } = *observation;
        match self.kind {
            _ if weight == 0.0 => 0.0,
            Kind::None => 0.0,
            Kind::Normal => weight * (y - m - offset).powi(2) / (1.0 + weight * s),
            Kind::Pearson => {
                let row = pearson(family, y, m + offset) / (1.0 + weight * s);
                weight * row.min(MAX_PEARSON * self.estimate(so_far))
            }
        }
    }

    /// The residual sum of rows already learned, at the coefficients after them; only for Pearson's
    /// estimator, because residuals before the coefficients are known are no use to it.
    pub fn refit<F: Family>(&self, family: &F, rows: Rows<'_>, theta: &[f64]) -> Option<f64> {
        let n = rows.len() as f64;
        let d = rows.dim() as f64;
        if self.kind != Kind::Pearson || n < d + 2.0 {
            return None;
        }
        let row = |i: usize| {
            let Observation { y, weight, offset } = rows.observation(i);
            let m: f64 = theta.iter().zip(rows.x(i)).map(|(t, x)| t * x).sum();
            weight * pearson(family, y, m + offset)
        };
        Some((0..rows.len()).map(row).sum::<f64>() * n / (n - d))
    }

    /// The term of a row's log evidence that is common to all members: $\ln\Gamma(a+w/2) -
    /// \ln\Gamma(a) - \tfrac w2\ln 2\pi$.
    pub fn common_term(&self, weight: f64) -> f64 {
        let a = PRIOR_SHAPE + 0.5 * self.rows;
        let half = 0.5 * weight;
        // Stirling's series for large a, where the difference of two log-gammas loses precision
        let gammas = if a > 1e4 {
            half * (a + 0.5 * (half - 1.0)).ln()
        } else {
            ln_gamma(a + half) - ln_gamma(a)
        };
        gammas - half * std::f64::consts::TAU.ln()
    }

    /// The member's own term for normal noise: $a\ln b - (a+w/2)\ln b' - \tfrac12\ln(1+ws)$,
    /// $b' = b + \text{added}/2$.
    pub fn member_term(&self, residual: f64, added: f64, weight: f64, s: f64) -> f64 {
        let a = PRIOR_SHAPE + 0.5 * self.rows;
        let b = PRIOR_SHAPE * self.guess + 0.5 * residual;
        -a * (0.5 * added / b).ln_1p()
            - 0.5 * weight * (b + 0.5 * added).ln()
            - 0.5 * (weight * s).ln_1p()
    }
}

/// Pearson's squared residual under unit dispersion.
fn pearson<F: Family>(family: &F, y: f64, u: f64) -> f64 {
    (y - family.mean(u)).powi(2) / family.variance(u)
}
