//! What is learned about the noise: normal-inverse-gamma for normal noise, Pearson's estimator for the other families with a dispersion.

use crate::family::Family;
use crate::rows::Observation;
use crate::rule::Step;
use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;

/// Shape $a_1$ of the inverse-gamma prior: one row's worth.
const PRIOR_SHAPE: f64 = 0.5;

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

    /// What a row adds to the residual sum: for normal noise $w r^2/(1+ws)$, else the product of Pearson's residuals before and after the
    /// row, its counterpart.
    pub fn residual<F: Family>(&self, family: &F, observation: &Observation, m: f64, s: f64, step: Step) -> f64 {
        let u = m + observation.offset;
        match self.kind {
            Kind::None => 0.0,
            Kind::Normal => {
                let r = observation.y - u;
                observation.weight * r * r / (1.0 + observation.weight * s)
            }
            Kind::Pearson => {
                let pearson = |u: f64| (observation.y - family.mean(u)) / family.variance(u).sqrt();
                (observation.weight * pearson(u) * pearson(u + step.gain * s)).clamp(0.0, 1e100)
            }
        }
    }

    /// What all members share of a row's log evidence: $\ln\Gamma(a+w/2) - \ln\Gamma(a) - \tfrac w2\ln 2\pi$.
    pub fn shared(&self, weight: f64) -> f64 {
        let a = PRIOR_SHAPE + 0.5 * self.rows;
        let half = 0.5 * weight;
        // for large a by Stirling's series, where the difference of two log-gammas would lose its digits
        let gammas = if a > 1e4 { half * (a + 0.5 * (half - 1.0)).ln() } else { ln_gamma(a + half) - ln_gamma(a) };
        gammas - half * std::f64::consts::TAU.ln()
    }

    /// A member's own part for normal noise: $a\ln b - (a+w/2)\ln b' - \tfrac12\ln(1+ws)$, $b' = b + \text{added}/2$.
    pub fn own(&self, residual: f64, added: f64, weight: f64, s: f64) -> f64 {
        let a = PRIOR_SHAPE + 0.5 * self.rows;
        let b = PRIOR_SHAPE * self.guess + 0.5 * residual;
        -a * (0.5 * added / b).ln_1p() - 0.5 * weight * (b + 0.5 * added).ln() - 0.5 * (weight * s).ln_1p()
    }
}
