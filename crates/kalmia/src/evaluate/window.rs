//! Sums over the last half of the rows of a stream whose length nobody knows beforehand.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A product of probabilities below this is replaced by its logarithm before it underflows.
pub(super) const MIN_PRODUCT: f64 = 1e-280;

/// The sums of some rows in succession.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    /// Rows seen.
    pub rows: u64,
    /// Rows judged that have weight.
    pub judged: u64,
    /// Total weight of the rows judged.
    pub weight: f64,
    pub loss: f64,
    constant_loss: f64,
    /// Product of probabilities whose logarithm `constant_loss` does not yet contain.
    chances: f64,
    /// $\sum w(y-\mu)^2/V(\mu)$.
    pub pearson: f64,
    /// Weight of the rows whose interval was judged.
    pub interval_weight: f64,
    pub covered: f64,
    /// Weight of the rows whose target is at most its predicted quantile.
    #[serde(default)]
    pub below: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            rows: 0,
            judged: 0,
            weight: 0.0,
            loss: 0.0,
            constant_loss: 0.0,
            chances: 1.0,
            pearson: 0.0,
            interval_weight: 0.0,
            covered: 0.0,
            below: 0.0,
        }
    }
}

impl Sums {
    /// Adds a loss of the constant predictor.
    pub fn add_constant(&mut self, loss: f64) {
        self.constant_loss += loss;
    }

    /// Adds the loss $-\ln p$ of the constant predictor; one logarithm per some hundred rows.
    pub fn add_chance(&mut self, p: f64) {
        self.chances *= p;
        if self.chances < MIN_PRODUCT {
            self.constant_loss -= self.chances.ln();
            self.chances = 1.0;
        }
    }

    /// Total loss of the constant predictor.
    pub fn constant_loss(&self) -> f64 {
        self.constant_loss - self.chances.ln()
    }

    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.judged += other.judged;
        self.weight += other.weight;
        self.loss += other.loss;
        self.constant_loss += other.constant_loss();
        self.pearson += other.pearson;
        self.interval_weight += other.interval_weight;
        self.covered += other.covered;
        self.below += other.below;
    }
}

/// The rows in segments, eight per doubling, without those that cannot belong to the last half any
/// more. So the last half is at most an eighth too long, in constant memory. Differences of running
/// sums would need less, but the first rows may cost more than an `f64` can subtract again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Window {
    /// Rows before the first segment; `None` if rows were not counted from the first one on.
    start: Option<u64>,
    /// The row after which the present segment ends.
    next: u64,
    segments: Vec<Sums>,
    /// The present segment.
    pub current: Sums,
    /// Whether it is made of the last halves of several streams.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    merged: bool,
}

/// The last half.
pub(super) struct Late {
    /// Rows before it.
    pub start: u64,
    pub sums: Sums,
    /// Whether it is that of several streams.
    pub merged: bool,
}

impl Window {
    /// For a stream that starts now.
    pub fn new() -> Self {
        Self { start: Some(0), next: 1, ..Self::default() }
    }

    /// Checks a restored value of `rows` rows.
    pub fn check(&self, rows: u64) -> Result<()> {
        let Some(start) = self.start else { return Ok(()) };
        let mut all = self.segments.iter().chain([&self.current]);
        let counted = all.clone().fold(start, |sum, segment| sum.saturating_add(segment.rows));
        if counted != rows || !all.all(|sums| sums.rows >= sums.judged) {
            return Err(Error::State(format!("the last half of {rows} rows counts {counted}")));
        }
        Ok(())
    }

    /// Ends the present segment, if it is its time after `rows` rows.
    #[inline]
    pub fn advance(&mut self, rows: u64) {
        if rows >= self.next {
            self.close(rows);
        }
    }

    fn close(&mut self, rows: u64) {
        self.segments.push(std::mem::take(&mut self.current));
        self.next = rows + (1 << rows.ilog2().saturating_sub(3));
        let Some(start) = &mut self.start else {
            self.segments.clear();
            return;
        };
        while self.segments.first().is_some_and(|first| *start + first.rows <= rows / 2) {
            *start += self.segments.remove(0).rows;
        }
    }

    /// The last halves of two streams as that of one, each with its number of rows.
    pub fn merged(&self, rows: u64, other: &Self, other_rows: u64) -> Self {
        let (Some(own), Some(others)) = (self.late(rows), other.late(other_rows)) else {
            return Self::default();
        };
        let mut sums = own.sums;
        sums.add(&others.sums);
        let all = rows + other_rows;
        let step = 1 << all.max(1).ilog2().saturating_sub(3);
        Self {
            start: Some(own.start + others.start),
            next: all + step,
            segments: vec![sums],
            current: Sums::default(),
            merged: true,
        }
    }

    /// The last half of `rows` rows, the first half being as long as the segments allow.
    pub fn late(&self, rows: u64) -> Option<Late> {
        let mut start = self.start?;
        let mut sums = self.current;
        let mut segments = self.segments.iter().peekable();
        while let Some(early) = segments.next_if(|first| start + first.rows <= rows / 2) {
            start += early.rows;
        }
        segments.for_each(|segment| sums.add(segment));
        Some(Late { start, sums, merged: self.merged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_half_is_at_most_an_eighth_too_long_in_constant_memory() {
        let mut window = Window::new();
        for rows in 1..=100_000u64 {
            window.current.rows += 1;
            window.current.loss += rows as f64;
            window.advance(rows);
            let Late { start, sums, .. } = window.late(rows).unwrap();
            assert_eq!(sums.rows, rows - start);
            assert_eq!(sums.loss, (rows * (rows + 1) / 2 - start * (start + 1) / 2) as f64);
            let share = sums.rows as f64 / rows as f64;
            assert!(share >= 0.5 && (rows < 16 || share <= 0.5625), "{rows}: {share}");
            assert!(rows >= 16 || start == rows / 2, "{rows}: {start}");
            assert!(window.segments.len() <= 10, "{rows}: {} segments", window.segments.len());
        }
    }

    #[test]
    fn the_first_rows_may_cost_any_amount() {
        let mut window = Window::new();
        for rows in 1..=1000u64 {
            window.current.rows += 1;
            window.current.loss += if rows < 20 { 1e290 } else { 0.25 };
            window.advance(rows);
        }
        let Late { sums, .. } = window.late(1000).unwrap();
        assert_eq!(sums.loss, 0.25 * sums.rows as f64);
    }

    #[test]
    fn rows_that_were_not_counted_from_the_start_give_no_window() {
        let mut window = Window::default();
        window.current.rows += 1;
        window.advance(1001);
        assert!(window.late(1001).is_none() && window.segments.is_empty());
    }
}
