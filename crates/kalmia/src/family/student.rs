//! Robust regression: $y = u + \sigma T$ with Student's $T$, whose heavy tails explain outliers.

use super::fast::{ShapeTerms, own_fast_paths};
use super::{Family, FastPaths};
use crate::error::{Error, Result, require};
use crate::math::{normal_cdf, student_cdf, student_log_density, student_quantile};
use crate::rows::{MAX_FEATURE, Observation};
use crate::step::{Evidence, Moments, Step};
use libm::lgamma;
use rand::{Rng, RngExt};

/// $\ell(y,u) = \frac{\nu+1}2\ln\left(1 + \frac{(y-u)^2}{\nu\sigma^2}\right)$, $\nu$ degrees of
/// freedom and scale $\sigma$.
///
/// Use it in place of [`Gaussian`](super::Gaussian) when some targets are wrong or the noise has
/// heavy tails. The slope of the loss falls again far out: a target that is a million deviations
/// away moves nothing. With clean normal noise it needs some 10 % more rows than the normal law at
/// $\nu = 4$, the default.
///
/// The loss is not convex, so a second derivative can be negative. Where one is asked for, it is
/// the expected one, $(\nu+1)/((\nu+3)\sigma^2)$. Moment matching integrates over the normal laws of
/// different width that Student's law is a mixture of. A row after which the exact belief would be
/// wider leaves the width as it is.
///
/// The default learner learns $\sigma$. It also compares slopes with curvatures, and scales standard
/// errors so that they hold if the noise is not Student's.
///
/// ```
/// use kalmia::{Auto, Family, Learner, Predict, Rows, Student};
/// let noise = Student::new(4.0)?;
/// assert!(noise.derivatives(1e6, 0.0).0.abs() < 1e-5);
///
/// let mut auto = Auto::builder(noise, 2).intercept().build()?;
/// let x: Vec<f64> = (0..600).flat_map(|i| [1.0, f64::from(i % 10)]).collect();
/// let clean = |i: i32| 3.0 + 2.0 * f64::from(i % 10) + 0.1 * f64::from(i % 7 - 3);
/// let y: Vec<f64> = (0..600).map(|i| if i == 300 { 1e9 } else { clean(i) }).collect();
/// auto.learn(Rows::new(2, &x, &y)?)?;
/// assert!((auto.predict(&[1.0, 5.0], 0.0)?.mean - 13.0).abs() < 0.1);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parameters")]
pub struct Student {
    dof: f64,
    scale: f64,
}

#[derive(serde::Deserialize)]
struct Parameters {
    dof: f64,
    scale: f64,
}

impl TryFrom<Parameters> for Student {
    type Error = Error;
    fn try_from(given: Parameters) -> Result<Self> {
        Student::new(given.dof)?.with_scale(given.scale)
    }
}

impl Default for Student {
    fn default() -> Self {
        Self { dof: 4.0, scale: 1.0 }
    }
}

/// Range of the degrees of freedom: with 2 or fewer there is no variance, with 100 the law is the
/// normal one for all purposes.
const MIN_DOF: f64 = 2.1;
const MAX_DOF: f64 = 100.0;
/// Range of the scale.
const MIN_SCALE: f64 = 1e-140;
const MAX_SCALE: f64 = 1e140;
/// Depth in nats at which the integral over widths is cut off.
const CUT_DEPTH: f64 = 21.0;
/// Largest spacing of its nodes, in the logarithm of the precision, and in deviations of a narrow
/// density: the trapezoid rule is then accurate to $10^{-9}$.
const MAX_SPACING: f64 = 0.45;
const MAX_DEVIATIONS: f64 = 0.8;
/// Most nodes: a row of a tiny weight has a long tail, which does not matter.
const MAX_NODES: f64 = 400.0;
/// Largest squared residual, in units of $\nu\sigma^2$ and of the belief's variance, that is not
/// left to the derivatives at the mean.
const MAX_SQUARE: f64 = 1e20;
/// Largest residual, in units of the scale, that is squared.
const MAX_SQUARED: f64 = 1e100;
/// Largest $cs$ at which the contraction is not taken from the variance that is left.
const MAX_CONTRACTION: f64 = 0.5;

impl Student {
    /// Noise of `dof` degrees of freedom, from 2.1 to 100, with the scale 1.
    pub fn new(dof: f64) -> Result<Self> {
        require(
            (MIN_DOF..=MAX_DOF).contains(&dof),
            "degrees of freedom",
            dof,
            "must lie between 2.1 and 100",
        )?;
        Ok(Self { dof, scale: 1.0 })
    }

