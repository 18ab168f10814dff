//! The mean difference of two losses on the same rows, and how sure it is.

/// Batches kept; when they are full, neighbors are joined.
const MAX_BATCHES: usize = 64;
/// Batches below which a standard error would say nothing.
const MIN_BATCHES: usize = 8;

/// The mean difference of the losses of two methods that predicted the same rows.
///
/// Neighboring rows often favor the same method, so their differences are not independent. The
/// standard error is that of the means of 32 to 64 batches of neighbors, which dependence within a
/// batch does not bias.
///
/// ```
/// use kalmia::evaluate::LossDifference;
///
/// let mut difference = LossDifference::default();
/// for i in 0..1000 {
///     difference.row(if i % 2 == 0 { 0.3 } else { 0.1 }, 1.0);
/// }
/// assert!((difference.mean() - 0.2).abs() < 1e-12);
/// assert!(difference.std_error().unwrap() < 0.01);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LossDifference {
    /// The last one may be incomplete.
    batches: Vec<Batch>,
    /// Rows of a complete batch, less 1.
    more_rows: u64,
    rows_of_last: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Batch {
    weight: f64,
    /// Weighted sum of the differences.
    sum: f64,
}

impl Batch {
    fn joined(pair: &[Self]) -> Self {
        let weight = pair.iter().map(|batch| batch.weight).sum();
        Self { weight, sum: pair.iter().map(|batch| batch.sum).sum() }
    }
}

impl LossDifference {
    /// Counts a row. A difference that is not finite stays: mean and standard error are then not
    /// finite either.
    pub fn row(&mut self, difference: f64, weight: f64) {
        if self.batches.is_empty() || self.rows_of_last > self.more_rows {
            if self.batches.len() == MAX_BATCHES {
                self.batches = self.batches.chunks(2).map(Batch::joined).collect();
                self.more_rows = 2 * self.more_rows + 1;
            }
            self.batches.push(Batch::default());
            self.rows_of_last = 0;
        }
        self.rows_of_last += 1;
        if let Some(batch) = self.batches.last_mut() {
            batch.weight += weight;
            batch.sum += weight * difference;
        }
    }

    /// The mean; NaN without rows.
    pub fn mean(&self) -> f64 {
        let Batch { weight, sum } = Batch::joined(&self.batches);
        sum / weight
    }

    /// The standard error of the mean; `None` before there are 8 batches with weight, or if it is
    /// not finite.
    pub fn std_error(&self) -> Option<f64> {
        let mean = self.mean();
        let total: f64 = self.batches.iter().map(|batch| batch.weight).sum();
        let counted: Vec<&Batch> = self.batches.iter().filter(|b| b.weight > 0.0).collect();
        let n = counted.len();
        let squares: f64 = counted.iter().map(|b| (b.sum - mean * b.weight).powi(2)).sum();
        let error = (squares * n as f64 / (n as f64 - 1.0)).sqrt() / total;
        (n >= MIN_BATCHES && error.is_finite()).then_some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The mean of $E[\hat\sigma^2]/\mathrm{Var}$ over replicates of an AR(1) of unit noise.
    fn ratio(correlation: f64, rows: usize) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let replicates = 400;
        let mut means = Vec::new();
        let mut reported = 0.0;
        for _ in 0..replicates {
            let mut difference = LossDifference::default();
            let mut value = 0.0;
            for _ in 0..rows {
                value = correlation * value + rng.sample::<f64, _>(StandardNormal);
                difference.row(value, 1.0);
            }
            means.push(difference.mean());
            reported += difference.std_error().unwrap().powi(2);
        }
        let variance = means.iter().map(|m| m * m).sum::<f64>() / replicates as f64;
        reported / replicates as f64 / variance
    }

    #[test]
    fn the_standard_error_is_that_of_the_mean_even_of_dependent_rows() {
        // 400 replicates: the variance has a relative standard error of 7 %
        for (correlation, rows) in [(0.0, 50), (0.0, 1000), (0.8, 4000)] {
            let ratio = ratio(correlation, rows);
            assert!((0.75..1.3).contains(&ratio), "{correlation} {rows}: {ratio}");
        }
    }

    #[test]
    fn the_mean_is_weighted_and_batches_do_not_change_it() {
        let mut difference = LossDifference::default();
        let mut sum = 0.0;
        let mut weight = 0.0;
        for i in 0..1001 {
            let w = f64::from(i % 3);
            difference.row(f64::from(i), w);
            sum += w * f64::from(i);
            weight += w;
        }
        assert!((difference.mean() / (sum / weight) - 1.0).abs() < 1e-13);
        assert!((32..=64).contains(&difference.batches.len()));
    }

    #[test]
    fn without_enough_rows_or_with_an_overflow_there_is_no_standard_error() {
        let mut difference = LossDifference::default();
        assert!(difference.mean().is_nan() && difference.std_error().is_none());
        (0..7).for_each(|i| difference.row(f64::from(i), 1.0));
        assert_eq!(difference.std_error(), None);
        (0..7).for_each(|i| difference.row(f64::from(i), 1.0));
        assert!(difference.std_error().is_some());
        difference.row(f64::INFINITY, 1.0);
        assert_eq!(difference.std_error(), None);
    }
}
