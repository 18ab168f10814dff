//! Whether the rows are sorted by their target, which spoils what is learned in one pass.

use crate::error::{Error, Result, require_count};
use crate::observe::{Observer, RowView};
use serde::{Deserialize, Serialize};

/// Standard deviations that chance must be away from: a probability of 1e-9.
const MIN_DEVIATIONS: f64 = 6.0;
/// Labels have fewer runs than this share of the runs of shuffled rows.
const MAX_RUNS: f64 = 0.1;
/// Squared steps from row to row are less than this share of those of shuffled rows.
const MAX_STEPS: f64 = 0.05;
/// The share of the steps that go the same way.
const MIN_SAME_WAY: f64 = 0.95;

/// Running sums that tell sorted targets from others, in constant memory.
///
/// Labels are sorted if they have far fewer *runs* (stretches of equal labels) than shuffled rows:
/// less than a tenth of the expected number, and by the test of Wald and Wolfowitz more than six
/// standard deviations below it. Numbers are sorted if they move in small steps, nearly all in one
/// direction: $\sum(y_t-y_{t-1})^2$ below 5 % of $2\sum(y-\bar y)^2$, its value for shuffled rows
/// (von Neumann's ratio), and 95 % of the steps up, or 95 % down. A time series moves both ways, so
/// it does not count as sorted, unless it has a trend without noise.
///
/// Rows of weight 0 are left out.
///
/// ```
/// use kalmia::evaluate::Order;
/// let mut sorted = Order::default();
/// let mut mixed = Order::default();
/// for row in 0..200 {
///     sorted.count(f64::from(row >= 90));
///     mixed.count(f64::from(row * 7 % 10 < 4));
/// }
/// assert!(sorted.is_sorted(true) && !mixed.is_sorted(true));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Order {
    rows: u64,
    first: f64,
    previous: f64,
    /// $\sum(y-y_1)$, from the first value, so that a large mean costs no precision.
    sum: f64,
    /// $\sum(y-y_1)^2$.
    squares: f64,
    /// $\sum(y_t-y_{t-1})^2$.
    steps: f64,
    ups: u64,
    downs: u64,
}

impl Order {
    /// Checks a restored value.
    pub(super) fn check(&self) -> Result<()> {
        for count in [self.rows, self.ups, self.downs] {
            require_count("rows", count)?;
        }
        let steps = self.ups + self.downs;
        let message = || format!("{steps} steps between {} rows", self.rows);
        if steps > self.rows { Err(Error::State(message())) } else { Ok(()) }
    }

    /// Counts the next target.
    #[inline]
    pub fn count(&mut self, y: f64) {
        if self.rows == 0 {
            self.first = y;
            self.previous = y;
        }
        let step = y - self.previous;
        let distance = y - self.first;
        self.rows += 1;
        self.sum += distance;
        self.squares += distance * distance;
        self.steps += step * step;
        self.ups += u64::from(step > 0.0);
        self.downs += u64::from(step < 0.0);
        self.previous = y;
    }

    /// Whether the rows seem sorted by the target; `labels` says that it has two values.
    pub fn is_sorted(&self, labels: bool) -> bool {
        let n = self.rows as f64;
        // the sum of squares about the mean; for labels also n0 n1 / n
        let spread = self.squares - self.sum * self.sum / n;
        if labels {
            let runs = (self.ups + self.downs + 1) as f64;
            let expected = 1.0 + 2.0 * spread;
            let deviation = ((expected - 1.0) * (expected - 2.0) / (n - 1.0)).sqrt();
            return runs < MAX_RUNS * expected && expected - runs > MIN_DEVIATIONS * deviation;
        }
        let ratio = self.steps / (2.0 * spread);
        let same_way = self.ups.max(self.downs) as f64;
        ratio < MAX_STEPS
            && (1.0 - ratio) * n.sqrt() > MIN_DEVIATIONS
            && same_way >= MIN_SAME_WAY * (self.ups + self.downs) as f64
    }
}

impl Observer for Order {
    fn row(&mut self, row: &RowView<'_>) {
        if row.observation.weight > 0.0 {
            self.count(row.observation.y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn order(targets: &[f64]) -> Order {
        let mut order = Order::default();
        targets.iter().for_each(|&y| order.count(y));
        order
    }

    fn normal(rng: &mut impl Rng) -> f64 {
        rng.sample(rand_distr::StandardNormal)
    }

    #[test]
    fn sorted_targets_are_found_with_ties_in_both_directions_and_in_several_files() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for n in [60, 500, 5000] {
            let mut numbers: Vec<f64> = (0..n).map(|_| 300.0 + normal(&mut rng)).collect();
            numbers.sort_by(f64::total_cmp);
            assert!(order(&numbers).is_sorted(false), "{n}");
            numbers.reverse();
            assert!(order(&numbers).is_sorted(false), "{n}");
            let counts: Vec<f64> = numbers.iter().map(|y| (301.0 - y).floor().max(0.0)).collect();
            assert!(order(&counts).is_sorted(false), "{n}");
            let labels: Vec<f64> = (0..n).map(|i| f64::from(5 * i < n)).collect();
            assert!(order(&labels).is_sorted(true), "{n}");
            let files = [&labels[..], &labels, &labels].concat();
            assert!(order(&files).is_sorted(true) || n < 100, "{n}");
        }
        // three classes in turn, one against the rest: the middle one has three runs
        let middle: Vec<f64> = (0..120).map(|i| f64::from((40..80).contains(&i))).collect();
        assert!(order(&middle).is_sorted(true));
    }

    #[test]
    fn shuffled_rows_and_time_series_are_not_sorted() {
        for seed in 0..300 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            for n in [1, 2, 3, 10, 50, 1000] {
                let share = [0.5, 0.1, 0.01][seed as usize % 3];
                let labels: Vec<f64> =
                    (0..n).map(|_| f64::from(rng.random::<f64>() < share)).collect();
                assert!(!order(&labels).is_sorted(true), "labels {seed} {n}");
                let mut noise = |_| normal(&mut rng);
                let numbers: Vec<f64> = (0..n).map(&mut noise).collect();
                assert!(!order(&numbers).is_sorted(false), "{seed} {n}");
                let heavy: Vec<f64> = numbers.iter().map(|z| z.powi(9)).collect();
                assert!(!order(&heavy).is_sorted(false), "heavy tails {seed} {n}");
                // a random walk, and labels that last for 8 rows on average
                let mut level = 0.0;
                let mut label = 0.0;
                let mut walk = Order::default();
                let mut lasting = Order::default();
                for z in &numbers {
                    level += z;
                    label = if z.abs() > 1.534 { 1.0 - label } else { label };
                    walk.count(level);
                    lasting.count(label);
                }
                assert!(!walk.is_sorted(false), "walk {seed} {n}");
                assert!(n < 1000 || !lasting.is_sorted(true), "lasting labels {seed}");
            }
        }
        assert!(!order(&[4.0; 500]).is_sorted(false) && !order(&[1.0; 500]).is_sorted(true));
        // one event at the end of many rows is chance
        let rare: Vec<f64> = (0..5000).map(|i| f64::from(i == 4999)).collect();
        assert!(!order(&rare).is_sorted(true) && !order(&rare).is_sorted(false));
    }
}
