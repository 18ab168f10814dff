//! Sums over the last half of the rows of a stream whose length nobody knows beforehand.

use serde::{Deserialize, Serialize};

/// Running sums; the difference of two is that of the rows between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    /// Rows seen.
    pub rows: u64,
    /// Total weight of the rows judged.
    pub weight: f64,
    /// Rows judged that have weight.
    pub judged: u64,
    pub loss: f64,
    pub constant_loss: f64,
    /// $\sum w(y-\mu)^2/V(\mu)$.
    pub pearson: f64,
    /// Weight of the rows whose interval was judged.
    pub interval_weight: f64,
    pub covered: f64,
}

impl Sums {
    /// The sums of the rows after `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            rows: self.rows - earlier.rows,
            weight: self.weight - earlier.weight,
            judged: self.judged - earlier.judged,
            loss: self.loss - earlier.loss,
            constant_loss: self.constant_loss - earlier.constant_loss,
            pearson: self.pearson - earlier.pearson,
            interval_weight: self.interval_weight - earlier.interval_weight,
            covered: self.covered - earlier.covered,
        }
    }
}

/// The sums at some earlier rows: eight per doubling, and only those that may still begin the last
/// half. So the last half is at most an eighth too long, in constant memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Window {
    /// The row after which the sums are kept next.
    next: u64,
    /// In the order of their rows. Empty if sums were not kept from the first row on.
    marks: Vec<Sums>,
}

impl Window {
    /// For a stream that starts now.
    pub fn new() -> Self {
        Self { next: 1, marks: vec![Sums::default()] }
    }

    /// Whether the sums after `rows` rows are to be recorded.
    #[inline]
    pub fn is_due(&self, rows: u64) -> bool {
        rows >= self.next && !self.marks.is_empty()
    }

    /// Keeps the sums; call it if they are due.
    pub fn record(&mut self, now: Sums) {
        while self.marks.len() > 1 && self.marks[1].rows <= now.rows / 2 {
            self.marks.remove(0);
        }
        self.marks.push(now);
        self.next = now.rows + (1 << now.rows.ilog2().saturating_sub(3));
    }

    /// The sums before the last half of the rows, the first half being as long as the marks allow.
    pub fn start(&self, rows: u64) -> Option<Sums> {
        self.marks.iter().rev().find(|mark| mark.rows <= rows / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_half_is_between_a_half_and_five_eighths_in_constant_memory() {
        let mut window = Window::new();
        for rows in 1..=100_000u64 {
            let now = Sums { rows, loss: rows as f64, ..Sums::default() };
            if window.is_due(rows) {
                window.record(now);
            }
            let start = window.start(rows).unwrap();
            let share = (rows - start.rows) as f64 / rows as f64;
            assert!(rows == 1 || (0.5..=0.5625 + 1.0 / 3.0).contains(&share), "{rows}: {share}");
            assert!(rows < 16 || share <= 0.5625, "{rows}: {share}");
            assert_eq!(now.since(&start).loss, (rows - start.rows) as f64);
            assert!(window.marks.len() <= 11, "{rows}: {} marks", window.marks.len());
        }
    }

    #[test]
    fn sums_that_were_not_kept_from_the_start_give_no_window() {
        let mut window = Window::default();
        assert!(!window.is_due(1001));
        window.next = 0;
        assert_eq!(window.start(1001), None);
    }
}
