//! The choices that learners of sparse rows share, whatever the target is.

use super::features::Features;
use crate::error::{Result, require};
use crate::learner::DriftMode;
use crate::learner::auto::scale::Scales;

/// Most features of a learner without a limit.
pub(super) const NO_LIMIT: usize = u32::MAX as usize;

/// Features besides the numbers that share a covariance, unless the builder says otherwise. A
/// larger core predicts hardly better on text, and its cost grows with the square.
const CORE_FEATURES: usize = 32;

/// Largest core, the numbers included: its cost per row and its memory grow with the square.
const MAX_CORE: usize = 4096;

/// Refuses a core of more features, the numbers included.
pub(super) fn check_core(features: usize) -> Result<()> {
    require(
        features <= MAX_CORE,
        "core",
        features as f64,
        "must be at most 4096 with the numbers: the cost per row grows with the square",
    )
}

/// What both builders set; their setters describe the fields.
#[derive(Debug, Clone)]
pub(super) struct WideSettings {
    pub intercept: bool,
    pub numbers: usize,
    pub drift: DriftMode,
    pub limit: usize,
    pub core: usize,
}

impl Default for WideSettings {
    fn default() -> Self {
        Self {
            intercept: false,
            numbers: 0,
            drift: DriftMode::Off,
            limit: NO_LIMIT,
            core: CORE_FEATURES,
        }
    }
}

impl WideSettings {
    /// The features of an untrained learner. Refuses a core that is too large.
    pub fn features(&self) -> Result<Features> {
        let numbers = self.numbers.saturating_add(usize::from(self.intercept));
        check_core(numbers.saturating_add(self.core))?;
        Ok(Features::new(Scales::new(numbers, self.intercept), self.core, self.limit))
    }
}
