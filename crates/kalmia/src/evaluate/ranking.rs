//! The area under the ROC curve in bounded memory: a histogram of the scores with fine bins.

use crate::math::twice_artanh;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bins per unit of log-odds.
const BINS_PER_UNIT: f64 = 128.0;
/// Log-odds are clamped to this size; beyond it $1-p$ is below the resolution of an `f64`.
const MAX_LOG_ODDS: f64 = 37.0;

/// How well scores order events before non-events: weights of both in bins of width 1/128 of the
/// log-odds (at most 9 473 bins, whatever the number of rows).
///
/// Pairs in different bins are counted exactly and pairs in one bin as a half, so the error is at
/// most half the share of such pairs ([`Ranking::error_bound`], about $10^{-3}$ when the log-odds
/// have deviation 1) and in practice far below, since errors cancel in a bin.
///
/// ```
/// use kalmia::evaluate::Ranking;
/// let mut ranking = Ranking::default();
/// for (y, p) in [(1.0, 0.9), (0.0, 0.2), (1.0, 0.4), (0.0, 0.6)] {
///     ranking.row(y, p, 1.0);
/// }
/// assert_eq!((ranking.auc(), ranking.error_bound()), (0.75, 0.0));
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<i32, [f64; 2]>", into = "BTreeMap<i32, [f64; 2]>")]
pub struct Ranking {
    /// The weights of non-events and events in the bins of the log-odds from `first` on. Only bins
    /// near those in use are stored, so a copy is small.
    bins: Vec<[f64; 2]>,
    first: i32,
}

/// Rows whose predicted probabilities are neighbors; see [`Ranking::groups`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CalibrationGroup {
    /// Their total weight.
    pub weight: f64,
    /// Weighted mean of the predicted probability, to 0.001.
    pub predicted: f64,
    /// Weighted share of events.
    pub observed: f64,
}

/// The last bin; both ends are clamped to bins of their own.
const LAST: i32 = (MAX_LOG_ODDS * BINS_PER_UNIT) as i32;
/// Bins that are added at a time.
const GROWTH: i32 = 256;

impl PartialEq for Ranking {
    fn eq(&self, other: &Self) -> bool {
        self.filled().eq(other.filled())
    }
}

/// In files, only the bins that have weight.
impl From<Ranking> for BTreeMap<i32, [f64; 2]> {
    fn from(ranking: Ranking) -> Self {
        ranking.filled().collect()
    }
}

impl From<BTreeMap<i32, [f64; 2]>> for Ranking {
    fn from(map: BTreeMap<i32, [f64; 2]>) -> Self {
        let mut ranking = Self::default();
        for (bin, weights) in map {
            *ranking.bin(bin) = weights;
        }
        ranking
    }
}

impl Ranking {
    /// The bins that have weight.
    fn filled(&self) -> impl Iterator<Item = (i32, [f64; 2])> {
        (self.first..).zip(self.bins.iter().copied()).filter(|(_, bin)| *bin != [0.0, 0.0])
    }

