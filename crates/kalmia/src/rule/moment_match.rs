//! The step after which the belief keeps the exact mean and variance of the linear predictor.

use super::quadrature::{self, Tilt, Tilted};
use super::{Moments, Rule, Step};
use crate::family::Family;
use crate::rows::Observation;

/// $g = (\ln Z)'(m)$, $c = -(\ln Z)''(m)$, $Z(m) = E[e^{-w\ell(y,u+o)}]$, $u \sim N(m, s)$.
///
/// $g$ and $c$ are exact to $10^{-9}$ relative for $s \le 100$ and $10^{-6}$ for $s \le 10^6$ when $\ell$ is smooth. Where $\ell''$ jumps (Huber's
/// loss), $c$ is as good as a sample of $\ell''$ over the belief.
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
    fn step<F: Family>(&self, family: &F, observation: &Observation, m: f64, s: f64, _t: u64) -> Step {
        if let Some(exact) = family.exact_moments(observation, m, s) {
            return exact.step;
        }
        match tilt(family, observation, m, s) {
            Ok(tilted) => tilted.step,
            Err(step) => step,
        }
    }

    fn can_diverge<F: Family>(&self, _family: &F) -> bool {
        false
    }
}

/// $\ln Z$ and the moment-matching step of one observation for $u \sim N(m, s)$, $s \ge 0$.
///
/// ```
/// use kalmia::family::Bernoulli;
/// use kalmia::{Observation, rule::moments};
///
/// // By symmetry a label is a coin flip under any belief centred on 0.
/// let tilted = moments(&Bernoulli, &Observation::new(1.0), 0.0, 9.0);
/// assert!((tilted.log_evidence.exp() - 0.5).abs() < 1e-12);
/// assert!(tilted.step.gain > 0.0);
/// ```
#[inline]
pub fn moments<F: Family>(family: &F, observation: &Observation, m: f64, s: f64) -> Moments {
    if let Some(exact) = family.exact_moments(observation, m, s) {
        return exact;
    }
    match tilt(family, observation, m, s) {
        Ok(tilted) => tilted.moments(&Tilt { family, observation, m, s }),
        Err(step) if observation.weight == 0.0 => Moments { log_evidence: 0.0, step },
        Err(step) => Moments { log_evidence: -observation.loss(family, m), step },
    }
}

/// The integrals, or without a spread or a weight the step that needs none.
#[inline]
fn tilt<F: Family>(family: &F, observation: &Observation, m: f64, s: f64) -> Result<Tilted, Step> {
    if observation.weight == 0.0 {
        return Err(Step { gain: 0.0, curvature: 0.0 });
    }
    let at_m = observation.derivatives(family, m);
    if s <= 0.0 {
        return Err(Step::bounded(-at_m.0, at_m.1));
    }
    Ok(quadrature::integrate(&Tilt { family, observation, m, s }, at_m))
}
