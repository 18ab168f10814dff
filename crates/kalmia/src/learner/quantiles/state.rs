//! What a [`Quantiles`] needs to continue, bit for bit.

use super::Quantiles;
use crate::error::{Error, Result, require_len};
use crate::family::Quantile;
use crate::learner::{Auto, AutoState, Learner};
use serde::{Deserialize, Serialize};

/// The state of a [`Quantiles`], to be stored and restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantilesState {
    levels: Vec<AutoState<Quantile>>,
}

impl Quantiles {
    /// The state, to be stored.
    pub fn state(&self) -> QuantilesState {
        QuantilesState { levels: self.levels.iter().map(Auto::state).collect() }
    }

    /// A learner that continues from a state.
    pub fn restore(state: QuantilesState) -> Result<Self> {
        let levels = state.levels.into_iter().map(Auto::restore).collect::<Result<Vec<_>>>()?;
        Self::from_learners(levels)
    }

    /// From one learner per level, in ascending order of the levels. Refuses learners of different
    /// features or of different numbers of rows: all must have learned the same rows.
    ///
    /// ```
    /// use kalmia::learner::Quantiles;
    /// let both = Quantiles::builder(&[0.1, 0.9], 2).build()?;
    /// let again = Quantiles::from_learners(both.learners().to_vec())?;
    /// assert_eq!(again.levels(), [0.1, 0.9]);
    /// let mut turned = both.learners().to_vec();
    /// turned.reverse();
    /// assert!(Quantiles::from_learners(turned).is_err());
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn from_learners(levels: Vec<Auto<Quantile>>) -> Result<Self> {
        let Some(first) = levels.first() else {
            return Err(Error::State("there is no level".into()));
        };
        for level in &levels {
            require_len("features of a level", level.dim(), first.dim())?;
            if level.count() != first.count() {
                return Err(Error::State("the levels have learned different rows".into()));
            }
        }
        let learner = Self { levels };
        if !learner.levels().windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(Error::State("the levels are not in ascending order".into()));
        }
        Ok(learner)
    }

    /// The learner of each level, as [`from_learners`](Self::from_learners) takes them.
    pub fn into_learners(self) -> Vec<Auto<Quantile>> {
        self.levels
    }
}
