//! Robust regression: $y = u + \sigma T$ with Student's $T$, whose heavy tails explain outliers.

mod widths;

use super::fast::{ShapeTerms, own_fast_paths};
use super::location::{DOMAIN, Vagueness, checked_scale, legal_target, nearest_scale};
use super::{Family, FastPaths};
use crate::error::{Error, Result, require};
use crate::math::{normal_cdf, student_cdf, student_log_density, student_quantile};
use crate::rows::Observation;
use crate::step::{Evidence, Moments, Step};
use rand::{Rng, RngExt};
use widths::{Width, Widths};

/// $\ell(y,u) = \frac{\nu+1}2\ln\left(1 + \frac{(y-u)^2}{\nu\sigma^2}\right)$, $\nu$ degrees of
/// freedom and scale $\sigma$.
///
/// Use it in place of [`Gaussian`](super::Gaussian) when some targets are wrong or the noise has
/// heavy tails. The slope of the loss falls again far out: a target that is a million deviations
/// away moves nothing. With clean normal noise it needs some 10 % more rows than the normal law at
/// $\nu = 4$, the default.
///
/// The loss is not convex, so a second derivative can be negative. Where one is asked for, it is
/// the expected one, $(\nu+1)/((\nu+3)\sigma^2)$. Moment matching integrates over the normal laws
/// of different width that Student's law is a mixture of. A row after which the exact belief would
/// be wider leaves the width as it is.
///
/// The default learner learns $\sigma$. It also compares slopes with curvatures, and scales
/// standard errors so that they hold if the noise is not Student's.
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
/// Largest squared residual, in units of $\nu\sigma^2$ and of the belief's variance, that is not
/// left to the derivatives at the mean.
const MAX_SQUARE: f64 = 1e20;
/// Smallest weight of a row that is not left to them either: the widths that it is a mixture of
/// would span more than a number can.
const MIN_WEIGHT: f64 = 1e-6;
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
        Ok(Self { scale: checked_scale(scale)?, ..self })
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
        DOMAIN
    }

    #[inline(always)]
    fn canonical(&self, y: f64) -> Option<f64> {
        legal_target(y)
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
        if s == 0.0 || weight < MIN_WEIGHT || far {
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
        Self { scale: nearest_scale(shape), ..*self }
    }

    /// In $\ln\sigma$ the score of a residual of $z$ deviations is $(\nu+1)z^2/(\nu+z^2) - 1$,
    /// which is bounded, and the information is $2\nu/(\nu+3)$.
    fn shape_terms(&self, observation: &Observation, m: f64, s: f64) -> ShapeTerms {
        let Observation { y, weight, offset } = *observation;
        let sigma = self.scale;
        if weight == 0.0 {
            return ShapeTerms::default();
        }
        let vagueness = Vagueness::new(sigma, s);
        let counted = vagueness.weight(weight);
        let nu = self.dof;
        let residual = y - offset - m;
        let z = residual / (sigma * vagueness.widening);
        let score = (nu + 1.0) / (1.0 + nu / (z * z)) - 1.0;
        let (first, _) = self.derivatives(residual, 0.0);
        ShapeTerms {
            weight,
            score: counted * score / sigma,
            information: counted * 2.0 * nu / ((nu + 3.0) * sigma * sigma),
            is_vague: vagueness.is_vague,
            level: 0.0,
            squared_slope: weight * first * first,
            curvature: weight * self.curvature(residual),
        }
    }
}

#[cfg(test)]
mod tests;
