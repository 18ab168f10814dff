//! The terms of Lemma recursive_bound, summed while the recursion runs, for any data.

use crate::error::{Result, require, require_count, require_len};
use crate::family::Family;
use crate::learner::Prior;
use crate::linalg::{cholesky_lower, solve_lower};
use crate::math::smallest_eigenvalue;
use crate::observe::{Observer, RowView};
use serde::{Deserialize, Serialize};

/// Running sums of the bound on the linearized regret (Lemma recursive_bound), for a static
/// [`crate::Filter`] with any rule.
///
/// Every rule moves by $\theta_{t+1} = \theta_t - \tilde\ell_t P_{t+1}x_t$ with $\tilde\ell_t =
/// -g_t(1+\alpha_t s_t)$, which is $\ell'_t$ for [`crate::Ekf`], [`crate::Truncated`] and, whatever
/// the rule, the Gaussian family. For any comparator $\theta^*$ and any data
///
/// $$\sum_t \tilde\ell_t\,x_t^\top(\theta_t-\theta^*) -
/// \tfrac12\alpha_t\,(x_t^\top(\theta_t-\theta^*))^2 \;\le\; \tfrac12\sum_t
/// \tilde\ell_t^2\,x_t^\top P_{t+1}x_t + \tfrac12\|\theta_1-\theta^*\|^2_{P_1^{-1}},$$
///
/// short of equality by $\tfrac12\|\theta_{n+1}-\theta^*\|^2_{P_{n+1}^{-1}}$. Weights are in
/// $\tilde\ell$ and $\alpha$.
///
/// A call of `learn` that fails is undone in the learner but not in its observers: keep a copy to
/// continue from.
///
/// ```
/// use kalmia::{Ekf, Filter, Gaussian, Learner, Predict, Prior, Rows, evaluate::Certificate};
///
/// let prior = Prior::isotropic(1, 1.0)?;
/// let mut filter = Filter::new(Gaussian::default(), Ekf, prior.clone())?;
/// let mut certificate = Certificate::default();
/// filter.learn_observed(Rows::new(1, &[1.0, 1.0], &[2.0, 1.0])?, Some(&mut certificate))?;
/// // losses 2 and 0; the best regularized predictor is 1, at 1/2 + 0 + 1/2
/// assert!((certificate.regret(&filter.family()).unwrap() - 1.0).abs() < 1e-15);
/// assert!((certificate.sharp_bound(&prior, &[1.0])? - 1.5).abs() < 1e-15);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    rows: u64,
    loss: f64,
    movement: f64,
    log_det_growth: f64,
    contracted_loss: f64,
}

