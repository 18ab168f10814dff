//! Predictions: of one row, and numbers of many.

use super::{Learner, Numbers, RowArgument};
use crate::any::either;
use crate::error::{input, plain};
use crate::prediction::{PredictedRow, Prediction, check_probability};
use crate::querying::{AnyInputs, LevelCounts, Query};
use kalmia::evaluate::{Conformal, Predicted};
use kalmia::learner::Sample;
use kalmia::{Error, Predict};
use kalmia_model::ConformalIntervals;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// Two arrays of one number per row.
type Pair<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

impl Learner {
    /// Calls `take` with the prediction of each row, in order.
    fn each_row<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        offset: Option<&Numbers<'py>>,
        unseen: Option<&LevelCounts<'py>>,
        mut take: impl FnMut(&dyn PredictedRow) -> kalmia::Result<()> + Send,
    ) -> PyResult<()> {
        let state = self.state(py)?;
        self.query(x, offset, unseen).each_block(py, &state.learner, |inputs| {
            either!(&state.learner, inner => {
                inputs.predict(inner, &mut |_, prediction| take(prediction))
            })
        })
    }

    /// Two numbers of the prediction for each row.
    fn two_per_row<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        offset: Option<&Numbers<'py>>,
        unseen: Option<&LevelCounts<'py>>,
        of: impl Fn(&dyn PredictedRow) -> kalmia::Result<[f64; 2]> + Send + Sync,
    ) -> PyResult<Pair<'py>> {
        let mut first = Vec::new();
        let mut second = Vec::new();
        self.each_row(py, x, offset, unseen, |prediction| {
            let [a, b] = of(prediction)?;
            first.push(a);
            second.push(b);
            Ok(())
        })?;
        Ok((PyArray1::from_vec(py, first), PyArray1::from_vec(py, second)))
    }

    /// Rows to predict.
    fn query<'a, 'py>(
        &self,
        x: &'a Bound<'py, PyAny>,
        offset: Option<&'a Numbers<'py>>,
        unseen: Option<&'a LevelCounts<'py>>,
    ) -> Query<'a, 'py> {
        let offset = offset.map(|offset| offset.as_array());
        let unseen = unseen.map(|unseen| unseen.as_array());
        Query { x, offset, unseen, intercept: self.intercept }
    }
}

#[pymethods]
impl Learner {
    /// What is known of the target of a row.
    ///
    /// Parameters
    /// ----------
    /// x : array_like of shape (dim,)
    ///     Features.
    /// offset : float
    ///     Added to the linear predictor.
    ///
    /// Returns
    /// -------
    /// Prediction
    #[pyo3(signature = (x, offset=0.0))]
    fn predict(&self, py: Python<'_>, x: RowArgument<'_>, offset: f64) -> PyResult<Prediction> {
        let state = self.state(py)?;
        let x = match x {
            RowArgument::Wide(row) => {
                return state
                    .learner
                    .predict_sparse(row.get(), offset)
                    .map(Prediction)
                    .map_err(plain);
            }
            RowArgument::Dense(x) => self.row(&x, &state.learner)?,
        };
        let prediction = state.learner.predict(&x, offset);
        if let Some(family) = state.learner.custom_family() {
            family.check()?;
        }
        prediction.map(Prediction).map_err(plain)
    }