    /// With the scale $\sigma$, for a filter; the default learner learns it.
    pub fn with_scale(self, scale: f64) -> Result<Self> {
        require(
            (MIN_SCALE..=MAX_SCALE).contains(&scale),
            "scale",
            scale,
            "must lie between 1e-140 and 1e140",
        )?;
        Ok(Self { scale, ..self })
    }

    /// $\nu$.
    pub fn degrees_of_freedom(&self) -> f64 {
        self.dof
    }

    /// $\sigma$.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// $\nu\sigma^2$.
    fn spread(&self) -> f64 {
        self.dof * self.scale * self.scale
    }

    /// $\ell''$, which is negative for a residual beyond $\sqrt\nu\sigma$.
    fn curvature(&self, residual: f64) -> f64 {
        let spread = self.spread();
        let sum = spread + residual * residual;
        (self.dof + 1.0) * ((spread - residual * residual) / sum) / sum
    }
}

impl Family for Student {
    fn name(&self) -> &str {
        "student"
    }

    fn domain(&self) -> &str {
        "a finite number, at most 1e120 in size"
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        (y.abs() <= MAX_FEATURE).then_some(y)
    }

    #[inline(always)]
    fn loss(&self, y: f64, u: f64) -> f64 {
        let z = (y - u) / self.scale;
        let log = if z.abs() < MAX_SQUARED {
            (z * z / self.dof).ln_1p()
        } else {
            2.0 * z.abs().ln() - self.dof.ln()
        };
        0.5 * (self.dof + 1.0) * log
    }

    /// The second is the expected one, because that of the loss may be negative.
    #[inline(always)]
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        let residual = y - u;
        let first = -(self.dof + 1.0) * residual / (self.spread() + residual * residual);
        (first, self.information(u))
    }

    fn log_base(&self, _y: f64) -> f64 {
        student_log_density(0.0, self.dof) - self.scale.ln()
    }

    #[inline(always)]
    fn mean(&self, u: f64) -> f64 {
        u
    }

    fn variance(&self, _u: f64) -> f64 {
        self.spread() / (self.dof - 2.0)
    }

    fn quantile(&self, u: f64, q: f64) -> f64 {
        if q <= 0.0 {
            f64::NEG_INFINITY
        } else if q >= 1.0 {
            f64::INFINITY
        } else {
            u + self.scale * student_quantile(q, self.dof)
        }
    }

    fn cdf(&self, u: f64, y: f64) -> f64 {
        student_cdf((y - u) / self.scale, self.dof)
    }

    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        let law = rand_distr::StudentT::new(self.dof).expect("legal degrees of freedom");
        u + self.scale * rng.sample(law)
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

/// A normal law among those that Student's law is a mixture of.
struct Width {
    /// $V$.
    noise: f64,
    /// $\frac{\lambda^k e^{-\lambda}}{\Gamma(k)}$ times the spacing in $\ln\lambda$, as a logarithm.
    log_weight: f64,
}

/// Nodes in $\ln\lambda$ for residuals up to a size.
#[derive(Clone)]
struct Widths {
    k: f64,
    spread: f64,
    /// The next node, the last one, and the distance of nodes.
    log: f64,
    first: f64,
    spacing: f64,
    lambda: f64,
    growth: f64,
    log_norm: f64,
}

impl Widths {
    fn new(k: f64, spread: f64, square: f64) -> Self {
        let width = 1.0 / k.sqrt();
        let peak = (k / (1.0 + square / spread)).ln();
        let first = peak - (CUT_DEPTH / k).max(6.5 * width) - width;
        let last = (k + 6.5 * k.sqrt() + CUT_DEPTH).ln();
        let spacing = MAX_SPACING.min(MAX_DEVIATIONS * width).max((last - first) / MAX_NODES);
        Self {
            k,
            spread,
            log: last,
            first,
            spacing,
            lambda: last.exp(),
            growth: spacing.exp(),
            log_norm: spacing.ln() - lgamma(k),
        }
    }
}

impl Iterator for Widths {
    type Item = Width;

    #[inline(always)]
    fn next(&mut self) -> Option<Width> {
        if self.log <= self.first {
            return None;
        }
        let noise = 0.5 * self.spread / self.lambda;
        let log_weight = self.k * self.log - self.lambda + self.log_norm;
        self.log -= self.spacing;
        self.lambda /= self.growth;
        Some(Width { noise, log_weight })
    }
}

