//! What an [`OnlineNewtonStep`] needs to continue, bit for bit.

use super::projection::norm;
use super::{OnlineNewtonSettings, OnlineNewtonStep};
use crate::covariance::Covariance;
use crate::error::{Error, Result, require, require_count, require_len};
use crate::family::Family;
use crate::learner::Learner;
use crate::linalg::Buffer;
use serde::{Deserialize, Serialize};

/// Everything that an [`OnlineNewtonStep`] needs to continue, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlineNewtonState<F> {
    /// The family.
    pub family: F,
    /// The ball and the constants.
    pub settings: OnlineNewtonSettings,
    /// Name of the covariance form.
    pub form: String,
    /// Rows learned.
    pub count: u64,
    /// Rows whose step left the ball.
    pub projections: u64,
    /// Cholesky factors of all projections.
    pub factors: u64,
    /// $w$.
    pub w: Vec<f64>,
    /// The numbers of $P$ in that form, in a fixed order.
    #[serde(with = "crate::covariance::packed")]
    pub covariance: Vec<f64>,
    /// The lower triangle of $A$, column after column.
    #[serde(with = "crate::covariance::packed")]
    pub precision: Vec<f64>,
}

impl<F: Family, C: Covariance> OnlineNewtonStep<F, C> {
    /// The state, to be stored.
    pub fn state(&self) -> OnlineNewtonState<F> {
        let dim = self.dim();
        let belief = &self.belief;
        OnlineNewtonState {
            family: self.family.clone(),
            settings: self.settings.clone(),
            form: C::NAME.into(),
            count: belief.count,
            projections: belief.projections,
            factors: belief.factors,
            w: self.coefficients().to_vec(),
            covariance: belief.covariance.parts(),
            precision: (0..dim)
                .flat_map(|j| &belief.precision[j * dim + j..(j + 1) * dim])
                .copied()
                .collect(),
        }
    }

    /// A learner that continues from a state; `C` must be the form that the state names.
    pub fn restore(state: OnlineNewtonState<F>) -> Result<Self> {
        if state.form != C::NAME {
            return Err(Error::State(format!(
                "the state has a {} covariance, the learner a {} one",
                state.form,
                C::NAME
            )));
        }
        let dim = state.w.len();
        for count in [state.count, state.projections, state.factors] {
            require_count("rows", count)?;
        }
        for &value in &state.covariance {
            require(value.is_finite(), "state", value, "must be finite")?;
        }
        require_len("precision", state.precision.len(), dim * (dim + 1) / 2)?;
        let mut learner =
            OnlineNewtonStep::with_covariance::<C>(state.family, dim, state.settings)?;
        let length = norm(&state.w);
        let legal = length <= learner.settings.radius() * (1.0 + 1e-12)
            && state.precision.iter().all(|a| a.is_finite());
        if !legal {
            return Err(Error::State(format!(
                "the state's w has norm {length}, outside the ball, or its precision is not finite"
            )));
        }
        let belief = &mut learner.belief;
        belief.covariance = C::from_parts(&state.covariance, dim)?;
        let mut rest = &state.precision[..];
        for j in 0..dim {
            let (column, after) = rest.split_at(dim - j);
            belief.precision[j * dim + j..(j + 1) * dim].copy_from_slice(column);
            rest = after;
        }
        belief.w = Buffer::from_slice(&state.w);
        belief.count = state.count;
        belief.projections = state.projections;
        belief.factors = state.factors;
        Ok(learner)
    }
}
