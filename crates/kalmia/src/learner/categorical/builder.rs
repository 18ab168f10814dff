//! Choices that a [`Categorical`] takes before its first row.

use super::Categorical;
use crate::error::{Result, require};
use crate::learner::auto::DriftMode;
use crate::learner::auto::scale::Scales;

/// Builds a [`Categorical`]; made by [`Categorical::builder`].
///
/// ```
/// use kalmia::Categorical;
///
/// let learner = Categorical::builder(4, 3).intercept().build()?;
/// assert_eq!((learner.classes(), learner.dim()), (4, 3));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CategoricalBuilder {
    classes: usize,
    dim: usize,
    intercept: bool,
    drift: DriftMode,
}

impl CategoricalBuilder {
    pub(super) fn new(classes: usize, dim: usize) -> Self {
        Self { classes, dim, intercept: false, drift: DriftMode::Off }
    }

    /// Feature 0 is the constant 1, and its coefficients are not shrunk. From the eighth row on
    /// members have a prior of centered features. If a feature is far from 0, as many members have
    /// a prior of features as they come.
    pub fn intercept(self) -> Self {
        self.with_intercept(true)
    }

    /// As [`intercept`](Self::intercept), if `intercept` is true.
    pub fn with_intercept(mut self, intercept: bool) -> Self {
        self.intercept = intercept;
        self
    }

    /// Whether the coefficients may move; off by default. With [`DriftMode::Detect`] each class is
    /// watched, which costs about as much per row as one label does.
    pub fn drift(mut self, drift: DriftMode) -> Self {
        self.drift = drift;
        self
    }

    /// The untrained learner.
    pub fn build(self) -> Result<Categorical> {
        require(self.classes > 0, "classes", self.classes as f64, "must be at least 1")?;
        require(self.dim > 0, "dim", self.dim as f64, "must be at least 1")?;
        Categorical::untrained(self.classes, Scales::new(self.dim, self.intercept), self.drift)
    }
}
