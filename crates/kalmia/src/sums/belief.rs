//! Many beliefs that share one prior become one, with a test of whether they agree.

use super::PriorPrecision;
use crate::error::{Error, Result, require_len};
use crate::learner::{Heterogeneity, MIN_GAIN, Natural, Predict, times};
use crate::linalg::{Carried, ScaledCholesky};
use crate::math::dot;

/// $N(\theta, P)$, from a learner or from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Belief {
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

impl Belief {
    /// Mean and covariance, row after row. A covariance that is not positive definite is refused
    /// when it is used.
    pub fn new(mean: Vec<f64>, covariance: Vec<f64>) -> Result<Self> {
        require_len("covariance", covariance.len(), mean.len() * mean.len())?;
        Ok(Self { mean, covariance })
    }

    /// The coefficients of a learner with their covariance, dispersion included. Refuses a learner
    /// without a covariance.
    pub fn of<L: Predict>(learner: &L) -> Result<Self> {
        let dim = learner.dim();
        let entry = |ij: usize| learner.covariance_entry(ij / dim, ij % dim);
        let covariance = (0..dim * dim).map(entry).collect::<Option<Vec<f64>>>();
        let covariance = covariance.ok_or_else(|| {
            Error::State("the learner keeps no covariance; use auto or a filter".into())
        })?;
        Self::new(learner.coefficients().to_vec(), covariance)
    }

    /// Number of coefficients.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// $\theta$.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// $P$, row after row.
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }
}

/// What [`merge_many`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Pooled {
    /// The belief of all.
    pub belief: Belief,
    /// Whether they agree.
    pub heterogeneity: Heterogeneity,
}

/// Merges beliefs that started from one prior and learned different rows: precisions add and the
/// prior counts once, $P^{-1} = \Lambda + \sum_s(P_s^{-1}-\Lambda)$. The prior must be in the units
/// of the beliefs: if their covariances include a dispersion, divide its precision by it.
///
/// Exact for normal noise of known variance; otherwise off by what each belief's Gaussian form is
/// off, which adds up over many shards: follow it by a pass of [`polish`](super::polish). The order
/// of the beliefs changes only rounding. No beliefs give the prior, which must then be proper.
///
/// ```
/// use kalmia::sums::{Belief, PriorPrecision, merge_many};
///
/// let a = Belief::new(vec![1.0], vec![0.5])?;
/// let b = Belief::new(vec![2.0], vec![0.5])?;
/// let pooled = merge_many(&PriorPrecision::flat(1), &[a, b])?;
/// assert!((pooled.belief.mean()[0] - 1.5).abs() < 1e-12);
/// assert!((pooled.belief.covariance()[0] - 0.25).abs() < 1e-12);
/// assert!((pooled.heterogeneity.q - 1.0).abs() < 1e-12);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub fn merge_many(prior: &PriorPrecision, beliefs: &[Belief]) -> Result<Pooled> {
    let dim = prior.dim();
    let prior_weighted = times(prior.matrix(), prior.mean());
    let mut precision = Carried::from_values(prior.matrix());
    let mut weighted = Carried::from_values(&prior_weighted);
    let mut gains = Vec::with_capacity(beliefs.len());
    let mut known = vec![0u64; dim];
    for (s, belief) in beliefs.iter().enumerate() {
        require_len("belief", belief.dim(), dim)?;
        let own = Natural::new(&belief.mean, &belief.covariance).map_err(|error| {
            Error::State(format!("the covariance of belief {s} cannot be inverted: {error}"))
        })?;
        let gain: Vec<f64> = own.precision.iter().zip(prior.matrix()).map(|(p, l)| p - l).collect();
        let more: Vec<f64> = own.weighted.iter().zip(&prior_weighted).map(|(p, l)| p - l).collect();
        precision.add(0, &gain);
        weighted.add(0, &more);
        for (j, known) in known.iter_mut().enumerate() {
            let at = j * dim + j;
            *known += u64::from(gain[at] > MIN_GAIN * own.precision[at]);
        }
        gains.push(gain);
    }
    let factor = ScaledCholesky::new(&precision.values(), dim)?;
    let mut mean = weighted.values();
    factor.solve(&mut mean);
    let mut q = Carried::zeros(1);
    for (belief, gain) in beliefs.iter().zip(&gains) {
        let away: Vec<f64> = belief.mean.iter().zip(&mean).map(|(s, t)| s - t).collect();
        q.add(0, &[dot(&away, &times(gain, &away))]);
    }
    let degrees = known.iter().map(|shards| shards.saturating_sub(1)).sum();
    let heterogeneity = Heterogeneity::new(q.value(0), degrees);
    Ok(Pooled { belief: Belief::new(mean, factor.inverse())?, heterogeneity })
}
