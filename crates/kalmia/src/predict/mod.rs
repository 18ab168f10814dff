//! What is known about the next `y` before it is seen: mean, intervals and density with the linear
//! predictor integrated out.

mod fall;
mod integral;
mod mixture;
mod spread;

pub use integral::gaussian_expectation;
pub use mixture::Mixture;

use crate::error::{Result, require};
use crate::family::Family;
use crate::family::invert::smallest;
use crate::family::special::{normal_cdf, normal_quantile, student_cdf};
use libm::lgamma;
use std::f64::consts::{PI, TAU};

/// A predictive distribution of `y`, with the linear predictor integrated out.
pub trait Predictive {
    /// $P(Y \le y)$.
    fn cdf(&self, y: f64) -> f64;
    /// $\ln E[p(y\mid u)]$, minus infinity where `y` is not legal.
    fn log_density(&self, y: f64) -> f64;
    /// Smallest `y` with $P(Y \le y) \ge q$, for $0 < q < 1$.
    fn quantile(&self, q: f64) -> f64;
    /// Smallest `v` with $P(u \le v) \ge q$, for $0 < q < 1$.
    fn linear_quantile(&self, q: f64) -> f64;
    /// $E[y\mid u]$.
    fn mean_at(&self, u: f64) -> f64;

    /// The interval between the quantiles $(1\mp\text{level})/2$ of `y`; for counts both ends are
    /// counts, and the interval (ends included) holds at least `level`.
    fn interval(&self, level: f64) -> Result<(f64, f64)> {
        let tail = tail(level)?;
        Ok((self.quantile(tail), self.quantile(1.0 - tail)))
    }

    /// The interval of $E[y\mid u]$ that the interval of `u` gives: what is uncertain about the
    /// mean, without the noise of `y`.
    fn mean_interval(&self, level: f64) -> Result<(f64, f64)> {
        let tail = tail(level)?;
        let (a, b) = (
            self.mean_at(self.linear_quantile(tail)),
            self.mean_at(self.linear_quantile(1.0 - tail)),
        );
        Ok((a.min(b), a.max(b)))
    }
}

fn tail(level: f64) -> Result<f64> {
    require(level > 0.0 && level < 1.0, "level", level, "must lie strictly between 0 and 1")?;
    Ok(0.5 * (1.0 - level))
}

/// The next `y` of a family when $u \sim N(m, s)$, the row's offset already in `m`.
///
/// ```
/// use kalmia::{Predictive, family::Bernoulli, predict::Prediction};
/// let sure = Prediction::new(Bernoulli, 2.0, 0.0)?;
/// let unsure = Prediction::new(Bernoulli, 2.0, 9.0)?;
/// assert_eq!(sure.mean, sure.plug_in);
/// assert!(unsure.mean < unsure.plug_in); // moderated: uncertainty pulls the probability towards 1/2
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
        let (plug_in, mean) =
            (family.mean(m), if s == 0.0 { family.mean(m) } else { family.moderated_mean(m, s) });
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

    /// See [`Predictive::interval`].
    pub fn interval(&self, level: f64) -> Result<(f64, f64)> {
        Predictive::interval(self, level)
    }

    /// See [`Predictive::mean_interval`].
    pub fn mean_interval(&self, level: f64) -> Result<(f64, f64)> {
        Predictive::mean_interval(self, level)
    }

    /// See [`Predictive::log_density`].
    pub fn log_density(&self, y: f64) -> f64 {
        Predictive::log_density(self, y)
    }

    /// See [`Predictive::cdf`].
    pub fn cdf(&self, y: f64) -> f64 {
        Predictive::cdf(self, y)
    }

    /// $P(u \le v)$.
    fn linear_cdf(&self, v: f64) -> f64 {
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
        // By symmetry in the lower tail, where the distribution function keeps its digits.
        let lower = q.min(1.0 - q);
        let centre = -normal.abs();
        let t = smallest(
            |t| student_cdf(t, self.dof),
            lower,
            2.0 * centre,
            0.5 * centre,
            f64::NEG_INFINITY,
            false,
        );
        t.copysign(normal)
    }

    /// $\ln$ of the standard normal or Student density.
    fn standard_log_density(&self, z: f64) -> f64 {
        let dof = self.dof;
        // Beyond it the two densities agree to the last digits, and the log-gammas no longer do.
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
    fn bracket(&self, q: f64) -> (f64, f64) {
        let (a, b) = (self.linear_quantile(0.5 * q), self.linear_quantile(0.5 * (1.0 + q)));
        let ends = (self.family.quantile(a, 0.5 * q), self.family.quantile(b, 2.0 * q / (1.0 + q)));
        (ends.0.min(ends.1), ends.0.max(ends.1))
    }
}

impl<F: Family> Predictive for Prediction<F> {
    fn cdf(&self, y: f64) -> f64 {
        if let Some(noise) = self.family.normal_noise() {
            let z = (y - self.linear) / (noise + self.s).sqrt();
            return if self.dof.is_infinite() { normal_cdf(z) } else { student_cdf(z, self.dof) };
        }
        integral::expected_cdf(&self.family, y, self.linear, self.s)
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
        self.family.log_base(y)
            + integral::log_expected_likelihood(&self.family, y, self.linear, self.s)
    }

    fn quantile(&self, q: f64) -> f64 {
        if let Some(noise) = self.family.normal_noise() {
            return self.linear + (noise + self.s).sqrt() * self.standard_quantile(q);
        }
        if self.s == 0.0 {
            return self.family.quantile(self.linear, q);
        }
        if let Some(found) = fall::quantile(&self.family, &[(1.0, self.linear, self.s)], q) {
            return found;
        }
        let (low, high) = self.bracket(q);
        let floor = self.family.quantile(self.linear, 0.0);
        smallest(|y| self.cdf(y), q, low, high, floor, self.family.discrete())
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
