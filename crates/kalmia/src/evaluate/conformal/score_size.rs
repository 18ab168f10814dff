//! The running size of scores.

use super::threshold::MAX_THRESHOLD;
use crate::error::{Result, require};
use serde::{Deserialize, Serialize};

/// Rows whose mean is taken, before the median is followed.
pub(super) const FIRST_ROWS: u32 = 32;
/// Factor of a step.
const FACTOR: f64 = 1.02;
/// Rows in a run on one side after which the size is that of the last row: by chance that happens
/// once in 65536 rows, after a change at once.
const MAX_RUN: i32 = 16;
/// Smallest size, so that steps by factors never end at 0.
const MIN_SIZE: f64 = 1e-100;

/// About the median distance of the scores from their center, in recent rows. It moves by a
/// factor per row, so outliers do not matter and a change of any size is followed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct ScoreSize {
    size: f64,
    rows: u32,
    /// Rows in a row that were larger, or, negative, smaller.
    run: i32,
}

impl Default for ScoreSize {
    fn default() -> Self {
        Self { size: 1.0, rows: 0, run: 0 }
    }
}

impl ScoreSize {
    pub fn value(&self) -> f64 {
        self.size
    }

    /// Takes a distance, 0 or more; an infinite one is just larger.
    pub fn row(&mut self, distance: f64) {
        let distance = distance.min(MAX_THRESHOLD);
        if self.rows < FIRST_ROWS {
            self.rows += 1;
            let mean = self.size + (distance - self.size) / f64::from(self.rows);
            self.size = mean.max(MIN_SIZE);
            return;
        }
        let larger = distance > self.size;
        self.size = if larger { self.size * FACTOR } else { self.size / FACTOR };
        self.run = match larger {
            true => (self.run.max(0) + 1).min(MAX_RUN),
            false => (self.run.min(0) - 1).max(-MAX_RUN),
        };
        if self.run.abs() >= MAX_RUN && distance > 0.0 {
            self.size = distance;
            self.run = 0;
        }
        self.size = self.size.clamp(MIN_SIZE, MAX_THRESHOLD);
    }

    /// Refuses a restored value that no rows can give.
    pub fn check(&self) -> Result<()> {
        let size = self.size;
        let legal = (MIN_SIZE..=MAX_THRESHOLD).contains(&size);
        require(legal, "size of the scores", size, "must lie between 1e-100 and 1e100")?;
        let run = f64::from(self.run);
        require(run.abs() <= f64::from(MAX_RUN), "run", run, "must be at most 16")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_any_size_is_followed_at_once() {
        let mut size = ScoreSize::default();
        for scale in [1.0, 1e9, 1e-30, 3.0] {
            (0..400).for_each(|i| size.row(scale * f64::from(1 + i % 7)));
            assert!((1.0..=7.0).contains(&(size.value() / scale)), "{scale}: {}", size.value());
        }
    }

    #[test]
    fn zeros_and_infinities_leave_it_positive_and_finite() {
        let mut size = ScoreSize::default();
        (0..20_000).for_each(|_| size.row(0.0));
        assert!(size.value() >= MIN_SIZE && size.check().is_ok());
        (0..20_000).for_each(|_| size.row(f64::INFINITY));
        assert!(size.value() <= MAX_THRESHOLD && size.check().is_ok());
    }
}
