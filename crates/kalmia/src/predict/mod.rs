//! The predictive distribution of the next `y`: mean, intervals and density with the linear
//! predictor integrated out.

mod mixture;
mod transition;
mod variance;

pub use mixture::MixturePrediction;

use crate::error::{Result, require};
use crate::family::{Family, RowLoss};
use crate::math::{normal_cdf, normal_quantile, quadrature, smallest, student_cdf};
use crate::rows::Observation;
use libm::lgamma;
use std::f64::consts::{PI, TAU};
use transition::Part;

/// An interval with its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// A predictive distribution of `y`, with the linear predictor integrated out.
///
/// [`Prediction`] and [`MixturePrediction`] have these methods themselves; import the trait only
/// for code that is generic over both.
pub trait Predictive {
    /// $P(Y \le y)$.
    fn cdf(&self, y: f64) -> f64;
    /// $\ln E[p(y\mid u)]$, minus infinity if `y` is not legal.
    fn log_density(&self, y: f64) -> f64;
    /// Smallest `y` with $P(Y \le y) \ge q$, for $0 < q < 1$.
    fn quantile(&self, q: f64) -> f64;
    /// Smallest `v` with $P(u \le v) \ge q$, for $0 < q < 1$.
    fn linear_quantile(&self, q: f64) -> f64;
    /// $E[y\mid u]$.
    fn mean_at(&self, u: f64) -> f64;

    /// The interval between the quantiles $(1\mp\text{level})/2$ of `y`; for counts both ends are
    /// counts, and the interval (ends included) holds at least `level`.
    fn interval(&self, level: f64) -> Result<Interval> {
        let tail = tail(level)?;
        Ok(Interval { lower: self.quantile(tail), upper: self.quantile(1.0 - tail) })
    }

    /// The interval of $E[y\mid u]$ from the interval of `u`: the uncertainty about the mean,
    /// without the noise of `y`.
    fn mean_interval(&self, level: f64) -> Result<Interval> {
        let tail = tail(level)?;
        let a = self.mean_at(self.linear_quantile(tail));
        let b = self.mean_at(self.linear_quantile(1.0 - tail));
        Ok(Interval { lower: a.min(b), upper: a.max(b) })
    }
}

/// Gives a prediction the methods of [`Predictive`] as its own, so that callers need no import.
macro_rules! inherent_predictive {
    ($prediction:ident) => {
        impl<F: Family> $prediction<F> {
            /// $P(Y \le y)$.
            pub fn cdf(&self, y: f64) -> f64 {
                Predictive::cdf(self, y)
            }

            /// $\ln E[p(y\mid u)]$, minus infinity if `y` is not legal.
            pub fn log_density(&self, y: f64) -> f64 {
                Predictive::log_density(self, y)
            }

            /// Smallest `y` with $P(Y \le y) \ge q$, for $0 < q < 1$.
            pub fn quantile(&self, q: f64) -> f64 {
                Predictive::quantile(self, q)
            }

            /// Smallest `v` with $P(u \le v) \ge q$, for $0 < q < 1$.
            pub fn linear_quantile(&self, q: f64) -> f64 {
                Predictive::linear_quantile(self, q)
            }

            /// The interval of `y` with probability `level`, strictly between 0 and 1, and equal
            /// tails. For counts both ends are counts, and with them it holds at least `level`.
            pub fn interval(&self, level: f64) -> Result<Interval> {
                Predictive::interval(self, level)
            }

            /// The interval of $E[y\mid u]$: the uncertainty about the mean, without the noise of
            /// `y`.
            pub fn mean_interval(&self, level: f64) -> Result<Interval> {
                Predictive::mean_interval(self, level)
            }
        }
    };
}

inherent_predictive!(Prediction);
inherent_predictive!(MixturePrediction);

fn tail(level: f64) -> Result<f64> {
    require(level > 0.0 && level < 1.0, "level", level, "must lie strictly between 0 and 1")?;
    Ok(0.5 * (1.0 - level))
}

/// The next `y` of a family when $u \sim N(m, s)$, the row's offset already in `m`.
///
/// ```
/// use kalmia::{Bernoulli, Prediction};
/// let sure = Prediction::new(Bernoulli, 2.0, 0.0)?;
/// let unsure = Prediction::new(Bernoulli, 2.0, 9.0)?;
/// assert_eq!(sure.mean, sure.plug_in);
/// assert!(unsure.mean < unsure.plug_in); // uncertainty moves the probability towards 1/2
/// assert!((unsure.log_density(1.0).exp() - unsure.mean).abs() < 1e-10);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction<F> {
    /// $m$, the linear predictor's mean.
    pub linear: f64,
    /// Variance of `u`: $s$, or $s\nu/(\nu-2)$ with $\nu$ degrees of freedom.
    pub linear_variance: f64,
    /// Mean of `y` at $u = m$.
    pub plug_in: f64,
    /// Mean of `y`, moderated by the uncertainty about `u`.
    pub mean: f64,
    family: F,
    s: f64,
    dof: f64,
}

impl<F: Family> Prediction<F> {
    /// From the mean `m` and variance `s` of the linear predictor.
    pub fn new(family: F, m: f64, s: f64) -> Result<Self> {
        require(m.is_finite(), "linear", m, "must be finite")?;
        require(s >= 0.0 && s.is_finite(), "linear_variance", s, "must be finite, 0 or more")?;
        let plug_in = family.mean(m);
        let mean = if s == 0.0 { plug_in } else { family.moderated_mean(m, s) };
        Ok(Self { linear: m, linear_variance: s, plug_in, mean, family, s, dof: f64::INFINITY })
    }

