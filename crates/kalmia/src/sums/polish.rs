//! The Newton step of the most probable coefficients from sums at a fixed theta.

use super::newton::NewtonSums;
use super::row_terms::Kind;
use super::totals::Scalars;
use super::{Belief, PriorPrecision, Sums};
use crate::covariance::Covariance;
use crate::error::{Error, Result, require, require_len};
use crate::family::{Family, FastPaths};
use crate::learner::{Auto, Filter, Learner, Predict, Residual, times};
use crate::linalg::ScaledCholesky;
use crate::math::dot;
use crate::rule::Rule;

/// How far a step moved the coefficients, in standard errors. They are taken at the smaller of the
/// family's dispersion and the estimated one, so a poor start does not hide the distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// Root mean square over the coefficients.
    pub rms: f64,
    /// The largest.
    pub max: f64,
}

/// The result of a Newton step: $N(\theta, P)$ with how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Polished {
    coefficients: Vec<f64>,
    /// $(I+\Lambda)^{-1}$ at the family's own dispersion.
    inverse: Vec<f64>,
    squared_scores: Option<Vec<f64>>,
    family_dispersion: f64,
    dispersion: f64,
    degrees: f64,
    deviance: f64,
    log_posterior: f64,
    moved: Moved,
    rows: u64,
    /// Rows that the dispersion rests on.
    effective_rows: f64,
    kind: Kind,
}

/// One Newton step of the most probable coefficients under the prior, from sums at
/// [`Sums::theta`]: $\theta - (I+\Lambda)^{-1}(g + \Lambda(\theta - m))$.
///
/// For normal noise the step is exact: ridge regression, or least squares with a flat prior. For
/// other families it is as close as $\theta$ was: from merged beliefs within a few standard errors,
/// one step is nearly always enough, and [`Polish`](super::Polish) repeats it until nothing moves.
///
/// Refuses coefficients that neither the rows nor the prior determine
/// ([`Error::Undetermined`] names the first).
pub fn polish<F: Family>(prior: &PriorPrecision, sums: &Sums<F>) -> Result<Polished> {
    polish_sums(prior, sums)
}

/// The Newton step from any sums.
pub(super) fn polish_sums(prior: &PriorPrecision, sums: &impl NewtonSums) -> Result<Polished> {
    let dim = sums.theta().len();
    let scalars = sums.scalars();
    require_len("prior", prior.dim(), dim)?;
    let information = sums.information();
    let gradient = sums.gradient();
    let precision: Vec<f64> = information.iter().zip(prior.matrix()).map(|(i, l)| i + l).collect();
    let factor = ScaledCholesky::new(&precision, dim)?;
    let pull = prior.pull(sums.theta());
    let mut step: Vec<f64> = gradient.iter().zip(&pull).map(|(g, p)| -(g + p)).collect();
    factor.solve(&mut step);
    let coefficients: Vec<f64> = sums.theta().iter().zip(&step).map(|(t, s)| t + s).collect();
    if let Some(feature) = coefficients.iter().position(|c| !c.is_finite()) {
        return Err(Error::Undetermined { feature, left: f64::NAN });
    }
    let inverse = factor.inverse();
    // the rows' part of the objective as a parabola around theta: exact for normal noise
    let change = dot(&gradient, &step) + 0.5 * dot(&step, &times(&information, &step));
    let family_dispersion = sums.dispersion();
    let deviance = (scalars.deviance() + 2.0 * family_dispersion * change).max(0.0);
    let spent = dim as f64 - dot(prior.matrix(), &inverse);
    let left = scalars.effective_rows() - spent;
    let estimate = estimate(sums.kind(), &scalars, deviance, left);
    let dispersion = estimate.unwrap_or(family_dispersion);
    let known = (dispersion / family_dispersion).min(1.0);
    let moved = moved(&step, |j| (known * inverse[j * dim + j]).sqrt());
    let estimates_noise = sums.kind() == Kind::Normal && estimate.is_some();
    Ok(Polished {
        log_posterior: -deviance / (2.0 * family_dispersion) - prior.penalty(&coefficients),
        coefficients,
        inverse,
        squared_scores: sums.squared_scores(),
        family_dispersion,
        dispersion,
        degrees: if estimates_noise { left } else { f64::INFINITY },
        deviance,
        moved,
        rows: scalars.rows,
        effective_rows: scalars.effective_rows(),
        kind: sums.kind(),
    })
}

