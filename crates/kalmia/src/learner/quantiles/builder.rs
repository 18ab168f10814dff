//! Choices that a [`Quantiles`] takes before its first row.

use super::Quantiles;
use crate::error::{Result, require};
use crate::family::Quantile;
use crate::learner::{Auto, DriftMode};

/// Builds a [`Quantiles`]; made by [`Quantiles::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct QuantilesBuilder {
    levels: Vec<f64>,
    dim: usize,
    intercept: bool,
    drift: DriftMode,
    threads: Option<usize>,
}

impl QuantilesBuilder {
    pub(super) fn new(levels: &[f64], dim: usize) -> Self {
        let levels = levels.to_vec();
        Self { levels, dim, intercept: false, drift: DriftMode::Off, threads: None }
    }

    /// Feature 0 is the constant 1, and its coefficient is not shrunk; see
    /// [`AutoBuilder::intercept`](crate::learner::AutoBuilder::intercept).
    pub fn intercept(self) -> Self {
        self.with_intercept(true)
    }

    /// As [`intercept`](Self::intercept), if `intercept` is true.
    pub fn with_intercept(mut self, intercept: bool) -> Self {
        self.intercept = intercept;
        self
    }

    /// Whether the coefficients may move; off by default. Each level decides for itself.
    pub fn drift(mut self, drift: DriftMode) -> Self {
        self.drift = drift;
        self
    }

    /// At most this many cores, 0 counting as 1; all of them by default. Results do not depend on
    /// it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The untrained learner. Refuses an empty list of levels, a level twice, and a level that is
    /// not between 1e-6 and 1 - 1e-6.
    pub fn build(mut self) -> Result<Quantiles> {
        let count = self.levels.len() as f64;
        require(count > 0.0, "number of levels", count, "must be at least 1")?;
        self.levels.sort_by(f64::total_cmp);
        if let Some(pair) = self.levels.windows(2).find(|pair| pair[0] == pair[1]) {
            require(false, "level", pair[0], "must be given only once")?;
        }
        let level = |tau: &f64| {
            let builder = Auto::builder(Quantile::new(*tau)?, self.dim)
                .with_intercept(self.intercept)
                .drift(self.drift);
            match self.threads {
                Some(threads) => builder.threads(threads).build(),
                None => builder.build(),
            }
        };
        Ok(Quantiles { levels: self.levels.iter().map(level).collect::<Result<_>>()? })
    }
}
