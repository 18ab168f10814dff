//! What a [`Filter`] needs to continue, bit for bit.

use super::{Belief, Filter};
use crate::covariance::Covariance;
use crate::error::{Error, Result, require, require_count, require_len};
use crate::family::Family;
use crate::learner::{Downweighting, Drift, Learner, Prior};
use crate::linalg::Buffer;
use crate::rule::Rule;
use serde::{Deserialize, Serialize};

/// Everything that a [`Filter`] needs to continue, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilterState<F, R> {
    /// The family.
    pub family: F,
    /// The rule.
    pub rule: R,
    /// Name of the covariance form.
    pub form: String,
    /// The prior.
    pub prior: Prior,
    /// The drift.
    pub drift: Drift,
    /// Rows learned.
    pub count: u64,
    /// $\theta$.
    pub theta: Vec<f64>,
    /// The numbers of $P$ in that form, in a fixed order.
    #[serde(with = "crate::covariance::packed")]
    pub covariance: Vec<f64>,
    /// How rows are judged that are far from their prediction, if these count less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downweighting: Option<Downweighting>,
}

impl<F: Family, R: Rule, C: Covariance> Filter<F, R, C> {
    /// The state, to be stored.
    pub fn state(&self) -> FilterState<F, R> {
        FilterState {
            family: self.family.clone(),
            rule: self.rule.clone(),
            form: C::NAME.into(),
            prior: self.prior.clone(),
            drift: self.drift.clone(),
            count: self.count,
            theta: self.coefficients().to_vec(),
            covariance: self.belief.covariance.parts(),
            downweighting: self.belief.downweighting,
        }
    }

    /// A filter that continues from a state; `C` must be the form that the state names.
    pub fn restore(state: FilterState<F, R>) -> Result<Self> {
        if state.form != C::NAME {
            return Err(Error::State(format!(
                "the state has a {} covariance, the filter a {} one",
                state.form,
                C::NAME
            )));
        }
        require_len("theta", state.theta.len(), state.prior.dim())?;
        require_count("rows", state.count)?;
        for &value in state.theta.iter().chain(&state.covariance) {
            require(value.is_finite(), "state", value, "must be finite")?;
        }
        let covariance = C::from_parts(&state.covariance, state.prior.dim())?;
        let mut filter = Filter::with_covariance::<C>(state.family, state.rule, state.prior)?
            .with_drift(state.drift)?;
        filter.count = state.count;
        state.downweighting.map_or(Ok(()), |downweighting| downweighting.check())?;
        let theta = Buffer::from_slice(&state.theta);
        filter.belief = Belief { theta, covariance, downweighting: state.downweighting };
        Ok(filter)
    }
}
