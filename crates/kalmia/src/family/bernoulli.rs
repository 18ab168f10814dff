//! The Bernoulli family with the logistic link: $P(y=1) = 1/(1+e^{-u})$.

mod lanes;
mod narrow;
mod vague;
mod wide;

use super::fast::own_fast_paths;
use super::fast::{CdfTransition, Point};
use super::{Family, FastPaths};
use crate::math::quadrature::{gaussian_expectation, smooth_average};
use crate::math::{Likelihood, ln_1p_unit, logistic, softplus};
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};
pub(crate) use lanes::{LabelLanes, MomentLanes};
use narrow::Narrow;
pub(crate) use narrow::{LabelsOf, StepOf};
use rand::{Rng, RngExt};

/// $\ell(y,u) = \ln(1+e^{-zu})$, $z = 2y-1$. Labels 0/1 and -1/+1 give the same trajectory.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bernoulli;

/// Largest `u` of the series and the rule for narrower beliefs: beyond it $e^{-u}$ comes close to
/// the smallest number.
const MAX_LINEAR: f64 = 600.0;

/// What one exponential gives for a label at `u`.
struct LabelAt {
    /// $e^{-|u|}$ and $1/(1+e^{-|u|})$.
    e: f64,
    r: f64,
    /// The probability of the label.
    own: f64,
    first: f64,
    second: f64,
}

impl LabelAt {
    // l' from the product zu and l'' from |u|: (x,y) -> (-x,-y) then changes no bit (identity I22).
    #[inline(always)]
    fn new(y: f64, u: f64) -> Self {
        let z = if y > 0.0 { 1.0 } else { -1.0 };
        let e = (-u.abs()).exp();
        let r = 1.0 / (1.0 + e);
        let (own, other) = if z * u >= 0.0 { (r, e * r) } else { (e * r, r) };
        Self { e, r, own, first: -z * other, second: e * r * r }
    }
}

impl Family for Bernoulli {
    fn name(&self) -> &str {
        "bernoulli"
    }

    fn domain(&self) -> &str {
        "0 or 1 (or -1 and +1)"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        if y == 1.0 {
            Some(1.0)
        } else if y == 0.0 || y == -1.0 {
            Some(0.0)
        } else {
            None
        }
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        softplus(if y > 0.0 { -u } else { u })
    }

    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let LabelAt { first, second, .. } = LabelAt::new(y, u);
        (first, second)
    }

    fn log_base(&self, _y: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        logistic(u)
    }

    fn variance(&self, u: f64) -> f64 {
        self.derivatives(1.0, u).1
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        if q <= logistic(-u) { 0.0 } else { 1.0 }
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        if y < 0.0 {
            0.0
        } else if y < 1.0 {
            logistic(-u)
        } else {
            1.0
        }
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        if rng.random::<f64>() < logistic(u) { 1.0 } else { 0.0 }
    }

    fn discrete(&self) -> bool {
        true
    }

    fn bounded_gradient(&self) -> bool {
        true
    }

    /// The trapezoid rule, whose error for a Gaussian times a function with poles at $\pm i\pi$ is
    /// below $10^{-12}$ at these steps; a wide belief goes to the adaptive integral.
    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        let deviation = s.sqrt();
        if deviation > 4.0 {
            return gaussian_expectation(m, s, logistic);
        }
        if s <= narrow::MAX_MEAN_VARIANCE
            && let Some(narrow) = Narrow::new(m, s)
        {
            return narrow.mean();
        }
        // The lower tail keeps its relative accuracy, and P(1) + P(0) = 1 to the last bit.
        if m > 0.0 {
            return 1.0 - self.moderated_mean(-m, s);
        }
        // in units of e^{-e^u}, whose derivatives are larger
        if let Some(mean) = smooth_average(1.5 / deviation, |z| logistic(m + deviation * z)) {
            return mean;
        }
        let step = if deviation > 1.0 { 0.6 / deviation } else { 0.6 };
        let first = (-8.5 / step).floor() as i32;
        let last = ((8.5 + deviation) / step).ceil() as i32;
        let sum: f64 = (first..=last)
            .map(|k| {
                let z = f64::from(k) * step;
                (-0.5 * z * z).exp() * logistic(m + deviation * z)
            })
            .sum();
        sum * step / std::f64::consts::TAU.sqrt()
    }

    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        *self
    }
}