/// Sums over the widths.
#[derive(Default)]
struct Sums {
    mass: f64,
    /// Of $q = V/(V+s)$, the share of the variance that is noise, and of $q^2$.
    share: f64,
    square: f64,
    /// Of $1/(V+s)$ and its square.
    precision: f64,
    precision_square: f64,
}

impl FastPaths for Student {
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
        (self.dof + 1.0) / ((self.dof + 3.0) * self.scale * self.scale)
    }

    /// $e^{-w\ell} = \int \frac{\lambda^{k-1}e^{-\lambda}}{\Gamma(k)} e^{-r^2/(2V)}\,d\lambda$ with
    /// $k = w(\nu+1)/2$ and $V = \nu\sigma^2/(2\lambda)$: under the belief each normal law has a
    /// closed form, and the integral over $\ln\lambda$ is a short trapezoid sum.
    fn exact_moments(&self, observation: &Observation, m: f64, s: f64) -> Option<Moments> {
        let Observation { y, weight, offset } = *observation;
        let r = y - offset - m;
        let square = r * r;
        let spread = self.spread();
        let slope = weight * self.derivatives(y, m + offset).0;
        let far = square > MAX_SQUARE * spread && square > MAX_SQUARE * s;
        if s == 0.0 || weight == 0.0 || far {
            let evidence = Evidence::Log(-observation.loss(self, m));
            let curvature = (weight * self.curvature(r)).max(0.0);
            return Some(Moments { evidence, slope, step: Step::against(slope, curvature, s) });
        }
        let k = 0.5 * weight * (self.dof + 1.0);
        let widths = Widths::new(k, spread, square);
        // a row of a large weight far out has a tiny likelihood
        let height = |width: &Width| width.log_weight - 0.5 * square / (width.noise + s);
        let largest = widths.clone().map(|w| height(&w)).fold(f64::NEG_INFINITY, f64::max);
        let mut sums = Sums::default();
        for width in widths {
            let precision = 1.0 / (width.noise + s);
            let q = width.noise * precision;
            let p = q.sqrt() * (height(&width) - largest).exp();
            sums.mass += p;
            sums.share += p * q;
            sums.square += p * q * q;
            sums.precision += p * precision;
            sums.precision_square += p * precision * precision;
        }
        let norm = 1.0 / sums.mass;
        let precision = sums.precision * norm;
        let gain = r * precision;
        let precision_variance = sums.precision_square * norm - precision * precision;
        let contraction = precision - square * precision_variance.max(0.0);
        let step = if contraction * s < MAX_CONTRACTION {
            let contraction = contraction.max(0.0);
            Step { gain, curvature: contraction / (1.0 - contraction * s), contraction }
        } else {
            let share = sums.share * norm;
            let share_variance = (sums.square * norm - share * share).max(0.0);
            let kept = share + square / s * share_variance;
            Step::new(gain, (1.0 - kept) / (kept * s), s)
        };
        let evidence = Evidence::Log(sums.mass.ln() + largest);
        Some(Moments { evidence, slope, step })
    }

    /// The mixture of normal laws, each widened by the belief.
    fn predictive_cdf(&self, y: f64, m: f64, s: f64) -> Option<f64> {
        let r = y - m;
        let spread = self.spread();
        if r * r > MAX_SQUARE * spread {
            return None;
        }
        let lower = -r.abs();
        let mut tail = 0.0;
        let mut mass = 0.0;
        // the laws are those of the density, of shape nu/2
        for Width { noise, log_weight } in Widths::new(0.5 * self.dof, spread, r * r) {
            let p = log_weight.exp();
            mass += p;
            tail += p * normal_cdf(lower / (noise + s).sqrt());
        }
        let tail = (tail / mass).min(0.5);
        Some(if r > 0.0 { 1.0 - tail } else { tail })
    }

    fn location_level(&self) -> Option<f64> {
        Some(0.5)
    }

    fn shape(&self) -> Option<f64> {
        Some(self.scale)
    }

    #[inline(always)]
    fn with_shape_unchecked(&self, shape: f64) -> Self {
        Self { scale: shape.clamp(MIN_SCALE, MAX_SCALE), ..*self }
    }

    /// In $\ln\sigma$ the score of a residual of $z$ deviations is $(\nu+1)z^2/(\nu+z^2) - 1$, which
    /// is bounded, and the information is $2\nu/(\nu+3)$.
    fn shape_terms(&self, observation: &Observation, m: f64, s: f64) -> ShapeTerms {
        let Observation { y, weight, offset } = *observation;
        let sigma = self.scale;
        // a belief wider than the law says nothing of it
        let useful = s <= sigma * sigma;
        if weight == 0.0 || !useful {
            return ShapeTerms::default();
        }
        let nu = self.dof;
        let residual = y - offset - m;
        let z = residual / (sigma * sigma + s).sqrt();
        let score = (nu + 1.0) / (1.0 + nu / (z * z)) - 1.0;
        let (first, _) = self.derivatives(residual, 0.0);
        ShapeTerms {
            weight,
            score: weight * score / sigma,
            information: weight * 2.0 * nu / ((nu + 3.0) * sigma * sigma),
            level: 0.0,
            squared_slope: weight * first * first,
            curvature: weight * self.curvature(residual),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// $\int (u-m)^k e^{-w\ell}N(u;m,s)\,du$ by the trapezoid rule.
    fn integral(family: &Student, row: &Observation, m: f64, s: f64, k: i32) -> f64 {
        let n = 60_000;
        let reach = 12.0 * s.sqrt();
        let step = 2.0 * reach / f64::from(n);
        let at = |i: i32| {
            let v = -reach + f64::from(i) * step;
            v.powi(k) * (-0.5 * v * v / s - row.loss(family, m + v)).exp() / (TAU * s).sqrt()
        };
        (0..=n).map(at).sum::<f64>() * step
    }

    #[test]
    fn the_sum_over_widths_is_the_integral() {
        for dof in [2.1, 4.0, 30.0] {
            for scale in [0.3, 2.0] {
                let family = Student::new(dof).unwrap().with_scale(scale).unwrap();
                for r in [-30.0, -0.4, 0.0, 1.7, 5.0] {
                    for s in [1e-3, 0.5, 20.0] {
                        for weight in [1.0, 0.3, 4.0] {
                            let row = Observation { y: r + 1.5, weight, offset: 0.5 };
                            let found = family.exact_moments(&row, 1.0, s).unwrap();
                            let mass = integral(&family, &row, 1.0, s, 0);
                            let mean = integral(&family, &row, 1.0, s, 1) / mass;
                            let square = integral(&family, &row, 1.0, s, 2) / mass;
                            // a row after which the belief would be wider leaves it as it is
                            let variance = (square - mean * mean).min(s);
                            let kept = s - found.step.contraction * s * s;
                            let close =
                                |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs().max(0.01 * s);
                            let same = close(found.evidence.ln(), mass.ln())
                                && close(found.step.gain * s, mean)
                                && close(kept, variance);
                            assert!(same, "{family:?} {row:?} {s}: {found:?} {mean} {variance}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_predictive_distribution_is_the_integral() {
        let family = Student::new(4.0).unwrap().with_scale(0.7).unwrap();
        for y in [-30.0, 0.1, 0.9, 4.0] {
            for s in [1e-6, 0.01, 1.0, 30.0f64] {
                let found = family.predictive_cdf(y, 0.4, s).unwrap();
                let step = 1e-3;
                let term = |k: i32| {
                    let z = f64::from(k) * step;
                    (-0.5 * z * z).exp() * family.cdf(0.4 + s.sqrt() * z, y)
                };
                let sum: f64 = (-9000..=9000).map(term).sum();
                let expected = sum * step / TAU.sqrt();
                assert!((found / expected - 1.0).abs() < 1e-6, "{y} {s}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_row_far_out_moves_nothing() {
        let family = Student::default();
        for (y, s) in [(1e6, 0.1), (1e9, 1.0), (1e12, 1.0), (1e100, 1e-3), (-1e120, 10.0)] {
            for weight in [1.0, 1e4] {
                let row = Observation { y, weight, offset: 0.0 };
                let Moments { evidence, step, .. } = family.exact_moments(&row, 0.0, s).unwrap();
                assert!((step.gain * y / weight - 5.0).abs() < 1e-3, "{y} {s}: {step:?}");
                assert_eq!(step.curvature, 0.0, "{y} {s}");
                assert!((evidence.ln() / -row.loss(&family, 0.0) - 1.0).abs() < 1e-3, "{y} {s}");
            }
        }
    }

    #[test]
    fn a_vague_belief_takes_the_law_of_the_row() {
        let family = Student::default();
        for s in [1e6, 1e12, 1e18] {
            let step = family.exact_moments(&Observation::new(3.0), 1.0, s).unwrap().step;
            // the variance of Student's law with 4 degrees of freedom is 2
            assert!((step.curvature * 2.0 - 1.0).abs() < 0.02, "{s}: {step:?}");
        }
    }
}