    fn bin(&mut self, bin: i32) -> &mut [f64; 2] {
        let bin = bin.clamp(-LAST, LAST);
        if self.bins.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            let first = (bin - GROWTH).max(-LAST);
            self.bins.splice(..0, std::iter::repeat_n([0.0; 2], (self.first - first) as usize));
            self.first = first;
        }
        let at = (bin - self.first) as usize;
        if at >= self.bins.len() {
            self.bins
                .resize((at + GROWTH as usize).min((LAST - self.first) as usize + 1), [0.0; 2]);
        }
        &mut self.bins[at]
    }

    /// Counts a row with target between 0 and 1 (a proportion counts as that share of an event) and
    /// predicted probability `p`, clamped to that range, which rounding may have left.
    pub fn row(&mut self, y: f64, p: f64, weight: f64) {
        let p = p.clamp(0.0, 1.0);
        let odds = coarse_ln(p / (1.0 - p)).clamp(-MAX_LOG_ODDS, MAX_LOG_ODDS);
        let place = odds * BINS_PER_UNIT;
        // the floor, without a call
        let bin = self.bin(place as i32 - i32::from(place < f64::from(place as i32)));
        bin[0] += weight * (1.0 - y);
        bin[1] += weight * y;
    }

    /// Adds the rows of another.
    pub(super) fn merge(&mut self, other: &Self) {
        for (place, weights) in other.filled() {
            let bin = self.bin(place);
            bin[0] += weights[0];
            bin[1] += weights[1];
        }
    }

    /// $P(\text{score of an event} > \text{score of a non-event})$, ties by half; NaN until both
    /// were seen.
    pub fn auc(&self) -> f64 {
        let mut below = 0.0;
        let mut ordered = 0.0;
        for [failures, successes] in self.bins.iter() {
            ordered += successes * (below + 0.5 * failures);
            below += failures;
        }
        ordered / self.pairs()
    }

    /// Bound on the error of [`Ranking::auc`]; 0 if no bin holds both an event and a non-event.
    /// Equal scores are exact ties, but the bound counts them as errors.
    pub fn error_bound(&self) -> f64 {
        0.5 * self.bins.iter().map(|[failures, successes]| failures * successes).sum::<f64>()
            / self.pairs()
    }

    /// The rows in at most `groups` groups of about equal weight, from the lowest probability to
    /// the highest. The fine bins are not divided, so equal predictions share a group.
    ///
    /// ```
    /// use kalmia::evaluate::Ranking;
    /// let mut ranking = Ranking::default();
    /// for (y, p) in [(0.0, 0.1), (0.0, 0.2), (1.0, 0.7), (1.0, 0.9)] {
    ///     ranking.row(y, p, 1.0);
    /// }
    /// let [low, high] = ranking.groups(2)[..] else { panic!("two groups") };
    /// assert_eq!((low.weight, low.observed, high.observed), (2.0, 0.0, 1.0));
    /// assert!((high.predicted - 0.8).abs() < 1e-3);
    /// ```
    pub fn groups(&self, groups: usize) -> Vec<CalibrationGroup> {
        let total: f64 = self.filled().map(|(_, [failures, successes])| failures + successes).sum();
        let share = total / groups.max(1) as f64;
        let mut found: Vec<CalibrationGroup> = Vec::with_capacity(groups);
        let mut group = CalibrationGroup::default();
        let mut seen = 0.0;
        let mut end = share;
        for (bin, [failures, successes]) in self.filled() {
            let weight = failures + successes;
            let odds = (f64::from(bin) + 0.5) / BINS_PER_UNIT;
            group.weight += weight;
            group.predicted += weight / (1.0 + (-odds).exp());
            group.observed += successes;
            seen += weight;
            // sums of weights round: a group that is full but for that is full
            if seen >= end * (1.0 - 1e-12) {
                found.push(std::mem::take(&mut group));
                end = ((seen / share + 1e-9).floor() + 1.0) * share;
            }
        }
        if group.weight > 0.0 {
            found.push(group);
        }
        for group in &mut found {
            group.predicted /= group.weight;
            group.observed /= group.weight;
        }
        found
    }

    fn pairs(&self) -> f64 {
        let [failures, successes] =
            self.bins.iter().fold([0.0, 0.0], |sum, bin| [sum[0] + bin[0], sum[1] + bin[1]]);
        failures * successes
    }
}

