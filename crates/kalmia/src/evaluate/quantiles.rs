//! Progressive evaluation of several quantiles of one target.

use super::{Cadence, CoursePoint, Order, Progressive, Trace};
use crate::error::{Error, Result, require, require_len};
use crate::family::{AnyFamily, Quantile};
use crate::learner::{QuantileObserver, QuantileRow};
use serde::{Deserialize, Serialize};

/// Ratio of rows between two points of the course.
const FACTOR: f64 = 1.05;

/// How good the predictions of several quantiles were, each made before its row was learned: one
/// [`Progressive`] per level. Part of model files, and continues bit for bit.
///
/// The predictions of a row are judged in ascending order, as they are given out.
///
/// ```
/// use kalmia::evaluate::QuantileMetrics;
/// use kalmia::learner::Quantiles;
/// use kalmia::Rows;
///
/// let mut learner = Quantiles::builder(&[0.1, 0.9], 1).intercept().build()?;
/// let mut metrics = QuantileMetrics::new(&learner.levels())?;
/// let y: Vec<f64> = (0..500).map(|i| f64::from(i * 37 % 100)).collect();
/// learner.learn_observed(Rows::new(1, &[1.0; 500], &y)?, Some(&mut metrics))?;
/// let below = |k: usize| metrics.levels()[k].report().below.unwrap();
/// assert_eq!((below(0).level, below(1).level), (0.1, 0.9));
/// assert!((below(0).share - 0.1).abs() < 0.05 && (below(1).share - 0.9).abs() < 0.05);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantileMetrics {
    levels: Vec<Progressive>,
    order: Order,
    loss: Trace,
    baseline: Trace,
}

impl QuantileMetrics {
    /// Without rows, for these levels, each strictly between 0 and 1, in ascending order.
    pub fn new(levels: &[f64]) -> Result<Self> {
        let level = |&tau: &f64| Ok(Progressive::new(Quantile::new(tau)?.into()));
        Self::of(levels.iter().map(level).collect::<Result<_>>()?)
    }

    fn of(levels: Vec<Progressive>) -> Result<Self> {
        if levels.is_empty() {
            return Err(Error::State("there is no level".into()));
        }
        let trace = || Trace::new(Cadence::Geometric { factor: FACTOR });
        Ok(Self { levels, order: Order::default(), loss: trace()?, baseline: trace()? })
    }

    /// Without rows, for rows that are not learned: see [`Progressive::after`].
    pub fn after(learned: &Self) -> Result<Self> {
        Self::of(learned.levels.iter().map(Progressive::after).collect())
    }

    /// Counts a row: its target, the prediction of each level in ascending order, its weight.
    /// Refuses numbers that are not finite, and another number of predictions.
    pub fn row(&mut self, y: f64, predictions: &[f64], weight: f64) -> Result<()> {
        require_len("predictions", predictions.len(), self.levels.len())?;
        // before the first level counts the row
        for &prediction in predictions {
            require(prediction.is_finite(), "prediction", prediction, "must be finite")?;
        }
        for (level, &prediction) in self.levels.iter_mut().zip(predictions) {
            level.row(y, prediction, None, weight)?;
        }
        self.advance(y, weight);
        Ok(())
    }

    /// What does not depend on the level.
    fn advance(&mut self, y: f64, weight: f64) {
        if weight > 0.0 {
            self.order.count(y);
        }
        if self.levels[0].is_judged() {
            let levels = &self.levels;
            self.loss.record(levels[0].rows(), || mean(levels, Progressive::loss));
            self.baseline.record(levels[0].rows(), || mean(levels, Progressive::constant_loss));
        }
    }

    /// The scores of each level, in ascending order.
    pub fn levels(&self) -> &[Progressive] {
        &self.levels
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.levels[0].rows()
    }

    /// Mean pinball loss so far, over rows and levels.
    pub fn loss(&self) -> f64 {
        mean(&self.levels, Progressive::loss)
    }

    /// The same of the constant predictors, which are the running quantiles.
    pub fn constant_loss(&self) -> f64 {
        mean(&self.levels, Progressive::constant_loss)
    }

    /// Whether the rows seem sorted by their target, which one pass must not be given.
    pub fn is_sorted(&self) -> bool {
        self.order.is_sorted(false)
    }

    /// The mean losses at about 50 points per decade of rows, and now.
    pub fn course(&self) -> Vec<CoursePoint> {
        let point = |rows, loss, constant_loss| CoursePoint { rows, loss, constant_loss };
        let pairs = self.loss.points().iter().zip(self.baseline.points());
        let mut course: Vec<_> =
            pairs.map(|(loss, constant)| point(loss.rows, loss.value, constant.value)).collect();
        let rows = self.rows();
        if self.loss().is_finite() && course.last().is_none_or(|last| last.rows < rows) {
            course.push(point(rows, self.loss(), self.constant_loss()));
        }
        course
    }

