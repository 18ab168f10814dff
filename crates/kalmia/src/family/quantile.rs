//! Quantiles: the level $\tau$ of `y` given the features is the linear predictor.

use super::fast::{ShapeTerms, own_fast_paths};
use super::location::{DOMAIN, Vagueness, checked_scale, legal_target, nearest_scale};
use super::{Family, FastPaths};
use crate::error::{Error, Result, require};
use crate::math::{HalfNormal, normal_cdf};
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};
use rand::{Rng, RngExt};
use std::f64::consts::TAU;

/// $\ell(y,u) = \rho_\tau(y-u)/b$ with the pinball loss $\rho_\tau(r) = r(\tau - 1_{r<0})$ and the
/// scale $b$: the asymmetric Laplace law.
///
/// Use it for a level that a target stays below with probability $\tau$: a stock that suffices in
/// nine weeks of ten, a delivery time to promise, or the median, which outliers do not move. No law
/// of `y` is assumed; the asymmetric Laplace law only turns the loss into a likelihood.
///
/// The loss has no curvature, so a plain Kalman step would never become more certain. Moment
/// matching has a closed form: the belief is cut at `y` into two parts, each an exponential times a
/// normal law. Where a second derivative is asked for, it is the expected one, $\tau(1-\tau)/b^2$.
///
/// The default learner learns $b$ as the mean pinball loss. It also learns the density of `y` at
/// the quantile, from which it scales standard errors and intervals of the quantile: they hold
/// whatever the law of `y`.
///
/// [`Family::mean`] is the quantile, not the mean of `y`, and [`Family::variance`] is the mean
/// squared distance from it. [`Family::quantile`] and intervals of `y` are those of the asymmetric
/// Laplace law: for an interval of `y`, learn its two ends as quantiles. Quantiles that were
/// learned apart may cross for some rows; sorting the predictions of a row removes that and never
/// raises their pinball losses' sum.
///
/// ```
/// use kalmia::{Auto, Family, Learner, Predict, Quantile, Rows};
/// let ninety = Quantile::new(0.9)?;
/// assert_eq!((ninety.loss(3.0, 1.0), ninety.loss(1.0, 3.0)), (0.9 * 2.0, (1.0 - 0.9) * 2.0));
///
/// let y: Vec<f64> = (0..1000).map(|i| f64::from(i * 37 % 100)).collect();
/// let mut auto = Auto::builder(ninety, 1).intercept().build()?;
/// auto.learn(Rows::new(1, &[1.0; 1000], &y)?)?;
/// assert!((auto.predict(&[1.0], 0.0)?.mean - 90.0).abs() < 2.0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters")]
pub struct Quantile {
    tau: f64,
    scale: f64,
}

#[derive(serde::Deserialize)]
struct Parameters {
    tau: f64,
    scale: f64,
}

impl TryFrom<Parameters> for Quantile {
    type Error = Error;
    fn try_from(given: Parameters) -> Result<Self> {
        Quantile::new(given.tau)?.with_scale(given.scale)
    }
}

/// Smallest distance of $\tau$ from 0 and from 1.
const MIN_TAIL: f64 = 1e-6;
/// Most deviations that `y` may lie beyond the belief for it to be cut into two parts; further out
/// one of them has all of the mass.
const MAX_DEVIATIONS: f64 = 37.0;
/// Largest $cs$ at which the contraction is not taken from the variance of the two parts.
const MAX_CONTRACTION: f64 = 0.5;
/// Largest pinball loss of a row, in units of the scale, that counts towards the scale.
const MAX_RATIO: f64 = 100.0;
/// Half-width of the window in which the density at the quantile is counted, as a share of the
/// length over which the law falls.
const WINDOW: f64 = 0.1;

impl Quantile {
    /// The quantile of level $\tau$, from $10^{-6}$ to $1 - 10^{-6}$, with the scale 1.
    pub fn new(tau: f64) -> Result<Self> {
        require(
            (MIN_TAIL..=1.0 - MIN_TAIL).contains(&tau),
            "tau",
            tau,
            "must lie between 1e-6 and 1 - 1e-6",
        )?;
        Ok(Self { tau, scale: 1.0 })
    }

