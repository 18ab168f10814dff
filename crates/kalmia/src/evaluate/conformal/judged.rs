//! Coverage and width of the 95 % intervals, the conformal ones and the model's own.

use super::score_scale::{ScoreScale, model_quantile};
use crate::error::{Error, Result, require};
use crate::family::AnyFamily;
use crate::predict::Interval;
use serde::{Deserialize, Serialize};

/// Sums over the rows after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// The scores at the ends of the model's own interval.
    model_lower: f64,
    model_upper: f64,
    rows: u64,
    covered: u64,
    width: f64,
    model_covered: u64,
    model_width: f64,
}

/// Coverage and mean width of 95 % intervals, each made before its row was learned; NaN before the
/// 33rd row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConformalReport {
    /// Rows judged: all but the first 32.
    pub rows: u64,
    /// Share of rows inside the conformal interval.
    pub covered: f64,
    /// Its mean width.
    pub width: f64,
    /// Share of rows inside the model's own interval, at its mean and variance.
    pub model_covered: f64,
    /// Its mean width.
    pub model_width: f64,
}

impl Judged {
    /// Before the first row; `tail` of the targets lie beyond each end.
    pub fn new(family: &AnyFamily, tail: f64) -> Self {
        Self {
            model_lower: model_quantile(family, tail),
            model_upper: model_quantile(family, 1.0 - tail),
            rows: 0,
            covered: 0,
            width: 0.0,
            model_covered: 0,
            model_width: 0.0,
        }
    }

    /// Counts a row, with the scores at the ends of its conformal interval. Intervals without end,
    /// of rows before anything is known, are left out.
    pub fn row(&mut self, scale: &ScoreScale, y: f64, ends: Interval) {
        let conformal = scale.interval(ends.lower, ends.upper);
        let model = scale.interval(self.model_lower, self.model_upper);
        let width = |interval: &Interval| interval.upper - interval.lower;
        let inside = |interval: &Interval| u64::from(interval.lower <= y && y <= interval.upper);
        let sums = [self.width + width(&conformal), self.model_width + width(&model)];
        if !sums.iter().all(|sum| sum.is_finite()) {
            return;
        }
        [self.width, self.model_width] = sums;
        self.rows += 1;
        self.covered += inside(&conformal);
        self.model_covered += inside(&model);
    }

    pub fn report(&self) -> ConformalReport {
        let mean = |sum: f64| sum / self.rows as f64;
        ConformalReport {
            rows: self.rows,
            covered: mean(self.covered as f64),
            width: mean(self.width),
            model_covered: mean(self.model_covered as f64),
            model_width: mean(self.model_width),
        }
    }

    /// Of the rows of both.
    pub fn merged(&self, other: &Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            covered: self.covered + other.covered,
            width: self.width + other.width,
            model_covered: self.model_covered + other.model_covered,
            model_width: self.model_width + other.model_width,
            ..*self
        }
    }

    /// Refuses a restored value that no rows can give.
    pub fn check(&self, rows: u64) -> Result<()> {
        if self.covered.max(self.model_covered) > self.rows || self.rows > rows {
            return Err(Error::State("more conformal intervals held than were judged".into()));
        }
        require(
            self.model_lower.is_finite() && self.model_lower < self.model_upper,
            "lower end",
            self.model_lower,
            "must be finite and below the upper end",
        )?;
        for sum in [self.width, self.model_width, self.model_upper] {
            require(sum.is_finite(), "width of intervals", sum, "must be finite")?;
        }
        Ok(())
    }
}