/// $\ln x$ to $10^{-9}$, in a third of the time of the standard library's; 0 and infinity give
/// about $\mp 709$.
fn coarse_ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    // x = 2^e m with m from sqrt(1/2) to sqrt(2)
    let bits = x.to_bits() + (MANTISSA - (std::f64::consts::SQRT_2.to_bits() & MANTISSA));
    let exponent = (bits >> 52) as i32 - 1023;
    let m = f64::from_bits(x.to_bits().wrapping_sub((exponent as i64 as u64) << 52));
    f64::from(exponent) * std::f64::consts::LN_2 + twice_artanh((m - 1.0) / (m + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn agrees_with_the_pairs_counted_one_by_one() {
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(5);
        for (spread, shift) in [(1.0, 0.0), (1.0, -6.0), (4.0, 1.0), (0.3, 0.0)] {
            let mut ranking = Ranking::default();
            let rows: Vec<(f64, f64, f64)> = (0..3000)
                .map(|_| {
                    let odds =
                        spread * (rng.random::<f64>() + rng.random::<f64>() - 1.0) * 2.4 + shift;
                    let p = 1.0 / (1.0 + (-odds).exp());
                    let y = f64::from(rng.random::<f64>() < p);
                    (y, p, 0.5 + rng.random::<f64>())
                })
                .collect();
            rows.iter().for_each(|&(y, p, w)| ranking.row(y, p, w));
            let mut ordered = 0.0;
            let mut pairs = 0.0;
            for a in rows.iter().filter(|a| a.0 == 1.0) {
                for b in rows.iter().filter(|b| b.0 == 0.0) {
                    pairs += a.2 * b.2;
                    ordered +=
                        a.2 * b.2 * if a.1 > b.1 { 1.0 } else { f64::from(a.1 == b.1) * 0.5 };
                }
            }
            let error = (ranking.auc() - ordered / pairs).abs();
            let bound = ranking.error_bound();
            assert!(error <= bound, "spread {spread}: error {error:e}, bound {bound:e}");
            assert!(
                error < 1e-3 && bound < 4e-3,
                "spread {spread}: error {error:e}, bound {bound:e}"
            );
        }
    }

    #[test]
    fn groups_have_every_row_once_and_about_equal_weights() {
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(6);
        let mut ranking = Ranking::default();
        let rows: Vec<(f64, f64, f64)> = (0..2000)
            .map(|_| {
                let p: f64 = rng.random();
                (f64::from(rng.random::<f64>() < p), p, 0.5 + rng.random::<f64>())
            })
            .collect();
        rows.iter().for_each(|&(y, p, w)| ranking.row(y, p, w));
        let total: f64 = rows.iter().map(|row| row.2).sum();
        let sum = |of: &dyn Fn(&CalibrationGroup) -> f64, groups: &[CalibrationGroup]| {
            groups.iter().map(|group| group.weight * of(group)).sum::<f64>()
        };
        for count in [1, 2, 10, 37] {
            let groups = ranking.groups(count);
            assert_eq!(groups.len(), count);
            for group in &groups {
                let share = total / count as f64;
                assert!((group.weight - share).abs() < 0.05 * total / 10.0, "{group:?}");
            }
            assert!(groups.windows(2).all(|pair| pair[0].predicted < pair[1].predicted));
            let events: f64 = rows.iter().map(|row| row.0 * row.2).sum();
            let expected: f64 = rows.iter().map(|row| row.1 * row.2).sum();
            assert!((sum(&|_| 1.0, &groups) - total).abs() < 1e-9 * total);
            assert!((sum(&|group| group.observed, &groups) - events).abs() < 1e-9 * total);
            assert!((sum(&|group| group.predicted, &groups) - expected).abs() < 1e-3 * total);
        }
        // equal predictions are one group, whatever their number, and no group is empty
        let mut lump = Ranking::default();
        (0..100).for_each(|_| lump.row(1.0, 0.3, 1.0));
        lump.row(0.0, 0.6, 1.0);
        let groups = lump.groups(10);
        assert_eq!(groups.iter().map(|group| group.weight).collect::<Vec<_>>(), [100.0, 1.0]);
        assert!(Ranking::default().groups(10).is_empty());
    }

    #[test]
    fn logarithms_have_nine_digits() {
        for k in -5000..5000 {
            let x = (f64::from(k) * 0.0074).exp();
            assert!((coarse_ln(x) - x.ln()).abs() < 1e-9, "{x:e}");
        }
        assert!(coarse_ln(0.0) < -700.0 && coarse_ln(f64::INFINITY) > 700.0);
    }

    #[test]
    fn what_rounding_took_out_of_the_range_ranks_at_its_end() {
        let mut ranking = Ranking::default();
        for (y, p) in [(0.0, -1e-17), (0.0, 0.3), (1.0, 0.6), (1.0, 1.0 + f64::EPSILON)] {
            ranking.row(y, p, 1.0);
        }
        assert_eq!(ranking.auc(), 1.0);
    }

    #[test]
    fn memory_is_bounded_and_the_ends_are_ordered() {
        let mut ranking = Ranking::default();
        for i in 0..100_000 {
            ranking.row(1.0, f64::from(i) / 1e5, 1.0);
        }
        ranking.row(0.0, 0.0, 1.0);
        ranking.row(0.0, 1.0, 1.0);
        assert!(ranking.bins.len() < 9474);
        let stored: BTreeMap<i32, [f64; 2]> = ranking.clone().into();
        assert!(stored.len() < 9474 && Ranking::from(stored) == ranking);
        assert!((ranking.auc() - 0.5).abs() < 1e-4);
        assert!(Ranking::default().auc().is_nan());
    }
}