/// The dispersion on `left` degrees of freedom; `None` if there are none, or nothing to estimate.
fn estimate(kind: Kind, scalars: &Scalars, deviance: f64, left: f64) -> Option<f64> {
    if left.is_nan() || left <= 0.0 {
        return None;
    }
    match kind {
        Kind::None => None,
        // the residual sum of squares after the step
        Kind::Normal => Some(deviance / left),
        Kind::Pearson => Some(scalars.pearson() / left),
        Kind::Quasi => Some((scalars.pearson() / left).max(1.0)),
    }
}

fn moved(step: &[f64], standard_error: impl Fn(usize) -> f64) -> Moved {
    let mut sum = 0.0;
    let mut max = 0.0;
    for (j, step) in step.iter().enumerate() {
        // a coefficient known without error has not moved if its step is 0
        let ratio = if *step == 0.0 { 0.0 } else { (step / standard_error(j)).abs() };
        sum += ratio * ratio;
        if ratio > max || ratio.is_nan() {
            max = ratio;
        }
    }
    Moved { rms: (sum / step.len().max(1) as f64).sqrt(), max }
}

impl Polished {
    /// The coefficients after the step.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The covariance of the coefficients, row after row: $(I+\Lambda)^{-1}$ at the
    /// [dispersion](Self::dispersion).
    pub fn covariance(&self) -> Vec<f64> {
        let scale = self.dispersion / self.family_dispersion;
        self.inverse.iter().map(|entry| scale * entry).collect()
    }

    /// The roots of the diagonal of [`covariance`](Self::covariance).
    pub fn standard_errors(&self) -> Vec<f64> {
        self.roots(&self.covariance())
    }

    /// $(I+\Lambda)^{-1}\,\bigl(\sum w^2\ell'^2xx^\top\bigr)\,(I+\Lambda)^{-1}$: the covariance of
    /// the coefficients even if the family's variance is wrong (White's estimator, HC0; not scaled
    /// for few rows). The dispersion cancels. Rows count as independent, and a row's weight as its
    /// precision: a row of weight 2 is not two rows here.
    ///
    /// The scores are those at [`Sums::theta`], so the step must be small: take the result that
    /// [`Polish`](super::Polish) ends with. Refused without [`Sums::with_scores`].
    pub fn robust_covariance(&self) -> Result<Vec<f64>> {
        let Some(scores) = &self.squared_scores else {
            return Err(Error::State(
                "the sums have no squared scores; make them with `Sums::with_scores`".into(),
            ));
        };
        let dim = self.coefficients.len();
        let left: Vec<f64> =
            scores.chunks_exact(dim.max(1)).flat_map(|row| times(&self.inverse, row)).collect();
        // left is S A^-1; rows of the result are A^-1 times its columns
        let mut robust = vec![0.0; dim * dim];
        for j in 0..dim {
            let column: Vec<f64> = (0..dim).map(|i| left[i * dim + j]).collect();
            robust[j * dim..][..dim].copy_from_slice(&times(&self.inverse, &column));
        }
        for j in 0..dim {
            for i in 0..j {
                let mean = 0.5 * (robust[j * dim + i] + robust[i * dim + j]);
                robust[j * dim + i] = mean;
                robust[i * dim + j] = mean;
            }
        }
        Ok(robust)
    }

    /// The roots of the diagonal of [`robust_covariance`](Self::robust_covariance).
    pub fn robust_standard_errors(&self) -> Result<Vec<f64>> {
        Ok(self.roots(&self.robust_covariance()?))
    }

    /// Standard errors at the family's own dispersion.
    pub(super) fn unit_errors(&self) -> Vec<f64> {
        self.roots(&self.inverse)
    }

    fn roots(&self, matrix: &[f64]) -> Vec<f64> {
        let dim = self.coefficients.len();
        (0..dim).map(|j| matrix[j * dim + j].sqrt()).collect()
    }