    /// The means predicted for rows.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n,)
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_many<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut means = Vec::new();
        let state = self.state(py)?;
        self.query(X, offset.as_ref(), unseen.as_ref()).each_block(
            py,
            &state.learner,
            |inputs| {
                let first = means.len();
                means.resize(first + inputs.len(), 0.0);
                let means = &mut means[first..];
                either!(&state.learner, inner => match inputs {
                    AnyInputs::Dense(inputs) => inner.predict_means(inputs, means),
                    AnyInputs::Sparse(inputs) => inner.predict_sparse(inputs, &mut |i, found| {
                        means[i] = found.mean;
                        Ok(())
                    }),
                })
            },
        )?;
        Ok(PyArray1::from_vec(py, means))
    }

    /// Whether the means predicted for rows of 0 and 1 are above one half, which is faster than the
    /// means themselves.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of bool of shape (n,)
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_labels<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mut labels = Vec::new();
        let state = self.state(py)?;
        self.query(X, offset.as_ref(), unseen.as_ref()).each_block(
            py,
            &state.learner,
            |inputs| {
                let first = labels.len();
                labels.resize(first + inputs.len(), false);
                let labels = &mut labels[first..];
                either!(&state.learner, inner => match inputs {
                    AnyInputs::Dense(inputs) => inner.predict_labels(inputs, labels),
                    AnyInputs::Sparse(inputs) => inner.predict_sparse(inputs, &mut |i, found| {
                        labels[i] = found.mean > 0.5;
                        Ok(())
                    }),
                })
            },
        )?;
        Ok(PyArray1::from_vec(py, labels))
    }

    /// Means and standard deviations of the targets of rows, as two arrays.
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_std<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        self.two_per_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            Ok([prediction.mean(), prediction.variance().sqrt()])
        })
    }

    /// Means and variances of the linear predictors of rows, as two arrays.
    #[pyo3(signature = (X, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_linear<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        self.two_per_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            Ok([prediction.linear(), prediction.linear_variance()])
        })
    }

    /// Lower and upper ends of the targets' conformal intervals as two arrays.
    #[pyo3(signature = (X, level=0.95, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_conformal<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        level: f64,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        if Conformal::check_level(level).is_err() {
            return Err(input(format!(
                "level is {level}: give a probability above 0 and at most 0.99, the widest \
                 conformal interval that is learned"
            )));
        }
        let intervals = {
            let state = self.state(py)?;
            let kept = state.learner.built_in().zip(state.metrics.as_ref());
            kept.and_then(|(inner, metrics)| ConformalIntervals::new(inner, metrics).ok())
        };
        let Some(intervals) = intervals else {
            return Err(input(
                "the model has learned no conformal intervals; make it with conformal=True and \
                 fit it again",
            ));
        };
        self.two_per_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            let row = Predicted {
                linear: prediction.linear(),
                variance: prediction.linear_variance(),
                dispersion: intervals.dispersion(),
                mean: prediction.mean(),
            };
            let ends = intervals.interval_of(&row, level)?;
            Ok([ends.lower, ends.upper])
        })
    }

    /// Lower and upper ends of the targets' intervals as two arrays; with ``of_mean=True``, those
    /// of their means.
    #[pyo3(signature = (X, level=0.95, offset=None, of_mean=false, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_interval<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        level: f64,
        offset: Option<Numbers<'py>>,
        of_mean: bool,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        if of_mean {
            either!(&self.state(py)?.learner, inner => if inner.has_covariance() {
                Ok(())
            } else {
                Err(input(format!(
                    "method '{}' keeps no covariance; intervals for the mean need method='auto' \
                     or a filter",
                    inner.title()
                )))
            })?;
        }
        self.two_per_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            let ends = prediction.interval(level, of_mean)?;
            Ok([ends.lower, ends.upper])
        })
    }

    /// Quantiles of the targets of rows.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`.
    /// q : array_like of shape (k,)
    ///     Probabilities, strictly between 0 and 1.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n, k)
    ///     The smallest target whose distribution function reaches each probability.
    #[pyo3(signature = (X, q, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_quantiles<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        q: Numbers<'py>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let q = q.as_array().to_vec();
        q.iter().try_for_each(|&q| check_probability(q))?;
        let mut found = Vec::new();
        let mut rows = 0;
        self.each_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            rows += 1;
            found.extend(q.iter().map(|&q| prediction.quantile(q)));
            Ok(())
        })?;
        PyArray1::from_vec(py, found).reshape([rows, q.len()])
    }

    /// The probability that the target of each row is at most a given number.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`.
    /// y : array_like of shape (n,)
    ///     A number per row.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n,)
    #[pyo3(signature = (X, y, offset=None, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_cdf<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        y: Numbers<'py>,
        offset: Option<Numbers<'py>>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let y = y.as_array().to_vec();
        if let Some(row) = y.iter().position(|y| y.is_nan()) {
            return Err(input(format!("y is NaN in row {row}: give a number per row")));
        }
        let mut found = Vec::with_capacity(y.len());
        let mut rows = 0;
        self.each_row(py, X, offset.as_ref(), unseen.as_ref(), |prediction| {
            found.extend(y.get(rows).map(|&y| prediction.cdf(y)));
            rows += 1;
            Ok(())
        })?;
        if rows != y.len() {
            return Err(input(format!("X has {rows} rows, but y has {}", y.len())));
        }
        Ok(PyArray1::from_vec(py, found))
    }

    /// Draws of the targets of rows, or of their means.
    ///
    /// Each draw has its own coefficients, which its rows share.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, dim)
    ///     Features, as for :meth:`learn_many`; all of them are held at once.
    /// draws : int
    ///     Number of draws.
    /// seed : int
    ///     Seed of the random numbers.
    /// offset : array_like of shape (n,), optional
    ///     Added to the linear predictor.
    /// of_mean : bool
    ///     Whether to draw the means, without the noise.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (draws, n)
    #[pyo3(signature = (X, draws, seed, offset=None, of_mean=false, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python method")]
    fn sample_predictions<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        draws: usize,
        seed: u64,
        offset: Option<Numbers<'py>>,
        of_mean: bool,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let state = self.state(py)?;
        let mut found = vec![Vec::new(); draws];
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let query = self.query(X, offset.as_ref(), unseen.as_ref());
        either!(&state.learner, inner => {
            let drawn = inner.draw(draws, &mut random).map_err(plain)?;
            query.each_block(py, &state.learner, |inputs| {
                let rows = inputs.len();
                // sparse rows are those of a wide learner, which has refused to draw before
                let AnyInputs::Dense(inputs) = inputs else {
                    return Err(Error::State("sparse rows cannot be drawn".into()));
                };
                let values = if of_mean {
                    inner.sample_means(inputs, &drawn, &mut random)?
                } else {
                    inner.sample_targets(inputs, &drawn, &mut random)?
                };
                for (row, values) in found.iter_mut().zip(values.chunks_exact(rows.max(1))) {
                    row.extend_from_slice(values);
                }
                Ok(())
            })?;
        });
        let rows = found.first().map_or(0, Vec::len);
        PyArray1::from_vec(py, found.concat()).reshape([draws, rows])
    }
}
