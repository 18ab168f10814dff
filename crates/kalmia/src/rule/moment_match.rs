//! The step after which the belief keeps the exact mean and variance of the linear predictor.

use super::Rule;
use crate::family::{Family, FastPaths, RowLoss};
use crate::math::Potential;
use crate::math::quadrature::{Tilt, Tilted, integrate};
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};

/// $g = (\ln Z)'(m)$, $c = -(\ln Z)''(m)$, $Z(m) = E[e^{-w\ell(y,u+o)}]$, $u \sim N(m, s)$.
///
/// $g$ and $c$ are exact to $10^{-9}$ relative for $s \le 100$ and $10^{-6}$ for $s \le 10^6$ when
/// $\ell$ is smooth. Where $w\ell'' > 10^{10}$ they are those of the Gaussian about the mode. If
/// $\ell''$ jumps (Huber's loss), $c$ is only as good as a sample of $\ell''$ over the belief.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MomentMatch;

impl Rule for MomentMatch {
    fn name(&self) -> &'static str {
        "moment"
    }

    fn is_kalman(&self) -> bool {
        true
    }

    #[inline]
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        _t: u64,
    ) -> Step {
        if let Some(exact) = family.fast().exact_moments(observation, m, s) {
            return exact.step;
        }
        if observation.weight == 0.0 {
            return Step::NONE;
        }
        let loss = RowLoss { family, observation };
        let at_m = loss.derivatives(m);
        match tilt(&loss, m, s, at_m) {
            Some(tilted) => Step::bounded(tilted.gain, tilted.curvature, s),
            None => Step::bounded(-at_m.0, at_m.1, s),
        }
    }

    fn can_diverge<F: Family>(&self, _family: &F) -> bool {
        false
    }
}

/// $Z$ and the moment-matching step of one observation for $u \sim N(m, s)$, $s \ge 0$.
///
/// ```
/// use kalmia::family::Bernoulli;
/// use kalmia::rows::Observation;
/// use kalmia::rule::moments;
///
/// // By symmetry a label is a coin flip under any belief centered at 0.
/// let tilted = moments(&Bernoulli, &Observation::new(1.0), 0.0, 9.0);
/// assert!((tilted.evidence.ln().exp() - 0.5).abs() < 1e-12);
/// assert!(tilted.step.gain > 0.0);
/// ```
#[inline]
pub fn moments<F: Family>(family: &F, observation: &Observation, m: f64, s: f64) -> Moments {
    if let Some(exact) = family.fast().exact_moments(observation, m, s) {
        return exact;
    }
    if observation.weight == 0.0 {
        return Moments { evidence: Evidence::Log(0.0), slope: 0.0, step: Step::NONE };
    }
    let loss = RowLoss { family, observation };
    let at_m = loss.derivatives(m);
    let (log_evidence, step) = match tilt(&loss, m, s, at_m) {
        Some(tilted) => (tilted.ln_z(&loss), Step::bounded(tilted.gain, tilted.curvature, s)),
        None => (-loss.loss(m), Step::bounded(-at_m.0, at_m.1, s)),
    };
    Moments { evidence: Evidence::Log(log_evidence), slope: at_m.0, step }
}

/// The integrals, or `None` for a belief without spread, which needs none.
#[inline]
fn tilt<P: Potential>(potential: &P, m: f64, s: f64, at_m: (f64, f64)) -> Option<Tilted> {
    if s <= 0.0 {
        return None;
    }
    Some(integrate(&Tilt { potential, m, s }, at_m))
}
