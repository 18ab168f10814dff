//! Probabilities of the classes, and what is known of them.

use super::ClassLearner;
use crate::error::{Rows as RowsOf, input, plain};
use crate::learner::{Numbers, check_level};
use crate::rows::Features;
use crate::table;
use kalmia::predict::MixturePrediction;
use kalmia::{Bernoulli, Inputs};
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLike1, PyArrayMethods};
use pyo3::prelude::*;

/// A number of levels per row.
type LevelCounts<'py> = PyArrayLike1<'py, u32, AllowTypeChange>;

/// Two numbers per row and class.
type Pair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

impl ClassLearner {
    /// Calls `run` with the first row, the numbers and the unseen levels of each block of rows.
    fn each_block<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        dim: usize,
        unseen: Option<&LevelCounts<'py>>,
        mut run: impl FnMut(usize, &[f64], &[u32]) -> kalmia::Result<()> + Send,
    ) -> PyResult<usize> {
        let unseen = unseen.map_or(Vec::new(), |unseen| unseen.as_array().to_vec());
        let mut start = 0;
        for table in table::blocks(py, x)? {
            let table = table?;
            let features = Features { x: table.as_array(), intercept: self.intercept };
            if features.dim() != dim {
                let expected = dim - usize::from(self.intercept);
                let given = features.x.ncols();
                return Err(input(format!(
                    "X has {given} features, but the learner has {expected}"
                )));
            }
            py.detach(|| {
                features.each_block_in(None, |first, n, x| {
                    let first = start + first;
                    let levels = match unseen.is_empty() {
                        true => &[][..],
                        false => unseen
                            .get(first..first + n)
                            .ok_or_else(|| input("unseen must hold one number per row"))?,
                    };
                    let place = RowsOf { first, intercept: self.intercept, order: None };
                    run(first, x, levels).map_err(|error| place.refuse(error))
                })
            })?;
            start += features.x.nrows();
        }
        Ok(start)
    }

    /// Two numbers for each row and class, of what is known of the class against the rest.
    fn of_odds<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        unseen: Option<&LevelCounts<'py>>,
        of: impl Fn(&MixturePrediction<Bernoulli>) -> kalmia::Result<[f64; 2]> + Send + Sync,
    ) -> PyResult<Pair<'py>> {
        let state = self.state(py)?;
        let learner = &state.learner;
        let (dim, classes) = (learner.dim(), learner.classes());
        let mut first = Vec::new();
        let mut second = Vec::new();
        let rows = self.each_block(py, x, dim, unseen, |_, x, unseen| {
            for (i, x) in x.chunks_exact(dim).enumerate() {
                let unseen = unseen.get(i).copied().unwrap_or(0);
                for class in 0..classes {
                    let odds = learner.odds(x, class, unseen).map_err(|error| error.at_row(i))?;
                    let [a, b] = of(&odds)?;
                    first.push(a);
                    second.push(b);
                }
            }
            Ok(())
        })?;
        let table = |values| PyArray1::from_vec(py, values).reshape([rows, classes]);
        Ok((table(first)?, table(second)?))
    }
}

#[pymethods]
impl ClassLearner {
    /// The probability of each class in one row.
    ///
    /// Parameters
    /// ----------
    /// x : array_like of shape (features,)
    ///     Features.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (classes,)
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Numbers<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let state = self.state(py)?;
        let x = self.row(&x, state.learner.dim())?;
        Ok(PyArray1::from_vec(py, state.learner.predict(&x).map_err(plain)?))
    }

    /// The probabilities of the classes.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, features)
    ///     Features, as for :meth:`learn_many`.
    /// unseen : array_like of shape (n,), optional
    ///     The number of levels per row that no row had. Each widens the prediction by its prior.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n, classes)
    #[pyo3(signature = (X, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_many<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let state = self.state(py)?;
        let learner = &state.learner;
        let mut found = Vec::new();
        let rows = self.each_block(py, X, learner.dim(), unseen.as_ref(), |_, x, unseen| {
            let mut inputs = Inputs::new(learner.dim(), x)?;
            if !unseen.is_empty() {
                inputs = inputs.with_unseen(unseen)?;
            }
            learner.predict_many(inputs, &mut |_, probabilities| {
                found.extend_from_slice(probabilities);
                Ok(())
            })
        })?;
        PyArray1::from_vec(py, found).reshape([rows, learner.classes()])
    }

    /// The logarithm of the odds of each class against the rest, and its variance.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, features)
    ///     Features, as for :meth:`learn_many`.
    /// unseen : array_like of shape (n,), optional
    ///     As for :meth:`predict_many`.
    ///
    /// Returns
    /// -------
    /// mean, variance : ndarray of shape (n, classes)
    #[pyo3(signature = (X, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_linear<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        self.of_odds(py, X, unseen.as_ref(), |odds| Ok([odds.linear, odds.linear_variance]))
    }

    /// Intervals of the probabilities of the classes.
    ///
    /// Parameters
    /// ----------
    /// X : matrix of shape (n, features)
    ///     Features, as for :meth:`learn_many`.
    /// level : float
    ///     Probability of the intervals, strictly between 0 and 1.
    /// unseen : array_like of shape (n,), optional
    ///     As for :meth:`predict_many`.
    ///
    /// Returns
    /// -------
    /// lower, upper : ndarray of shape (n, classes)
    #[pyo3(signature = (X, level=0.95, *, unseen=None))]
    #[expect(non_snake_case, reason = "the name that Python users expect")]
    fn predict_interval<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        level: f64,
        unseen: Option<LevelCounts<'py>>,
    ) -> PyResult<Pair<'py>> {
        check_level(level)?;
        self.of_odds(py, X, unseen.as_ref(), |odds| {
            let interval = odds.mean_interval(level)?;
            Ok([interval.lower, interval.upper])
        })
    }
}
