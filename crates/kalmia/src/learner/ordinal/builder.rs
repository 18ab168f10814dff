//! Choices that an [`Ordinal`] takes before its first row.

use super::Ordinal;
use super::layout::Layout;
use crate::error::{Result, require};

/// Builds an [`Ordinal`]; made by [`Ordinal::builder`].
///
/// ```
/// use kalmia::Ordinal;
///
/// let learner = Ordinal::builder(5, 3).build()?;
/// assert_eq!((learner.levels(), learner.dim()), (5, 3));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct OrdinalBuilder {
    layout: Layout,
}

impl OrdinalBuilder {
    pub(super) fn new(levels: usize, dim: usize) -> Self {
        Self { layout: Layout { levels, dim, constant: false } }
    }

    /// Feature 0 is the constant 1. It gets no coefficient, because the cutpoints are the
    /// intercepts; rows that have one for other learners need not change.
    pub fn intercept(self) -> Self {
        self.with_intercept(true)
    }

    /// As [`intercept`](Self::intercept), if `intercept` is true.
    pub fn with_intercept(mut self, intercept: bool) -> Self {
        self.layout.constant = intercept;
        self
    }

    /// The untrained learner.
    pub fn build(self) -> Result<Ordinal> {
        let Layout { levels, dim, .. } = self.layout;
        require(levels > 1, "levels", levels as f64, "must be at least 2")?;
        require(dim > 0, "dim", dim as f64, "must be at least 1")?;
        Ordinal::untrained(self.layout)
    }
}