    /// The dispersion that standard errors use. The default is the estimate, as in the default
    /// learner: the residual variance (Gaussian) or Pearson's statistic (Gamma; counts, at least 1)
    /// over rows less effective parameters, $n - \mathrm{tr}\,(I+\Lambda)^{-1}I$. Labels have 1. If
    /// no degrees of freedom are left, it is the family's own.
    pub fn dispersion(&self) -> f64 {
        self.dispersion
    }

    /// With a known dispersion: that of the family, for standard errors as a
    /// [`Filter`] has them.
    pub fn with_dispersion(mut self, dispersion: f64) -> Result<Self> {
        let legal = dispersion > 0.0 && dispersion.is_finite();
        require(legal, "dispersion", dispersion, "must be positive and finite")?;
        self.dispersion = dispersion;
        self.degrees = f64::INFINITY;
        Ok(self)
    }

    /// Degrees of freedom for intervals: infinite unless the noise variance is estimated.
    pub fn degrees_of_freedom(&self) -> f64 {
        self.degrees
    }

    /// The deviance at the coefficients, by the parabola at [`Sums::theta`]: exact for normal noise
    /// and where nothing moved.
    pub fn deviance(&self) -> f64 {
        self.deviance
    }

    /// The log posterior density of the coefficients at the family's own dispersion, up to terms
    /// that do not depend on them: $-D/(2\varphi) - \tfrac12(\theta-m)^\top\Lambda(\theta-m)$.
    pub fn log_posterior(&self) -> f64 {
        self.log_posterior
    }

    /// How far the step moved.
    pub fn moved(&self) -> Moved {
        self.moved
    }

    /// Rows that the sums are over.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Mean and covariance as a belief.
    pub fn belief(&self) -> Result<Belief> {
        Belief::new(self.coefficients.clone(), self.covariance())
    }
}

impl<F: Family, R: Rule, C: Covariance> Filter<F, R, C> {
    /// The filter with the polished belief, at the polished [dispersion](Polished::dispersion), in
    /// place of its own, and the rows of the sums as its rows. It continues to learn from there.
    /// Refuses another number of coefficients, and a filter that counts outliers less.
    pub fn with_polished(self, polished: &Polished) -> Result<Self> {
        let dim = self.dim();
        require_len("coefficients", polished.coefficients.len(), dim)?;
        self.outliers().require_full_rows()?;
        C::require_any_matrix(dim)?;
        let covariance = C::from_matrix(&polished.covariance(), dim)?;
        Ok(self.with_belief(&polished.coefficients, covariance, polished.rows))
    }
}

/// The unit of the beliefs of [`Auto`] if the law has a scale to learn: its square. Other beliefs
/// are in units of the dispersion.
fn scale_unit<F: Family>(family: &F) -> Option<f64> {
    let law = family.fast();
    law.location_level()?;
    law.shape().map(|scale| scale * scale)
}

impl<F: Family> Auto<F> {
    /// The prior of the heaviest member, at the dispersion of [`Predict::family`]: what to polish
    /// this learner with. Refuses a learner that follows a drift, and one that counts outliers
    /// less, because sums count every row in full.
    pub fn polishing_prior(&self) -> Result<PriorPrecision> {
        self.require_full_rows()?;
        let family = self.family();
        let unit = scale_unit(&family).or(family.dispersion()).unwrap_or(1.0);
        self.fitted_prior().map(|prior| prior.scaled(1.0 / unit))
    }

    /// The learner with the polished belief as its only member. It keeps its prior, so it grows,
    /// learns and watches for a drift as before. Refuses another number of coefficients, and a
    /// learner that follows a drift.
    pub fn with_polished(self, polished: &Polished) -> Result<Self> {
        require_len("coefficients", polished.coefficients.len(), self.dim())?;
        self.require_full_rows()?;
        let unit = scale_unit(&self.family()).unwrap_or(polished.family_dispersion);
        let covariance: Vec<f64> = polished.inverse.iter().map(|entry| entry / unit).collect();
        let residual = match polished.kind {
            Kind::Normal => {
                let penalty = self.fitted_prior()?.penalty(&polished.coefficients);
                Residual::Sum(polished.deviance + 2.0 * penalty)
            }
            _ => Residual::Dispersion(polished.dispersion),
        };
        self.with_belief(
            &polished.coefficients,
            &covariance,
            residual,
            polished.rows,
            polished.effective_rows,
        )
    }
}
