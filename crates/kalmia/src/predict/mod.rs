//! The predictive distribution of the next `y`: mean, intervals and density with the linear
//! predictor integrated out.

mod components;
mod counts;
mod mixture;
mod overdispersion;
mod predictive;
mod transition;
mod variance;

pub use mixture::MixturePrediction;
pub use predictive::{Interval, Predictive};

use crate::error::{Result, require};
use crate::family::{Family, FastPaths, RowLoss};
use crate::math::{Law, quadrature, smallest, student_cdf, student_log_density, with_laws};
use crate::rows::Observation;
use components::{Component, Components};
use predictive::inherent_predictive;
use transition::Part;

inherent_predictive!(Prediction);
inherent_predictive!(MixturePrediction);

/// Half-width in which a normal variable lies, in deviations: the mass outside is $10^{-23}$.
const NORMAL_RANGE: f64 = 10.0;

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
    /// What `y` is drawn from.
    target: TargetBelief,
}

/// The normal belief about `u` that `y` is drawn from: that of the linear predictor, or a wider one
/// if `y` is overdispersed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TargetBelief {
    m: f64,
    s: f64,
}

impl<F: Family> Prediction<F> {
    /// From the mean `m` and variance `s` of the linear predictor.
    pub fn new(family: F, m: f64, s: f64) -> Result<Self> {
        require(m.is_finite(), "linear", m, "must be finite")?;
        require(s >= 0.0 && s.is_finite(), "linear_variance", s, "must be finite, 0 or more")?;
        let plug_in = family.mean(m);
        let mean = if s == 0.0 { plug_in } else { family.moderated_mean(m, s) };
        let target = TargetBelief { m, s };
        let dof = f64::INFINITY;
        Ok(Self { linear: m, linear_variance: s, plug_in, mean, family, s, dof, target })
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

    /// What `y` is drawn from, as a member of a mixture.
    fn part(&self, weight: f64) -> Part<'_, F> {
        Part { family: &self.family, weight, m: self.target.m, s: self.target.s }
    }

    /// The law of `y` or, for a gamma variable, of $\ln y$, as a member of a mixture; `None` if it
    /// is no standard law.
    fn component(&self, weight: f64) -> Option<Component> {
        let TargetBelief { m: center, s } = self.target;
        if let Some(noise) = self.family.normal_noise() {
            let scale = (noise + self.s).sqrt();
            return Some(Component { weight, center, scale, s: 0.0, law: self.law() });
        }
        let shape = self.family.fast().gamma_shape()?;
        // beyond half the cap a tail may reach where the mean saturates
        let moderate = center.abs() + NORMAL_RANGE * s.sqrt() <= 0.5 * self.family.largest_linear();
        let law = Law::LogGamma { shape };
        moderate.then_some(Component { weight, center, scale: 1.0, s, law })
    }

    /// The `y` that stands for the value `v` of a component.
    fn value_of(&self, v: f64) -> f64 {
        if self.family.normal_noise().is_some() { v } else { v.exp() }
    }

    /// The law of the linear predictor as a member of a mixture; `None` if it is certain.
    fn linear_component(&self, weight: f64) -> Option<Component> {
        let scale = self.s.sqrt();
        let component = Component { weight, center: self.linear, scale, s: 0.0, law: self.law() };
        (scale > 0.0).then_some(component)
    }

    /// The standard normal or Student law.
    fn law(&self) -> Law {
        Law::Student { dof: self.dof }
    }

    /// $P(u \le v)$.
    pub fn linear_cdf(&self, v: f64) -> f64 {
        if self.s == 0.0 {
            return if v >= self.linear { 1.0 } else { 0.0 };
        }
        student_cdf((v - self.linear) / self.s.sqrt(), self.dof)
    }

    /// Quantile of the standard normal or Student law.
    fn standard_quantile(&self, q: f64) -> f64 {
        with_laws(|laws| laws.quantile(self.law(), q))
    }

    /// Whether the belief about `u` reaches beyond the family's largest linear predictor.
    fn may_saturate(&self) -> bool {
        let largest = self.family.largest_linear();
        largest.is_finite() && self.linear + NORMAL_RANGE * self.s.sqrt() > largest
    }

    /// Bounds of the quantile for a law of `y` that grows with `u`: with $P(u\le b) = (1+q)/2$,
    /// $P(Y\le y) \ge P(u \le b)\,P(Y \le y\mid b)$; with $P(u \le a) = q/2$, $P(Y\le y) \le q/2 +
    /// P(Y\le y\mid a)$.
    fn bracket(&self, q: f64) -> Interval {
        let deviation = self.target.s.sqrt();
        let a = self.target.m + deviation * self.standard_quantile(0.5 * q);
        let b = self.target.m + deviation * self.standard_quantile(0.5 * (1.0 + q));
        let low = self.family.quantile(a, 0.5 * q);
        let high = self.family.quantile(b, 2.0 * q / (1.0 + q));
        Interval { lower: low.min(high), upper: low.max(high) }
    }
}

impl<F: Family> Predictive for Prediction<F> {
    fn mean(&self) -> f64 {
        self.mean
    }

    fn cdf(&self, y: f64) -> f64 {
        if let Some(noise) = self.family.normal_noise() {
            return student_cdf((y - self.linear) / (noise + self.s).sqrt(), self.dof);
        }
        transition::expected_cdf(&self.family, y, self.target.m, self.target.s)
    }

    fn log_density(&self, y: f64) -> f64 {
        let Some(y) = self.family.canonical(y) else {
            return f64::NEG_INFINITY;
        };
        if let Some(noise) = self.family.normal_noise() {
            let variance = noise + self.s;
            return student_log_density((y - self.linear) / variance.sqrt(), self.dof)
                - 0.5 * variance.ln();
        }
        let observation = &Observation::new(y);
        let fast = self.family.fast();
        if fast.location_level().is_some()
            && let Some(exact) = fast.exact_moments(observation, self.target.m, self.target.s)
        {
            return self.family.log_base(y) + exact.evidence.ln();
        }
        let loss = RowLoss { family: &self.family, observation };
        self.family.log_base(y) + quadrature::ln_z(&loss, self.target.m, self.target.s)
    }

    fn quantile(&self, q: f64) -> f64 {
        if self.family.fast().is_label() {
            return label_quantile(self.mean, q);
        }
        if let Some(component) = self.component(1.0)
            && let Some(found) =
                Components::collect([Some(component)].into_iter()).and_then(|c| c.quantile(q))
        {
            return self.value_of(found);
        }
        if self.target.s == 0.0 {
            return self.family.quantile(self.target.m, q);
        }
        if let Some(found) = transition::quantile([self.part(1.0)].into_iter(), q) {
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

    fn is_saturated(&self, q: f64) -> bool {
        self.may_saturate() && beyond(&self.family, self.linear_quantile(q))
    }
}

/// Smallest label whose distribution function reaches `q`, if 1 has this probability.
fn label_quantile(mean: f64, q: f64) -> f64 {
    if q <= 1.0 - mean { 0.0 } else { 1.0 }
}

/// Whether the mean grows in `u` and has saturated at this one.
fn beyond<F: Family>(family: &F, u: f64) -> bool {
    u > family.largest_linear() && family.mean(u) > family.mean(0.0)
}

#[cfg(test)]
mod tests;
