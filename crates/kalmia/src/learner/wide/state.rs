//! What a [`Wide`] needs to continue, bit for bit.

use super::member::{Member, Members};
use super::row::RowEntries;
use super::stored::{BeliefState, FeatureState};
use super::warm_up::WarmUpRows;
use super::{MAX_LANES, Wide};
use crate::error::{Result, require, require_count, require_len};
use crate::family::Family;
use crate::learner::DriftMode;
use crate::learner::auto::dispersion::Dispersion;
use crate::learner::auto::prior::{PriorCenter, PriorScale};
use crate::learner::auto::scale::Scales;
use serde::{Deserialize, Serialize};

/// The state of a [`Wide`], to be stored and restored. It holds the features seen and nothing of
/// the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WideState<F> {
    family: F,
    drift: DriftMode,
    count: u64,
    scales: Scales,
    dispersion: Dispersion,
    prior_scale: PriorScale,
    intercept_mean: f64,
    warm_up: Option<WarmUpRows>,
    members: Vec<Member>,
    core: CoreState,
    tail: TailState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CoreState {
    /// Features besides the numbers that fit.
    size: usize,
    /// The slots of these features.
    #[serde(with = "crate::covariance::packed")]
    slots: Vec<u32>,
    /// Feature by feature, the means of all members.
    #[serde(with = "crate::covariance::packed")]
    means: Vec<f64>,
    /// Row by row of the lower triangle, the entries of all members.
    #[serde(with = "crate::covariance::packed")]
    covariance: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TailState {
    #[serde(with = "crate::covariance::packed")]
    indices: Vec<u32>,
    #[serde(with = "crate::covariance::packed")]
    seen: Vec<u32>,
    #[serde(with = "crate::covariance::packed")]
    last_rows: Vec<u32>,
    /// Empty if all are 1.
    #[serde(with = "crate::covariance::packed")]
    scales: Vec<f64>,
    /// Feature by feature, the means of all members, then their variances.
    #[serde(with = "crate::covariance::packed")]
    records: Vec<f32>,
}

impl<F: Family> Wide<F> {
    /// The state, to be stored.
    pub fn state(&self) -> WideState<F> {
        let features = FeatureState::of(&self.features);
        let belief = BeliefState::of(&self.belief);
        WideState {
            family: self.family.clone(),
            drift: self.drift,
            count: self.count,
            scales: self.features.scales.clone(),
            dispersion: self.dispersion,
            prior_scale: self.prior.scale,
            intercept_mean: self.prior.intercept_mean,
            warm_up: self.warm_up.clone(),
            members: self.members.all.clone(),
            core: CoreState {
                size: features.core_size,
                slots: features.core_slots,
                means: belief.means,
                covariance: belief.covariance,
            },
            tail: TailState {
                indices: features.indices,
                seen: features.seen,
                last_rows: features.last_rows,
                scales: features.scales,
                records: belief.records,
            },
        }
    }

    /// A learner that continues from a state. A limit on the features is no part of it: what fits
    /// depends on the machine, so give it again by [`with_limit`](Self::with_limit).
    pub fn restore(state: WideState<F>) -> Result<Self> {
        let lanes = state.members.len();
        if state.warm_up.is_some() {
            require_len("members", lanes, MAX_LANES)?;
        }
        let members = Members::restore(state.members)?;
        state.dispersion.check(&state.family)?;
        state.prior_scale.check()?;
        require_count("rows", state.count)?;
        let mean = state.intercept_mean;
        require(mean.is_finite(), "intercept", mean, "must be finite")?;
        if let Some(rows) = &state.warm_up {
            rows.check(&state.family)?;
        }
        let CoreState { size, slots, means, covariance } = state.core;
        let TailState { indices, seen, last_rows, scales, records } = state.tail;
        let features =
            FeatureState { core_size: size, core_slots: slots, indices, seen, last_rows, scales };
        let features = features.restore(state.scales)?;
        let belief = BeliefState { means, covariance, records }.restore(&features, lanes)?;
        Ok(Self {
            family: state.family,
            drift: state.drift,
            count: state.count,
            row: RowEntries::new(features.numbers()),
            features,
            dispersion: state.dispersion,
            prior: PriorCenter { scale: state.prior_scale, intercept_mean: mean },
            warm_up: state.warm_up,
            members,
            belief,
            keeps_all: false,
        })
    }
}
