//! What is known of one `y` before it is seen, as a Python object.

use crate::any::{AnyPrediction, ByFamily, either};
use crate::error::{input, plain};
use kalmia::predict::Interval;
use pyo3::prelude::*;

impl AnyPrediction {
    pub fn mean(&self) -> f64 {
        either!(self, inner => inner.mean)
    }

    pub fn linear(&self) -> f64 {
        either!(self, inner => inner.linear)
    }

    pub fn linear_variance(&self) -> f64 {
        either!(self, inner => inner.linear_variance)
    }

    /// Variance of `y`, noise included.
    pub fn variance(&self) -> f64 {
        either!(self, inner => inner.variance())
    }

    /// The interval of `y`, or of its mean.
    pub fn interval(&self, level: f64, of_mean: bool) -> kalmia::Result<Interval> {
        either!(self, inner => {
            if of_mean { inner.mean_interval(level) } else { inner.interval(level) }
        })
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
        self.0.mean()
    }

    /// Standard deviation of `y`, noise included.
    #[getter]
    fn std(&self) -> PyResult<f64> {
        self.0.checked(self.0.variance().sqrt())
    }

    /// Mean of the linear predictor.
    #[getter]
    fn linear(&self) -> f64 {
        self.0.linear()
    }

    /// Variance of the linear predictor.
    #[getter]
    fn linear_variance(&self) -> f64 {
        self.0.linear_variance()
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
        let result = self.0.interval(level, false);
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
        let result = self.0.interval(level, true);
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
        if !(q > 0.0 && q < 1.0) {
            return Err(input(format!("q is {q}: it must lie strictly between 0 and 1")));
        }
        self.0.checked(either!(&self.0, inner => inner.quantile(q)))
    }

    fn __float__(&self) -> f64 {
        self.0.mean()
    }

    fn __repr__(&self) -> String {
        format!(
            "Prediction(mean={}, linear={}, linear_variance={})",
            self.0.mean(),
            self.0.linear(),
            self.0.linear_variance()
        )
    }
}
