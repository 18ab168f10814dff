//! When a replicate was last outside each ball about $\theta^*$, and what follows over replicates.

use crate::lanes::V;
use crate::statistics::{largest, smallest};

/// The last time at which each of eight replicates was outside each ball; 0 if never.
#[derive(Debug, Clone)]
pub(super) struct Exits {
    squares: Vec<f64>,
    /// One per radius.
    pub last: Vec<V>,
}

impl Exits {
    /// For balls of these radii.
    pub fn new(radii: &[f64]) -> Self {
        Self { squares: radii.iter().map(|r| r * r).collect(), last: vec![V::ZERO; radii.len()] }
    }

    /// Squared distances at the times `first`, `first + 1`, ...
    #[inline(always)]
    pub fn add(&mut self, distances: &[V], first: u64) {
        // Loops, not adapters: what is not inlined here is compiled without vectors.
        let mut farthest = V::ZERO;
        let mut sum = V::ZERO;
        for &distance in distances {
            farthest = farthest.max(distance);
            sum += distance;
        }
        // `max` may lose a NaN, the sum keeps it. A NaN counts as outside.
        let numbers = sum.0.iter().all(|v| !v.is_nan());
        for (&square, last) in self.squares.iter().zip(&mut self.last) {
            if numbers && farthest.0.iter().all(|&v| v <= square) {
                continue;
            }
            let radius = V::splat(square);
            let mut t = V::splat(first as f64);
            for &distance in distances {
                *last = (radius - distance).select(*last, t);
                t += V::ONE;
            }
        }
    }
}

/// The smallest value that at most a share `above` of the replicates exceeds.
///
/// With 100 replicates and a share of 0.05 it is the sixth largest: five may be larger. NaN if a
/// value is NaN.
pub(crate) fn upper_quantile(values: &[f64], above: f64) -> f64 {
    if values.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The slack makes 3 * 0.05 * 20 three, whatever its rounding.
    let may_exceed = (above * sorted.len() as f64 + 1e-9).floor() as usize;
    sorted[sorted.len().saturating_sub(1 + may_exceed)]
}

/// Mean over replicates. Rounding must not carry it past the largest or the smallest value.
pub(crate) fn mean_within(values: &[f64]) -> f64 {
    let mean = crate::statistics::mean(values);
    let low = smallest(values.iter().copied());
    let high = largest(values.iter().copied());
    if mean < low {
        low
    } else if mean > high {
        high
    } else {
        mean
    }
}

/// A measured convergence time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredTau {
    /// The smallest number of rows after which at most a share $\delta$ of the replicates leaves
    /// the ball again; `None` if more are still outside at the end of the run.
    pub tau: Option<u64>,
    /// Rows of the run.
    pub rows: u64,
}

impl MeasuredTau {
    /// From the last times outside of all replicates, over `rows` rows.
    pub(super) fn new(last_outside: &[f64], delta: f64, rows: u64) -> Self {
        let last = upper_quantile(last_outside, delta);
        // A replicate that is outside at the last row may stay there.
        Self { tau: (last < rows as f64).then_some(last as u64), rows }
    }
}

impl std::fmt::Display for MeasuredTau {
    /// `31623`, or `> 1000000` if the run was too short.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tau {
            Some(tau) => write!(f, "{tau}"),
            None => write!(f, "> {}", self.rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_lets_the_share_exceed_and_no_more() {
        let values: Vec<f64> = (1..=100).map(f64::from).rev().collect();
        for (above, expected) in
            [(0.05, 95.0), (0.0, 100.0), (3.0 * 0.05, 85.0), (6.0 * 0.05, 70.0)]
        {
            let got = upper_quantile(&values, above);
            assert_eq!(got, expected);
            assert!(values.iter().filter(|&&v| v > got).count() as f64 <= above * 100.0 + 1e-9);
        }
        assert_eq!(upper_quantile(&[3.0, 1.0], 0.9), 1.0);
        assert!(upper_quantile(&[1.0, f64::NAN, 2.0], 0.5).is_nan());
    }

    #[test]
    fn mean_stays_within_the_values() {
        let value = 0.692_5;
        assert_eq!(mean_within(&[value; 100]), value);
        assert_eq!(mean_within(&[1.0, 2.0, 6.0]), 3.0);
        assert!(mean_within(&[1.0, f64::NAN]).is_nan());
    }

    #[test]
    fn last_exit_is_exact_and_nan_is_outside() {
        let mut exits = Exits::new(&[1.0, 0.5]);
        let distances = [4.0, 0.2, 1.1, 0.26, 0.1].map(V::splat);
        exits.add(&distances[..2], 1);
        exits.add(&distances[2..], 3);
        assert_eq!([exits.last[0].0[0], exits.last[1].0[7]], [3.0, 4.0]);
        exits.add(&[V::splat(0.1), V::splat(f64::NAN), V::splat(0.0)], 6);
        assert_eq!([exits.last[0].0[0], exits.last[1].0[7]], [7.0, 7.0]);
        let measured = MeasuredTau::new(&[3.0, 4.0, 9.0], 0.34, 9);
        assert_eq!((measured.tau, measured.to_string()), (Some(4), "4".into()));
        assert_eq!(MeasuredTau::new(&[3.0, 4.0, 9.0], 0.2, 9).to_string(), "> 9");
    }
}
