//! Whether events predicted with probability `p` happen in a share `p` of the rows.

use crate::error::{Result, require_count, require_len};
use serde::{Deserialize, Serialize};

/// Bins of equal width over the predicted probability.
const BINS: usize = 20;

/// The rows whose predicted probability fell into one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Rows.
    pub count: u64,
    /// Their total weight.
    pub weight: f64,
    /// Weighted mean of the predicted probability.
    pub predicted: f64,
    /// Weighted share of events.
    pub observed: f64,
}

/// Weighted sums of a bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    count: u64,
    weight: f64,
    predicted: f64,
    observed: f64,
}

/// A reliability table of 20 bins of equal width.
///
/// ```
/// use kalmia::evaluate::Calibration;
/// let mut calibration = Calibration::default();
/// for y in [1.0, 0.0, 0.0, 0.0] {
///     calibration.row(y, 0.3, 1.0);
/// }
/// assert!((calibration.expected_error() - 0.05).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    bins: Vec<Sums>,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { bins: vec![Sums::default(); BINS] }
    }
}

impl Calibration {
    /// Checks a restored value.
    pub(super) fn check(&self) -> Result<()> {
        require_len("calibration", self.bins.len(), BINS)?;
        self.bins.iter().try_for_each(|bin| require_count("rows", bin.count))
    }

    /// Counts a row with target between 0 and 1 and predicted probability `p`, clamped to that
    /// range.
    pub fn row(&mut self, y: f64, p: f64, weight: f64) {
        let p = p.clamp(0.0, 1.0);
        let bin = ((p * BINS as f64) as usize).min(BINS - 1);
        let sums = &mut self.bins[bin];
        sums.count += 1;
        sums.weight += weight;
        sums.predicted += weight * p;
        sums.observed += weight * y;
    }

    /// Adds the rows of another.
    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in self.bins.iter_mut().zip(&other.bins) {
            own.count += other.count;
            own.weight += other.weight;
            own.predicted += other.predicted;
            own.observed += other.observed;
        }
    }

    /// The bins that have weight, from the lowest probability.
    pub fn bins(&self) -> Vec<ReliabilityBin> {
        let full = self.bins.iter().filter(|bin| bin.weight > 0.0);
        full.map(|bin| ReliabilityBin {
            count: bin.count,
            weight: bin.weight,
            predicted: bin.predicted / bin.weight,
            observed: bin.observed / bin.weight,
        })
        .collect()
    }

    /// The expected calibration error: the mean over rows of $|\text{predicted} - \text{observed}|$
    /// of their bin; NaN without rows.
    pub fn expected_error(&self) -> f64 {
        let gap: f64 = self.bins.iter().map(|bin| (bin.predicted - bin.observed).abs()).sum();
        gap / self.bins.iter().map(|bin| bin.weight).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rows_seen_several_times() {
        let rows = [(1.0, 0.02), (0.0, 0.04), (1.0, 0.51), (1.0, 1.0), (0.0, 0.97)];
        let mut weighted = Calibration::default();
        let mut repeated = Calibration::default();
        for (i, &(y, p)) in rows.iter().enumerate() {
            weighted.row(y, p, (i + 1) as f64);
            (0..=i).for_each(|_| repeated.row(y, p, 1.0));
        }
        let a = weighted.bins();
        let b = repeated.bins();
        assert_eq!(a.len(), 3);
        for (a, b) in a.iter().zip(&b) {
            assert!(
                (a.weight - b.weight).abs() < 1e-12 && (a.predicted - b.predicted).abs() < 1e-12
            );
            assert!((a.observed - b.observed).abs() < 1e-12);
        }
        assert_eq!(a[0].count, 2);
        assert!((a[0].observed - 1.0 / 3.0).abs() < 1e-15);
        let by_hand =
            ((0.02 + 0.08 - 1.0_f64).abs() + (1.53 - 3.0_f64).abs() + (4.0 + 4.85 - 4.0_f64).abs())
                / 15.0;
        assert!((weighted.expected_error() - by_hand).abs() < 1e-14);
    }
}
