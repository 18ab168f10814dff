//! Choices that a [`Wide`] takes before its first row.

use super::Wide;
use super::settings::WideSettings;
use crate::error::Result;
use crate::family::Family;
use crate::learner::{DriftMode, Outliers};

/// Builds a [`Wide`]; made by [`Wide::builder`].
///
/// ```
/// use kalmia::{Bernoulli, Learner, Wide};
///
/// // Features 0 to 2 are the constant and two numbers; all others are sparse.
/// let wide = Wide::builder(Bernoulli).intercept().numbers(2).limit(1_000_000).build()?;
/// assert_eq!(wide.dim(), 3);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct WideBuilder<F> {
    family: F,
    settings: WideSettings,
    outliers: Outliers,
}

impl<F: Family> WideBuilder<F> {
    pub(super) fn new(family: F) -> Self {
        Self { family, settings: WideSettings::default(), outliers: Outliers::Keep }
    }

    /// Feature 0 is the constant 1, and its coefficient is not shrunk. Rows must list it.
    pub fn intercept(self) -> Self {
        self.with_intercept(true)
    }

    /// As [`intercept`](Self::intercept), if `intercept` is true.
    pub fn with_intercept(mut self, intercept: bool) -> Self {
        self.settings.intercept = intercept;
        self
    }

    /// The first `numbers` features, after the constant if there is one, are numbers: they are
    /// centered (with an intercept), scaled by the first rows and kept in the core. A row that does
    /// not list one has the value 0. The cost per row grows with the square of their number: of
    /// very many, leave the others to the tail.
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

    /// Features besides the numbers that share a covariance, 32 by default. With 0
    /// every feature but the numbers has a variance of its own. The cost per row grows with the
    /// square.
    pub fn core(mut self, features: usize) -> Self {
        self.settings.core = features;
        self
    }

    /// What a target counts that is far from its prediction; in full by default. Refused for
    /// quantiles and Student's law, which outliers hardly move. Only for normal noise and counts:
    /// the far tail of amounts moves coefficients by several standard errors if it counts less.
    pub fn outliers(mut self, outliers: Outliers) -> Self {
        self.outliers = outliers;
        self
    }

    /// The untrained learner.
    pub fn build(self) -> Result<Wide<F>> {
        self.outliers.check(&self.family)?;
        let features = self.settings.features()?;
        let mut wide = Wide::untrained(self.family, features, self.settings.drift)?;
        wide.dispersion.downweighting = self.outliers.downweighting();
        Ok(wide)
    }
}