impl FastPaths for Bernoulli {
    own_fast_paths!();

    #[inline(always)]
    fn least_loss(&self, _y: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn code(&self, y: f64) -> f64 {
        y.max(0.0)
    }

    /// With $e = e^{-|u|}$, $\alpha = we/(1+e)^2$ and $\ell' = \mp\{1, e\}/(1+e)$, so that $c =
    /// we/D$ and $g = \pm w\{1,e\}(1+e)/D$ with $D = (1+e)^2 + wes$: the next row waits for one
    /// division instead of three.
    #[inline(always)]
    fn kalman_step(&self, observation: &Observation, m: f64, s: f64) -> Step {
        let u = m + observation.offset;
        let z = if observation.y > 0.0 { 1.0 } else { -1.0 };
        let e = (-u.abs()).exp();
        let sum = 1.0 + e;
        let own = if z * u >= 0.0 { e } else { 1.0 };
        let square = sum * sum;
        let scaled = observation.weight * e;
        let inverse = 1.0 / (square + scaled * s);
        Step {
            gain: z * observation.weight * own * sum * inverse,
            curvature: scaled / square,
            contraction: scaled * inverse,
        }
    }

    /// One exponential for all three.
    #[inline(always)]
    fn at(&self, y: f64, u: f64) -> Point {
        let LabelAt { e, r, first, .. } = LabelAt::new(y, u);
        let mean = if u >= 0.0 { r } else { e * r };
        let against = if y > 0.0 { -u } else { u };
        Point { mean, loss: against.max(0.0) + ln_1p_unit(e), slope: first }
    }

    #[inline(always)]
    fn likelihood(&self, y: f64, u: f64) -> Option<Likelihood> {
        let LabelAt { own, first, second, .. } = LabelAt::new(y, u);
        Some(Likelihood { value: own, first, second })
    }

    /// A series for a narrow belief, fixed rules for wider ones.
    #[inline(always)]
    fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments> {
        let z = if observation.y > 0.0 { 1.0 } else { -1.0 };
        let u = z * (m + observation.offset);
        if observation.weight != 1.0 {
            return None;
        }
        // An expected label, u > 0, cancels nothing at any certainty.
        let narrow = if (-narrow::MAX_SURPRISE..=MAX_LINEAR).contains(&u) {
            Narrow::new(u, s)
        } else {
            None
        };
        let mut moments = match narrow {
            Some(narrow) => narrow.moments(s),
            None if s <= wide::MAX_VARIANCE && (-wide::MAX_SURPRISE..=MAX_LINEAR).contains(&u) => {
                wide::moments(u, s)
            }
            None if (s > wide::MAX_VARIANCE && u >= -vague::MAX_SURPRISE * s.sqrt())
                || u > MAX_LINEAR =>
            {
                vague::moments(u, s)?
            }
            None => return None,
        };
        moments.step.gain *= z;
        moments.slope *= z;
        Some(moments)
    }

    #[inline(always)]
    fn mean_from_evidence(&self, y: f64, evidence: Evidence) -> Option<f64> {
        Some(match (evidence, y == 1.0) {
            (Evidence::Label { own: mean, .. }, true)
            | (Evidence::Label { other: mean, .. }, false) => mean,
            (Evidence::Log(value), true) => value.exp(),
            (Evidence::Log(value), false) => -value.exp_m1(),
        })
        .map(|mean| mean.clamp(0.0, 1.0))
    }

    #[inline(always)]
    fn is_label(&self) -> bool {
        true
    }

    fn cdf_transition(&self, y: f64) -> Option<CdfTransition> {
        let transition = CdfTransition { center: 0.0, width: std::f64::consts::SQRT_2 };
        (0.0..1.0).contains(&y).then_some(transition)
    }
}

#[cfg(test)]
mod tests;
