//! Draws from the belief about the coefficients, and from what follows of it for rows.

use super::{AnyLearner, Filter, Learner, Predict};
use crate::covariance::Covariance;
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::math::dot;
use crate::predict::Prediction;
use crate::rows::Inputs;
use crate::rule::Rule;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

/// One draw from the belief: the coefficients, and the law of targets that goes with them.
#[derive(Debug, Clone, PartialEq)]
pub struct PosteriorDraw<F> {
    /// The coefficients.
    pub coefficients: Vec<f64>,
    /// The family, at the dispersion of this draw.
    pub family: F,
    /// By how much counts vary more than the family allows; `None` if they do not.
    pub overdispersion: Option<f64>,
    /// Variance of the coefficient of a level that no row had.
    pub unseen_variance: f64,
}

impl<F: Family> PosteriorDraw<F> {
    /// A target with the linear predictor `u`.
    pub fn target(&self, u: f64, rng: &mut dyn Rng) -> Result<f64> {
        match self.overdispersion.filter(|_| !self.family.fast().is_label()) {
            Some(dispersion) => {
                let law = Prediction::new(self.family.clone(), u, 0.0)?;
                Ok(law.with_overdispersion(dispersion)?.quantile(rng.random()))
            }
            None => Ok(self.family.sample(u, rng)),
        }
    }
}

/// Draws from a learner's belief, for Thompson sampling and for anything that the moments do not
/// show.
///
/// A draw chooses a member of a mixture by its weight, then the noise variance if it is learned,
/// then the coefficients from the normal law of that member. So coefficients are Student's where
/// the noise is learned. Learners without a covariance refuse with [`Error::State`].
///
/// ```
/// use kalmia::learner::Sample;
/// use kalmia::{Filter, Gaussian, Learner, MomentMatch, Prior, Rows};
/// use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
///
/// let mut filter = Filter::new(Gaussian::default(), MomentMatch, Prior::isotropic(1, 100.0)?)?;
/// filter.learn(Rows::new(1, &[1.0; 4], &[2.0; 4])?)?;
/// let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
/// let draws = filter.sample_coefficients(1000, &mut rng)?;
/// let mean = draws.iter().sum::<f64>() / 1000.0;
/// assert!((mean - filter.coefficients()[0]).abs() < 0.1);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub trait Sample: Predict {
    /// Independent draws.
    fn draw(&self, draws: usize, rng: &mut dyn Rng) -> Result<Vec<PosteriorDraw<Self::Family>>>;

    /// Sets features of a row that no row had to 0, because their scale is unknown; their number.
    #[doc(hidden)]
    fn hide_features(&self, _x: &mut [f64]) -> f64 {
        0.0
    }

    /// Coefficients, [`Learner::dim`] numbers per draw.
    fn sample_coefficients(&self, draws: usize, rng: &mut dyn Rng) -> Result<Vec<f64>> {
        let drawn = self.draw(draws, rng)?;
        Ok(drawn.into_iter().flat_map(|draw| draw.coefficients).collect())
    }

    /// Means of the targets of rows, without their noise: one number per draw and row, the rows of
    /// a draw together. The rows of a draw share its coefficients, in several calls too.
    fn sample_means(
        &self,
        inputs: Inputs<'_>,
        drawn: &[PosteriorDraw<Self::Family>],
        rng: &mut dyn Rng,
    ) -> Result<Vec<f64>> {
        sample_rows(self, inputs, drawn, rng, |draw, u, _| Ok(draw.family.mean(u)))
    }

    /// Targets of rows, with their noise; otherwise as [`Sample::sample_means`].
    fn sample_targets(
        &self,
        inputs: Inputs<'_>,
        drawn: &[PosteriorDraw<Self::Family>],
        rng: &mut dyn Rng,
    ) -> Result<Vec<f64>> {
        sample_rows(self, inputs, drawn, rng, |draw, u, rng| draw.target(u, rng))
    }
}

/// A number for each draw and row, from the draw and the linear predictor.
fn sample_rows<L: Sample + ?Sized>(
    learner: &L,
    inputs: Inputs<'_>,
    drawn: &[PosteriorDraw<L::Family>],
    rng: &mut dyn Rng,
    value: impl Fn(&PosteriorDraw<L::Family>, f64, &mut dyn Rng) -> Result<f64>,
) -> Result<Vec<f64>> {
    inputs.check(learner.dim())?;
    let mut x = inputs.features().to_vec();
    let dim = learner.dim();
    let mut unseen: Vec<f64> = (0..inputs.len()).map(|i| f64::from(inputs.unseen(i))).collect();
    for (x, unseen) in x.chunks_exact_mut(dim.max(1)).zip(&mut unseen) {
        *unseen += learner.hide_features(x);
    }
    let mut values = Vec::with_capacity(drawn.len() * inputs.len());
    for draw in drawn {
        for (i, unseen) in unseen.iter().enumerate() {
            let mut u = dot(&x[i * dim..][..dim], &draw.coefficients) + inputs.offset(i);
            if *unseen > 0.0 {
                let z: f64 = StandardNormal.sample(rng);
                u += (unseen * draw.unseen_variance).sqrt() * z;
            }
            values.push(value(draw, u, rng).map_err(|error| error.at_row(i))?);
        }
    }
    Ok(values)
}

/// Adds `scale` times a normal draw of covariance $LL^\top$; `root` is $L$, column by column.
pub(super) fn add_normal(to: &mut [f64], root: &[f64], scale: f64, rng: &mut dyn Rng) {
    for column in root.chunks_exact(to.len().max(1)) {
        let z: f64 = StandardNormal.sample(rng);
        to.iter_mut().zip(column).for_each(|(to, l)| *to += scale * z * l);
    }
}

impl<F: Family, R: Rule, C: Covariance> Sample for Filter<F, R, C> {
    fn draw(&self, draws: usize, rng: &mut dyn Rng) -> Result<Vec<PosteriorDraw<F>>> {
        let root = self.covariance().square_root()?;
        let unseen_variance = self.dim().checked_sub(1).map_or(1.0, |j| self.prior().variance(j));
        let draw = |_| {
            let mut coefficients = self.coefficients().to_vec();
            add_normal(&mut coefficients, &root, 1.0, rng);
            let family = self.family();
            PosteriorDraw { coefficients, family, overdispersion: None, unseen_variance }
        };
        Ok((0..draws).map(draw).collect())
    }
}

impl<F: Family> Sample for AnyLearner<F> {
    fn draw(&self, draws: usize, rng: &mut dyn Rng) -> Result<Vec<PosteriorDraw<F>>> {
        match self {
            Self::Auto(inner) => inner.draw(draws, rng),
            Self::Filter(inner) => inner.draw(draws, rng),
            Self::Wide(_) => Err(Error::State(
                "a wide model draws no coefficients; ask for the mean and its interval".into(),
            )),
            Self::Newton(_) | Self::Sgd(_) | Self::Averaged(_) => Err(Error::State(format!(
                "method {} keeps no covariance, so there is nothing to draw from; use auto, or a \
                 filter such as moment",
                self.title()
            ))),
        }
    }

    fn hide_features(&self, x: &mut [f64]) -> f64 {
        match self {
            Self::Auto(inner) => inner.hide_features(x),
            _ => 0.0,
        }
    }
}

/// The place that the share `at` of the weights falls on.
pub(super) fn place_of_share(weights: &[f64], mut at: f64) -> usize {
    for (k, weight) in weights.iter().enumerate() {
        at -= weight;
        if at < 0.0 {
            return k;
        }
    }
    // rounding: the weights add up to slightly less than 1
    weights.len() - 1
}