    /// Refuses a value read from a file that no rows of these levels can give.
    pub fn check(&self, levels: &[f64]) -> Result<()> {
        let level = |progressive: &Progressive| match progressive.family() {
            AnyFamily::Quantile(quantile) => Some(quantile.tau()),
            _ => None,
        };
        if !self.levels.iter().map(level).eq(levels.iter().copied().map(Some)) {
            return Err(Error::State("the scores are those of other levels".into()));
        }
        if self.levels.iter().any(|level| level.rows() != self.rows()) {
            return Err(Error::State("the scores of the levels are of different rows".into()));
        }
        self.levels.iter().try_for_each(Progressive::check_restored)?;
        self.order.check()?;
        self.loss.check()?;
        self.baseline.check()
    }
}

/// The mean over the levels.
fn mean(levels: &[Progressive], value: fn(&Progressive) -> f64) -> f64 {
    levels.iter().map(value).sum::<f64>() / levels.len() as f64
}

impl QuantileObserver for QuantileMetrics {
    fn row(&mut self, row: &QuantileRow<'_>) {
        let (y, weight) = (row.observation.y, row.observation.weight);
        for (level, &prediction) in self.levels.iter_mut().zip(row.predictions) {
            level.checked_row(y, prediction, weight);
        }
        self.advance(y, weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rows;
    use crate::learner::Quantiles;

    const LEVELS: [f64; 3] = [0.1, 0.5, 0.9];

    /// Rows of a feature that moves the level and the spread.
    fn rows() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let x: Vec<f64> = (0..400).flat_map(|i| [1.0, f64::from(i * 13 % 50) / 10.0]).collect();
        let y: Vec<f64> = (0..400).map(|i| x[2 * i + 1] * (1.0 + (i * 7 % 31) as f64)).collect();
        let weight = (0..400).map(|i| f64::from(i % 4)).collect();
        (x, y, weight)
    }

    #[test]
    fn losses_are_those_of_the_predictions_made_before_each_row() {
        let (x, y, weight) = rows();
        let mut learner = Quantiles::builder(&LEVELS, 2).intercept().build().unwrap();
        let mut metrics = QuantileMetrics::new(&LEVELS).unwrap();
        let mut by_hand = metrics.clone();
        let mut seen = Vec::new();
        let mut note = |row: &QuantileRow<'_>| {
            seen.push((row.observation, row.predictions.to_vec()));
            metrics.row(row.observation.y, row.predictions, row.observation.weight).unwrap();
        };
        let all = Rows::new(2, &x, &y).unwrap().with_weights(&weight).unwrap();
        learner.learn_observed(all, Some(&mut note)).unwrap();
        // an observer and the checked call count the same
        let mut other = Quantiles::builder(&LEVELS, 2).intercept().build().unwrap();
        other.learn_observed(all, Some(&mut by_hand)).unwrap();
        assert_eq!(metrics, by_hand);
        // the first row of weight is not judged
        let mut sums = [0.0; 3];
        let mut below = [0.0; 3];
        let mut total = 0.0;
        for (row, predictions) in seen.iter().filter(|(row, _)| row.weight > 0.0).skip(1) {
            total += row.weight;
            for (k, tau) in LEVELS.into_iter().enumerate() {
                let error = row.y - predictions[k];
                sums[k] += row.weight * f64::max(tau * error, (tau - 1.0) * error);
                below[k] += if error <= 0.0 { row.weight } else { 0.0 };
            }
        }
        for (k, level) in metrics.levels().iter().enumerate() {
            assert!((level.loss() / (sums[k] / total) - 1.0).abs() < 1e-12);
            assert!((level.report().below.unwrap().share - below[k] / total).abs() < 1e-12);
        }
        let expected = sums.iter().sum::<f64>() / (3.0 * total);
        assert!((metrics.loss() / expected - 1.0).abs() < 1e-12);
        let last = *metrics.course().last().unwrap();
        assert_eq!((last.rows, last.loss), (400, metrics.loss()));
        assert_eq!(last.constant_loss, metrics.constant_loss());
    }

    #[test]
    fn metrics_of_other_levels_or_rows_are_refused() {
        let mut metrics = QuantileMetrics::new(&LEVELS).unwrap();
        metrics.row(1.0, &[0.0, 1.0, 2.0], 1.0).unwrap();
        metrics.check(&LEVELS).unwrap();
        for other in [&[0.1, 0.5][..], &[0.1, 0.5, 0.8], &[0.1, 0.5, 0.9, 0.95]] {
            assert!(metrics.check(other).is_err(), "{other:?}");
        }
        assert!(metrics.row(1.0, &[0.0, 1.0], 1.0).is_err());
        assert!(metrics.row(f64::NAN, &[0.0, 1.0, 2.0], 1.0).is_err());
        metrics.levels[1].row(1.0, 1.0, None, 1.0).unwrap();
        assert!(metrics.check(&LEVELS).is_err());
        assert!(QuantileMetrics::new(&[]).is_err() && QuantileMetrics::new(&[1.0]).is_err());
    }
}
