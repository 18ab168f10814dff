//! What every prediction answers: distribution, density, quantiles and intervals.

use crate::error::{Result, require};

/// An interval with its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// A predictive distribution of `y`, with the linear predictor integrated out.
///
/// [`Prediction`](super::Prediction) and [`MixturePrediction`](super::MixturePrediction) have these
/// methods themselves; import the trait only for code that is generic over both.
pub trait Predictive {
    /// The point prediction of `y`.
    fn mean(&self) -> f64;
    /// $P(Y \le y)$.
    fn cdf(&self, y: f64) -> f64;
    /// $\ln E[p(y\mid u)]$, minus infinity if `y` is not legal.
    fn log_density(&self, y: f64) -> f64;
    /// Smallest `y` with $P(Y \le y) \ge q$, for $0 < q < 1$.
    fn quantile(&self, q: f64) -> f64;
    /// Smallest `v` with $P(u \le v) \ge q$, for $0 < q < 1$.
    fn linear_quantile(&self, q: f64) -> f64;
    /// $E[y\mid u]$.
    fn mean_at(&self, u: f64) -> f64;
    /// Whether the quantile `q` of `u` lies beyond
    /// [`Family::largest_linear`](crate::Family::largest_linear), where a growing mean saturates.
    fn is_saturated(&self, q: f64) -> bool;

    /// The interval between the quantiles $(1\mp\text{level})/2$ of `y`; for counts both ends are
    /// counts, and the interval (ends included) holds at least `level`. The upper end is infinite
    /// if the linear predictor may lie where the mean saturates: nothing is known there.
    fn interval(&self, level: f64) -> Result<Interval> {
        let tail = tail(level)?;
        let upper =
            if self.is_saturated(1.0 - tail) { f64::INFINITY } else { self.quantile(1.0 - tail) };
        Ok(Interval { lower: self.quantile(tail), upper })
    }

    /// The interval of $E[y\mid u]$ from the interval of `u`: the uncertainty about the mean,
    /// without the noise of `y`.
    ///
    /// It always contains [`Predictive::mean`]: the average over a skewed belief can lie outside
    /// the interval of equal tails, whose nearer end is then moved to it. The upper end is infinite
    /// if the linear predictor may lie where the mean saturates.
    fn mean_interval(&self, level: f64) -> Result<Interval> {
        let tail = tail(level)?;
        let a = self.mean_at(self.linear_quantile(tail));
        let b = self.mean_at(self.linear_quantile(1.0 - tail));
        let upper = if self.is_saturated(1.0 - tail) { f64::INFINITY } else { a.max(b) };
        Ok(Interval { lower: a.min(b).min(self.mean()), upper: upper.max(self.mean()) })
    }
}

fn tail(level: f64) -> Result<f64> {
    require(level > 0.0 && level < 1.0, "level", level, "must lie strictly between 0 and 1")?;
    Ok(0.5 * (1.0 - level))
}

/// Gives a prediction the methods of [`Predictive`] as its own, so that callers need no import.
macro_rules! inherent_predictive {
    ($prediction:ident) => {
        impl<F: Family> $prediction<F> {
            /// $P(Y \le y)$.
            pub fn cdf(&self, y: f64) -> f64 {
                Predictive::cdf(self, y)
            }

            /// $\ln E[p(y\mid u)]$, minus infinity if `y` is not legal.
            pub fn log_density(&self, y: f64) -> f64 {
                Predictive::log_density(self, y)
            }

            /// Smallest `y` with $P(Y \le y) \ge q$, for $0 < q < 1$.
            pub fn quantile(&self, q: f64) -> f64 {
                Predictive::quantile(self, q)
            }

            /// Smallest `v` with $P(u \le v) \ge q$, for $0 < q < 1$.
            pub fn linear_quantile(&self, q: f64) -> f64 {
                Predictive::linear_quantile(self, q)
            }

            /// The interval of `y` with probability `level`, strictly between 0 and 1, and equal
            /// tails. For counts both ends are counts, and with them it holds at least `level`. The
            /// upper end is infinite where the mean saturates.
            pub fn interval(&self, level: f64) -> Result<Interval> {
                Predictive::interval(self, level)
            }

            /// The interval of $E[y\mid u]$: the uncertainty about the mean, without the noise of
            /// `y`. It always contains the predicted mean; see [`Predictive::mean_interval`].
            pub fn mean_interval(&self, level: f64) -> Result<Interval> {
                Predictive::mean_interval(self, level)
            }

            /// The standard deviation of the linear predictor. If it is infinite, because the noise
            /// was learned from a single row, half the width of the central 68.3 % interval, which
            /// is the deviation of a normal law.
            pub fn linear_deviation(&self) -> f64 {
                let deviation = self.linear_variance.sqrt();
                if deviation.is_finite() {
                    return deviation;
                }
                let upper = $crate::math::normal_cdf(1.0);
                0.5 * (self.linear_quantile(upper) - self.linear_quantile(1.0 - upper))
            }
        }
    };
}
pub(super) use inherent_predictive;
