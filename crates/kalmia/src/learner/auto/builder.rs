//! Choices that an [`Auto`] takes before its first row.

use super::scale::Scales;
use super::{Auto, DriftMode, Outliers};
use crate::error::Result;
use crate::family::Family;
use crate::linalg::Threads;

/// Builds an [`Auto`]; made by [`Auto::builder`].
///
/// ```
/// use kalmia::{Auto, DriftMode, Gaussian};
///
/// let auto = Auto::builder(Gaussian::default(), 3).intercept().drift(DriftMode::Detect).build()?;
/// assert_eq!(auto.weights().len(), 6); // one for each size of the prior
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct AutoBuilder<F> {
    family: F,
    dim: usize,
    intercept: bool,
    drift: DriftMode,
    outliers: Outliers,
    threads: Threads,
}

impl<F: Family> AutoBuilder<F> {
    pub(super) fn new(family: F, dim: usize) -> Self {
        Self {
            family,
            dim,
            intercept: false,
            drift: DriftMode::Off,
            outliers: Outliers::Keep,
            threads: Threads::all(),
        }
    }

    /// Feature 0 is the constant 1, and its coefficient is not shrunk. With normal noise, shifting
    /// or scaling `y` then changes predictions by just that, from the second row on. From
    /// the eighth row on members have a prior of centered features, so a feature far from 0 (a
    /// year) is learned as well as any other; if there is such a feature, as many members have a
    /// prior of features as they come.
    pub fn intercept(self) -> Self {
        self.with_intercept(true)
    }

    /// As [`intercept`](Self::intercept), if `intercept` is true.
    pub fn with_intercept(mut self, intercept: bool) -> Self {
        self.intercept = intercept;
        self
    }

    /// Whether the coefficients may move; off by default.
    pub fn drift(mut self, drift: DriftMode) -> Self {
        self.drift = drift;
        self
    }

    /// What a target counts that is far from its prediction; in full by default. Refused for
    /// quantiles and Student's law, which outliers hardly move.
    pub fn outliers(mut self, outliers: Outliers) -> Self {
        self.outliers = outliers;
        self
    }

    /// At most this many cores, 0 counting as 1; all of them by default. Results do not depend on
    /// it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Threads::new(threads).unwrap_or(Threads::ONE);
        self
    }

    /// The untrained learner.
    pub fn build(self) -> Result<Auto<F>> {
        self.outliers.check(&self.family)?;
        let scales = Scales::new(self.dim, self.intercept);
        let mut auto = Auto::untrained(self.family, scales, self.drift, self.threads)?;
        auto.set_outliers(self.outliers);
        Ok(auto)
    }
}
