//! What a [`WideCategorical`] needs to continue, bit for bit.

use super::{Scratch, WideCategorical};
use crate::error::{Result, require, require_count};
use crate::learner::DriftMode;
use crate::learner::auto::scale::Scales;
use crate::learner::categorical::{GROW_CLASS, check_classes};
use crate::learner::wide::assumption::class_lanes;
use crate::learner::wide::member::{Member, Members};
use crate::learner::wide::row::RowEntries;
use crate::learner::wide::stored::{BeliefState, FeatureState};
use crate::learner::wide::warm_up::WarmUpRows;
use serde::{Deserialize, Serialize};

/// The state of a [`WideCategorical`], to be stored and restored. It holds the features seen and
/// nothing of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WideCategoricalState {
    /// A belief per class.
    beliefs: Vec<BeliefState>,
    drift: DriftMode,
    count: u64,
    scales: Scales,
    warm_up: Option<WarmUpRows>,
    members: Vec<Member>,
    features: FeatureState,
}

impl WideCategorical {
    /// The state, to be stored.
    pub fn state(&self) -> WideCategoricalState {
        WideCategoricalState {
            drift: self.drift,
            count: self.count,
            scales: self.features.scales.clone(),
            warm_up: self.warm_up.clone(),
            members: self.members.all.clone(),
            features: FeatureState::of(&self.features),
            beliefs: self.beliefs.iter().map(BeliefState::of).collect(),
        }
    }

    /// A learner that continues from a state. A limit on the features is no part of it: what fits
    /// depends on the machine, so give it again by [`set_limit`](Self::set_limit).
    pub fn restore(state: WideCategoricalState) -> Result<Self> {
        let classes = state.beliefs.len();
        require(classes > 0, "classes", classes as f64, "must be at least 1")?;
        let members = Members::restore(state.members)?;
        let lanes = members.lanes();
        let most = class_lanes(classes);
        let legal = lanes == most || (state.warm_up.is_none() && lanes < most);
        require(legal, "members", lanes as f64, "must suit the number of classes")?;
        require_count("rows", state.count)?;
        if let Some(rows) = &state.warm_up {
            rows.with_rows(|rows| {
                rows.features().check(u64::MAX)?;
                check_classes(&rows.observations(), classes, GROW_CLASS)
            })?;
        }
        let features = state.features.restore(state.scales)?;
        let beliefs = state.beliefs.iter().map(|belief| belief.restore(&features, lanes));
        Ok(Self {
            drift: state.drift,
            count: state.count,
            warm_up: state.warm_up,
            members,
            beliefs: beliefs.collect::<Result<_>>()?,
            row: RowEntries::new(features.numbers()),
            scratch: Scratch::default(),
            features,
        })
    }
}