impl Certificate {
    /// Refuses sums that no rows give.
    pub(super) fn check(&self) -> Result<()> {
        require_count("rows", self.rows)?;
        for (name, sum) in [("movement", self.movement), ("log_det_growth", self.log_det_growth)] {
            require(sum >= 0.0, name, sum, "must be 0 or more")?;
        }
        for (name, sum) in [("loss", self.loss), ("contracted_loss", self.contracted_loss)] {
            require(!sum.is_nan(), name, sum, "must be a number")?;
        }
        Ok(())
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// $\sum_t w_t\ell(y_t, \theta_t^\top x_t + o_t)$, the loss suffered.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// $\frac12\sum_t \tilde\ell_t^2\,x_t^\top P_{t+1}x_t$, where $x^\top P_{t+1}x = s/(1+\alpha
    /// s)$ (identity I2).
    pub fn movement(&self) -> f64 {
        self.movement
    }

    /// $\ln\det P_1 - \ln\det P_{n+1} = \sum_t \ln(1+\alpha_t s_t)$ (identity I7): twice
    /// the information of the rows, in nats.
    pub fn log_det_growth(&self) -> f64 {
        self.log_det_growth
    }

    /// The bound against `comparator` with its best constant: $\frac12\sum\tilde\ell^2x^\top
    /// P_{t+1}x + \frac12\|\theta_1-\theta^*\|^2_{P_1^{-1}}$.
    pub fn sharp_bound(&self, prior: &Prior, comparator: &[f64]) -> Result<f64> {
        let distance = distance(prior, comparator)?;
        if let Some(variances) = prior.variances() {
            let scaled = distance.iter().zip(variances).map(|(d, v)| d * d / v);
            return Ok(self.movement + 0.5 * scaled.sum::<f64>());
        }
        let mut factor = prior.matrix();
        cholesky_lower(&mut factor, prior.dim(), "covariance")?;
        let mut z = distance;
        solve_lower(&factor, prior.dim(), &mut z);
        Ok(self.movement + 0.5 * square(&z))
    }

    /// The bound as the lemma is printed: $\frac12\sum\tilde\ell^2x^\top P_{t+1}x +
    /// \|\theta_1-\theta^*\|^2/\lambda_{\min}(P_1)$. Valid, but its second term is at least
    /// twice that of [`Certificate::sharp_bound`].
    pub fn printed_bound(&self, prior: &Prior, comparator: &[f64]) -> Result<f64> {
        let distance = distance(prior, comparator)?;
        let smallest = match prior.variances() {
            Some(variances) => variances.iter().copied().fold(f64::INFINITY, f64::min),
            None => smallest_eigenvalue(prior.matrix(), prior.dim()),
        };
        Ok(self.movement + square(&distance) / smallest)
    }

    /// $\min_\theta \sum_t w_t\ell(y_t,\theta^\top x_t + o_t) +
    /// \frac12\|\theta-\theta_1\|^2_{P_1^{-1}}$, exactly, if the loss is quadratic: the minimum
    /// grows by $w_t\ell_t/(1+\alpha_ts_t) = \frac12 (y_t-m_t-o_t)^2/(\sigma^2/w_t+s_t)$ per row.
    /// `None` for the other families.
    pub fn hindsight<F: Family>(&self, family: &F) -> Option<f64> {
        family.normal_noise().map(|_| self.contracted_loss)
    }

    /// The loss suffered minus [`Certificate::hindsight`]: the exact regret against the best
    /// regularized predictor; `None` unless the loss is quadratic. It equals
    /// [`Certificate::movement`], since $\frac12\alpha r^2 - \frac12\alpha r^2/(1+\alpha s) =
    /// \frac12(\alpha r)^2 s/(1+\alpha s)$ for a residual $r$.
    pub fn regret<F: Family>(&self, family: &F) -> Option<f64> {
        family.normal_noise().map(|_| self.movement)
    }
}

impl Observer for Certificate {
    fn row(&mut self, row: &RowView<'_>) {
        let s = row.variance;
        let alpha = row.step.curvature;
        let spread = 1.0 + alpha * s;
        let weight = row.observation.weight;
        let loss = if weight == 0.0 { 0.0 } else { weight * row.loss };
        self.rows += 1;
        self.loss += loss;
        // l~^2 s / (1 + alpha s) with l~ = -g (1 + alpha s)
        self.movement += 0.5 * row.step.gain * row.step.gain * s * spread;
        self.log_det_growth += (alpha * s).ln_1p();
        self.contracted_loss += loss / spread;
    }
}

/// $\theta_1 - \theta^*$.
fn distance(prior: &Prior, comparator: &[f64]) -> Result<Vec<f64>> {
    require_len("comparator", comparator.len(), prior.dim())?;
    Ok(prior.mean().iter().zip(comparator).map(|(a, b)| a - b).collect())
}

fn square(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparator_of_the_wrong_length_is_named() {
        let prior = Prior::isotropic(2, 1.0).unwrap();
        let error = Certificate::default().sharp_bound(&prior, &[1.0]).unwrap_err();
        assert_eq!(error, crate::Error::Length { name: "comparator", expected: 2, found: 1 });
    }
}
