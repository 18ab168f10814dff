//! Choices that a [`WideCategorical`] takes before its first row.

use super::WideCategorical;
use crate::error::{Result, require};
use crate::learner::DriftMode;
use crate::learner::wide::settings::WideSettings;

/// Builds a [`WideCategorical`]; made by [`WideCategorical::builder`].
///
/// ```
/// use kalmia::WideCategorical;
///
/// // Features 0 to 2 are the constant and two numbers; all others are sparse.
/// let learner = WideCategorical::builder(4).intercept().numbers(2).limit(1_000_000).build()?;
/// assert_eq!((learner.classes(), learner.dim()), (4, 3));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct WideCategoricalBuilder {
    classes: usize,
    settings: WideSettings,
}

impl WideCategoricalBuilder {
    pub(super) fn new(classes: usize) -> Self {
        Self { classes, settings: WideSettings::default() }
    }

    /// Feature 0 is the constant 1, and its coefficients are not shrunk. Rows must list it.
    pub fn intercept(self) -> Self {
        self.with_intercept(true)
    }

    /// As [`intercept`](Self::intercept), if `intercept` is true.
    pub fn with_intercept(mut self, intercept: bool) -> Self {
        self.settings.intercept = intercept;
        self
    }

    /// The first `numbers` features, after the constant if there is one, are numbers: they are
    /// centered (with an intercept), scaled by the first rows and kept in the core. The cost per
    /// row and class grows with the square of their number.
    pub fn numbers(mut self, numbers: usize) -> Self {
        self.settings.numbers = numbers;
        self
    }

    /// Whether the coefficients may move; off by default. With another mode a member whose
    /// variances grow between the rows of a feature takes part; the weights decide how much it
    /// counts, so [`DriftMode::Adapt`] and [`DriftMode::Detect`] are the same here.
    pub fn drift(mut self, drift: DriftMode) -> Self {
        self.settings.drift = drift;
        self
    }

    /// Most features; a batch with more is refused with
    /// [`TooManyFeatures`](crate::Error::TooManyFeatures). By default memory is the limit.
    pub fn limit(mut self, features: usize) -> Self {
        self.settings.limit = features;
        self
    }

    /// Features besides the numbers that share a covariance, 32 by default. The cost per row and
    /// class grows with the square.
    pub fn core(mut self, features: usize) -> Self {
        self.settings.core = features;
        self
    }

    /// The untrained learner.
    pub fn build(self) -> Result<WideCategorical> {
        require(self.classes > 0, "classes", self.classes as f64, "must be at least 1")?;
        WideCategorical::untrained(self.classes, self.settings.features()?, self.settings.drift)
    }
}
