//! What is known of one `y` before it is seen, as a Python object.

use crate::any::{AnyPrediction, ByFamily, either};
use crate::error::{input, plain};
use kalmia::Family;
use kalmia::predict::{Interval, MixturePrediction};
use pyo3::prelude::*;

/// What a prediction answers per row, of a built-in or a custom family.
pub trait PredictedRow {
    fn mean(&self) -> f64;
    fn linear(&self) -> f64;
    fn linear_variance(&self) -> f64;
    /// Variance of `y`, noise included.
    fn variance(&self) -> f64;
    /// The interval of `y`, or of its mean.
    fn interval(&self, level: f64, of_mean: bool) -> kalmia::Result<Interval>;
    /// Smallest `y` whose distribution function reaches `q`.
    fn quantile(&self, q: f64) -> f64;
    /// Probability that the target is at most `y`.
    fn cdf(&self, y: f64) -> f64;
}

/// Refuses a probability of a quantile that is not strictly between 0 and 1.
pub fn check_probability(q: f64) -> PyResult<()> {
    if q > 0.0 && q < 1.0 {
        return Ok(());
    }
    Err(input(format!("q is {q}: it must lie strictly between 0 and 1")))
}

impl<F: Family> PredictedRow for MixturePrediction<F> {
    fn mean(&self) -> f64 {
        self.mean
    }

    fn linear(&self) -> f64 {
        self.linear
    }

    fn linear_variance(&self) -> f64 {
        self.linear_variance
    }

    fn variance(&self) -> f64 {
        MixturePrediction::variance(self)
    }

    fn interval(&self, level: f64, of_mean: bool) -> kalmia::Result<Interval> {
        if of_mean { self.mean_interval(level) } else { MixturePrediction::interval(self, level) }
    }

    fn quantile(&self, q: f64) -> f64 {
        MixturePrediction::quantile(self, q)
    }

    fn cdf(&self, y: f64) -> f64 {
        MixturePrediction::cdf(self, y)
    }
}

impl AnyPrediction {
    fn row(&self) -> &dyn PredictedRow {
        either!(self, inner => inner)
    }

    /// The value, or the exception that a custom family's callable raised on the way.
    fn checked<T>(&self, value: T) -> PyResult<T> {
        if let ByFamily::Custom(inner) = self
            && let Some((_, part)) = inner.parts().first()
        {
            part.family().check()?;
        }
        Ok(value)
    }
}

/// The predictive distribution of one target, averaged over the uncertainty of the coefficients.
///
/// ``float(prediction)`` is its mean.
///
/// Examples
/// --------
/// >>> import kalmia
/// >>> filter = kalmia.Filter(2, "gaussian")
/// >>> filter.learn([1.0, 0.5], 2.0)
/// >>> prediction = filter.predict([1.0, 0.5])
/// >>> low, high = prediction.interval(0.95)
/// >>> low < float(prediction) < high
/// True
#[pyclass(frozen, module = "kalmia")]
pub struct Prediction(pub AnyPrediction);

#[pymethods]
impl Prediction {
    /// Expectation of `y`.
    #[getter]
    fn mean(&self) -> f64 {
        self.0.row().mean()
    }

    /// Standard deviation of `y`, noise included.
    #[getter]
    fn std(&self) -> PyResult<f64> {
        self.0.checked(self.0.row().variance().sqrt())
    }

    /// Mean of the linear predictor.
    #[getter]
    fn linear(&self) -> f64 {
        self.0.row().linear()
    }

    /// Variance of the linear predictor.
    #[getter]
    fn linear_variance(&self) -> f64 {
        self.0.row().linear_variance()
    }

    /// Mean of `y` at the mean of the linear predictor.
    #[getter]
    fn plug_in(&self) -> f64 {
        either!(&self.0, inner => inner.plug_in)
    }

    /// Interval of `y`.
    ///
    /// Parameters
    /// ----------
    /// level : float
    ///     Probability of the interval.
    ///
    /// Returns
    /// -------
    /// tuple of float
    #[pyo3(signature = (level=0.95))]
    fn interval(&self, level: f64) -> PyResult<(f64, f64)> {
        let result = self.0.row().interval(level, false);
        self.0.checked(())?;
        result.map(|ends| (ends.lower, ends.upper)).map_err(plain)
    }

    /// Interval of the mean of `y`, without the noise.
    ///
    /// Parameters
    /// ----------
    /// level : float
    ///     Probability of the interval.
    ///
    /// Returns
    /// -------
    /// tuple of float
    #[pyo3(signature = (level=0.95))]
    fn mean_interval(&self, level: f64) -> PyResult<(f64, f64)> {
        let result = self.0.row().interval(level, true);
        self.0.checked(())?;
        result.map(|ends| (ends.lower, ends.upper)).map_err(plain)
    }

    /// Probability that the target is at most `y`.
    fn cdf(&self, y: f64) -> PyResult<f64> {
        self.0.checked(either!(&self.0, inner => inner.cdf(y)))
    }

    /// Logarithm of the predictive density, or probability, of `y`.
    fn log_density(&self, y: f64) -> PyResult<f64> {
        self.0.checked(either!(&self.0, inner => inner.log_density(y)))
    }

    /// Smallest `y` whose distribution function reaches `q`, for `q` strictly between 0 and 1.
    fn quantile(&self, q: f64) -> PyResult<f64> {
        check_probability(q)?;
        self.0.checked(either!(&self.0, inner => inner.quantile(q)))
    }

    fn __float__(&self) -> f64 {
        self.0.row().mean()
    }

    fn __repr__(&self) -> String {
        format!(
            "Prediction(mean={}, linear={}, linear_variance={})",
            self.0.row().mean(),
            self.0.row().linear(),
            self.0.row().linear_variance()
        )
    }
}
