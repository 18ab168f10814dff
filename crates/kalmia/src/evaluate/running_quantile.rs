//! A running quantile in constant memory: the constant predictor of families whose loss is not
//! least at the mean.

use crate::error::{Result, require};
use serde::{Deserialize, Serialize};

/// Markers of the estimate: the ends, the quantile, and one between it and each end.
const MARKERS: usize = 5;

/// The P² estimate (Jain and Chlamtac 1985): five markers whose heights follow the rows by
/// parabolic interpolation. The first five values are kept as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunningQuantile {
    level: f64,
    rows: u64,
    heights: [f64; MARKERS],
    positions: [f64; MARKERS],
}

impl RunningQuantile {
    pub fn new(level: f64) -> Self {
        Self { level, rows: 0, heights: [0.0; MARKERS], positions: [1.0, 2.0, 3.0, 4.0, 5.0] }
    }

    /// Refuses a restored value that no rows can give.
    pub fn check(&self) -> Result<()> {
        for value in self.heights.into_iter().chain(self.positions) {
            require(value.is_finite(), "running quantile", value, "must be finite")?;
        }
        let level = self.level;
        require(level > 0.0 && level < 1.0, "level", level, "must lie strictly between 0 and 1")
    }

    /// The estimate; `None` before the first row.
    pub fn value(&self) -> Option<f64> {
        if self.rows >= MARKERS as u64 {
            return Some(self.heights[2]);
        }
        let seen = self.rows as usize;
        let last = seen.checked_sub(1)?;
        Some(self.heights[(self.level * last as f64).round() as usize])
    }

    /// Adds a value.
    pub fn add(&mut self, y: f64) {
        let seen = self.rows as usize;
        self.rows += 1;
        if seen < MARKERS {
            self.heights[seen] = y;
            self.heights[..=seen].sort_by(f64::total_cmp);
            return;
        }
        let heights = &mut self.heights;
        heights[0] = heights[0].min(y);
        heights[4] = heights[4].max(y);
        // markers above the value move up by one place
        let cell = (1..4).rev().find(|&i| y >= heights[i]).unwrap_or(0);
        for position in &mut self.positions[cell + 1..] {
            *position += 1.0;
        }
        for i in 1..4 {
            self.adjust(i);
        }
    }

    /// Moves marker `i` by one place if it is that far from where it should be.
    fn adjust(&mut self, i: usize) {
        let shares = [0.0, 0.5 * self.level, self.level, 0.5 * (1.0 + self.level), 1.0];
        let wanted = 1.0 + (self.rows as f64 - 1.0) * shares[i];
        let away = wanted - self.positions[i];
        let [before, at, after] = [i - 1, i, i + 1].map(|k| self.positions[k]);
        let free = (away >= 1.0 && after - at > 1.0) || (away <= -1.0 && at - before > 1.0);
        if !free {
            return;
        }
        let step = away.signum();
        let [low, height, high] = [i - 1, i, i + 1].map(|k| self.heights[k]);
        let up = (at - before + step) * (high - height) / (after - at);
        let down = (after - at - step) * (height - low) / (at - before);
        let parabola = height + step / (after - before) * (up + down);
        let next = if step > 0.0 { i + 1 } else { i - 1 };
        let line = height + step * (self.heights[next] - height) / (self.positions[next] - at);
        // NaN, from values whose difference overflows, takes the line
        let ordered = low < parabola && parabola < high;
        self.heights[i] = if ordered { parabola } else { line };
        self.positions[i] += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn it_is_near_the_quantile_of_all_rows() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for level in [0.05, 0.5, 0.9] {
            let mut running = RunningQuantile::new(level);
            let values: Vec<f64> = (0..20_000).map(|_| -rng.random::<f64>().ln()).collect();
            values.iter().for_each(|y| running.add(*y));
            let below = values.iter().filter(|y| **y < running.value().unwrap()).count();
            let share = below as f64 / values.len() as f64;
            assert!((share - level).abs() < 0.01, "{level}: {share}");
        }
    }

    #[test]
    fn few_and_equal_rows_have_one_too() {
        let mut running = RunningQuantile::new(0.9);
        assert_eq!(running.value(), None);
        for (y, expected) in [(3.0, 3.0), (1.0, 3.0), (2.0, 3.0)] {
            running.add(y);
            assert_eq!(running.value(), Some(expected));
        }
        let mut constant = RunningQuantile::new(0.3);
        (0..100).for_each(|_| constant.add(7.0));
        assert_eq!(constant.value(), Some(7.0));
    }
}