    /// With a learned noise: $(u-m)/\sqrt s$ and $(y-m)/\sqrt{\sigma^2+s}$ are Student's with `dof`
    /// degrees of freedom, where $\sigma^2$, the family's noise, and $s$ are at the estimated
    /// scale. Normal noise only.
    pub fn with_degrees_of_freedom(mut self, dof: f64) -> Result<Self> {
        require(dof > 0.0, "degrees of freedom", dof, "must be above 0")?;
        let normal = self.family.normal_noise().is_some();
        require(
            normal,
            "degrees of freedom",
            dof,
            "must not be given: only a family with normal noise has them",
        )?;
        self.linear_variance = if dof > 2.0 { self.s / (1.0 - 2.0 / dof) } else { f64::INFINITY };
        if self.s == 0.0 {
            self.linear_variance = 0.0;
        }
        self.dof = dof;
        Ok(self)
    }

    /// The family.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// This prediction as a member of a mixture.
    fn part(&self, weight: f64) -> Part<'_, F> {
        Part { family: &self.family, weight, m: self.linear, s: self.s }
    }

    /// $P(u \le v)$.
    pub fn linear_cdf(&self, v: f64) -> f64 {
        if self.s == 0.0 {
            return if v >= self.linear { 1.0 } else { 0.0 };
        }
        let z = (v - self.linear) / self.s.sqrt();
        if self.dof.is_infinite() { normal_cdf(z) } else { student_cdf(z, self.dof) }
    }

    /// Quantile of the standard normal or Student law.
    fn standard_quantile(&self, q: f64) -> f64 {
        let normal = normal_quantile(q);
        if self.dof.is_infinite() || q == 0.5 {
            return normal;
        }
        // In the lower tail, by symmetry: there the distribution function keeps its precision.
        let lower = q.min(1.0 - q);
        let center = -normal.abs();
        let t = smallest(
            |t| student_cdf(t, self.dof),
            lower,
            2.0 * center,
            0.5 * center,
            f64::NEG_INFINITY,
            false,
        );
        t.copysign(normal)
    }

    /// $\ln$ of the standard normal or Student density.
    fn standard_log_density(&self, z: f64) -> f64 {
        let dof = self.dof;
        // Beyond it the two densities agree to rounding, and the log-gammas lose their precision.
        if dof > 1e12 {
            return -0.5 * (z * z + TAU.ln());
        }
        lgamma(0.5 * (dof + 1.0))
            - lgamma(0.5 * dof)
            - 0.5 * (PI * dof).ln()
            - 0.5 * (dof + 1.0) * (z * z / dof).ln_1p()
    }

    /// Bounds of the quantile for a law of `y` that grows with `u`: with $P(u\le b) = (1+q)/2$,
    /// $P(Y\le y) \ge P(u \le b)\,P(Y \le y\mid b)$; with $P(u \le a) = q/2$, $P(Y\le y) \le q/2 +
    /// P(Y\le y\mid a)$.
    fn bracket(&self, q: f64) -> Interval {
        let a = self.linear_quantile(0.5 * q);
        let b = self.linear_quantile(0.5 * (1.0 + q));
        let low = self.family.quantile(a, 0.5 * q);
        let high = self.family.quantile(b, 2.0 * q / (1.0 + q));
        Interval { lower: low.min(high), upper: low.max(high) }
    }
}

impl<F: Family> Predictive for Prediction<F> {
    fn cdf(&self, y: f64) -> f64 {
        if let Some(noise) = self.family.normal_noise() {
            let z = (y - self.linear) / (noise + self.s).sqrt();
            return if self.dof.is_infinite() { normal_cdf(z) } else { student_cdf(z, self.dof) };
        }
        transition::expected_cdf(&self.family, y, self.linear, self.s)
    }

    fn log_density(&self, y: f64) -> f64 {
        let Some(y) = self.family.canonical(y) else {
            return f64::NEG_INFINITY;
        };
        if let Some(noise) = self.family.normal_noise() {
            let variance = noise + self.s;
            return self.standard_log_density((y - self.linear) / variance.sqrt())
                - 0.5 * variance.ln();
        }
        let observation = &Observation::new(y);
        let loss = RowLoss { family: &self.family, observation };
        self.family.log_base(y) + quadrature::ln_z(&loss, self.linear, self.s)
    }

    fn quantile(&self, q: f64) -> f64 {
        if let Some(noise) = self.family.normal_noise() {
            return self.linear + (noise + self.s).sqrt() * self.standard_quantile(q);
        }
        if self.s == 0.0 {
            return self.family.quantile(self.linear, q);
        }
        if let Some(found) = transition::quantile(&[self.part(1.0)], q) {
            return found;
        }
        let Interval { lower, upper } = self.bracket(q);
        let floor = self.family.quantile(self.linear, 0.0);
        smallest(|y| self.cdf(y), q, lower, upper, floor, self.family.discrete())
    }

    fn linear_quantile(&self, q: f64) -> f64 {
        self.linear + self.s.sqrt() * self.standard_quantile(q)
    }

    fn mean_at(&self, u: f64) -> f64 {
        self.family.mean(u)
    }
}

#[cfg(test)]
mod tests;