    /// With the scale $b$, for a filter; the default learner learns it.
    pub fn with_scale(self, scale: f64) -> Result<Self> {
        Ok(Self { scale: checked_scale(scale)?, ..self })
    }

    /// $\tau$.
    pub fn tau(&self) -> f64 {
        self.tau
    }

    /// $b$.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// $\rho_\tau(y - u)$.
    #[inline(always)]
    pub fn pinball(&self, y: f64, u: f64) -> f64 {
        let residual = y - u;
        if residual < 0.0 { (self.tau - 1.0) * residual } else { self.tau * residual }
    }

    /// The length over which the law falls, $b/(\tau(1-\tau))$.
    fn length(&self) -> f64 {
        self.scale / (self.tau * (1.0 - self.tau))
    }
}

impl Family for Quantile {
    fn name(&self) -> &str {
        "quantile"
    }

    fn domain(&self) -> &str {
        DOMAIN
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        legal_target(y)
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        self.pinball(y, u) / self.scale
    }

    /// The second is the expected one, because the loss has none.
    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let b = self.scale;
        let first = if u > y {
            (1.0 - self.tau) / b
        } else if u < y {
            -self.tau / b
        } else {
            0.0
        };
        (first, self.tau * (1.0 - self.tau) / (b * b))
    }

    fn log_base(&self, _y: f64) -> f64 {
        -self.length().ln()
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        u
    }

    fn variance(&self, _u: f64) -> f64 {
        let t = self.tau;
        let up = (1.0 - t) / (t * t);
        let down = t / ((1.0 - t) * (1.0 - t));
        2.0 * self.scale * self.scale * (up + down)
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        let t = self.tau;
        if q < t {
            u + self.scale / (1.0 - t) * (q / t).ln()
        } else {
            u - self.scale / t * ((1.0 - q) / (1.0 - t)).ln()
        }
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        let t = self.tau;
        let residual = (y - u) / self.scale;
        if residual < 0.0 {
            t * ((1.0 - t) * residual).exp()
        } else {
            1.0 - (1.0 - t) * (-t * residual).exp()
        }
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let q: f64 = rng.sample(rand_distr::Open01);
        self.quantile(u, q)
    }

    fn bounded_gradient(&self) -> bool {
        true
    }

    fn moderated_mean(&self, m: f64, _s: f64) -> f64 {
        m
    }

    #[inline(always)]
    fn fast(&self) -> impl FastPaths<Family = Self> {
        *self
    }
}

impl FastPaths for Quantile {
    own_fast_paths!();

    #[inline(always)]
    fn code(&self, y: f64) -> f64 {
        y
    }

    #[inline(always)]
    fn least_loss(&self, _y: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn information(&self, _u: f64) -> f64 {
        self.tau * (1.0 - self.tau) / (self.scale * self.scale)
    }

    /// With $r = y - o - m$, $\beta_1 = w\tau/b$ for the part of the belief below `y` and
    /// $\beta_2 = w(1-\tau)/b$ for that above, $t_1 = (\beta_1 s - r)/\sqrt s$ and $t_2 = (\beta_2
    /// s + r)/\sqrt s$, the parts have the masses $R(t_1)$ and $R(t_2)$, Mills' ratios, times the
    /// normal density of $r$.
    fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments> {
        let Observation { y, weight, offset } = *observation;
        let below = weight * self.tau / self.scale;
        let above = weight * (1.0 - self.tau) / self.scale;
        let r = y - offset - m;
        let slope = weight * self.derivatives(y, m + offset).0;
        let deviation = s.sqrt();
        let t1 = below * deviation - r / deviation;
        let t2 = above * deviation + r / deviation;
        if deviation == 0.0 || t1 < -MAX_DEVIATIONS || t2 < -MAX_DEVIATIONS {
            // all of the belief lies on one side, where the loss is a line
            let rate = if r >= 0.0 { below } else { -above };
            let evidence = Evidence::Log(-rate * r + 0.5 * rate * rate * s);
            let step = Step { gain: rate, curvature: 0.0, contraction: 0.0 };
            return Some(Moments { evidence, slope, step });
        }
        let lower = HalfNormal::above(t1);
        let upper = HalfNormal::above(t2);
        let mass = lower.mills + upper.mills;
        let share = lower.mills / mass;
        let rest = upper.mills / mass;
        let gain = below * share - above * rest;
        let jump = below + above;
        let contraction = jump / (deviation * mass) - jump * jump * share * rest;
        let step = if contraction * s < MAX_CONTRACTION {
            Step::new(gain, contraction / (1.0 - contraction * s), s)
        } else {
            // the variance within the parts and between them, which does not cancel
            let between = lower.excess + upper.excess;
            let kept =
                share * lower.variance + rest * upper.variance + share * rest * between * between;
            Step::new(gain, (1.0 - kept) / (kept * s), s)
        };
        let evidence = Evidence::Log(mass.ln() - 0.5 * (r * r / s + TAU.ln()));
        Some(Moments { evidence, slope, step })
    }

    /// The parts of the belief on both sides of `y`, as in [`FastPaths::exact_moments`].
    fn predictive_cdf(&self, y: f64, m: f64, s: f64) -> Option<f64> {
        let deviation = s.sqrt();
        let r = (y - m) / deviation;
        let t1 = self.tau * deviation / self.scale - r;
        let t2 = (1.0 - self.tau) * deviation / self.scale + r;
        if t1 < -MAX_DEVIATIONS || t2 < -MAX_DEVIATIONS {
            return None;
        }
        let density = (-0.5 * r * r).exp() / TAU.sqrt();
        let above = (1.0 - self.tau) * HalfNormal::above(t1).mills;
        let below = self.tau * HalfNormal::above(t2).mills;
        Some((normal_cdf(r) + density * (below - above)).clamp(0.0, 1.0))
    }

    fn smooth(&self) -> bool {
        false
    }

    fn location_level(&self) -> Option<f64> {
        Some(self.tau)
    }

    fn shape(&self) -> Option<f64> {
        Some(self.scale)
    }

    #[inline(always)]
    fn with_shape_unchecked(&self, shape: f64) -> Self {
        Self { scale: nearest_scale(shape), ..*self }
    }

    fn shape_of_deviation(&self, deviation: f64) -> f64 {
        deviation * self.tau * (1.0 - self.tau)
    }

    /// The maximum of the likelihood in $b$ is the mean pinball loss. The curvature of the expected
    /// loss is the density of `y` at the quantile over $b$; the density is counted in a window.
    fn shape_terms(&self, observation: &Observation, m: f64, s: f64) -> ShapeTerms {
        let Observation { y, weight, offset } = *observation;
        let b = self.scale;
        let length = self.length();
        if weight == 0.0 {
            return ShapeTerms::default();
        }
        let residual = y - offset - m;
        let vagueness = Vagueness::new(length, s);
        let is_vague = vagueness.is_vague;
        let widening = if is_vague { vagueness.widening } else { 1.0 };
        let ratio = (self.pinball(residual, 0.0) / (b * widening)).min(MAX_RATIO);
        let counted = vagueness.weight(weight);
        let mut terms = ShapeTerms {
            weight,
            score: counted * (ratio - 1.0) / b,
            information: counted / (b * b),
            is_vague,
            ..ShapeTerms::default()
        };
        let window = WINDOW * length;
        if s <= window * window {
            let z = residual / window;
            let density = (-0.5 * z * z).exp() / (window * TAU.sqrt());
            terms.squared_slope = weight * self.information(0.0);
            terms.curvature = weight * density / b;
        }
        terms
    }
}

#[cfg(test)]
mod tests;
