//! Probabilities of the classes, and what is known of them.

use super::ClassLearner;
use super::learn::{check_sparse, check_width};
use crate::error::{Rows as RowsOf, input, plain};
use crate::learner::{RowArgument, check_level};
use crate::rows::Features;
use crate::table;
use crate::wide::WideRows;
use kalmia::learner::AnyCategorical;
use kalmia::predict::MixturePrediction;
use kalmia::{Bernoulli, Error, Inputs, SparseInputs, SparseMatrix};
use numpy::{AllowTypeChange, PyArray1, PyArray2, PyArrayLike1, PyArrayMethods};
use pyo3::prelude::*;

/// A number of levels per row.
type LevelCounts<'py> = PyArrayLike1<'py, u32, AllowTypeChange>;

/// Two numbers per row and class.
type Pair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// The features of a block of rows.
enum BlockFeatures<'a> {
    /// As many numbers per row.
    Dense(usize, &'a [f64]),
    Sparse(SparseMatrix<'a>),
}

impl BlockFeatures<'_> {
    /// Calls `take` with the probabilities of each row.
    fn predict(
        &self,
        learner: &AnyCategorical,
        unseen: &[u32],
        take: &mut dyn FnMut(usize, &[f64]) -> kalmia::Result<()>,
    ) -> kalmia::Result<()> {
        match *self {
            Self::Dense(dim, x) => {
                let inputs = Inputs::new(dim, x)?;
                let known = unseen.is_empty();
                let inputs = if known { inputs } else { inputs.with_unseen(unseen)? };
                learner.predict_many(inputs, take)
            }
            Self::Sparse(x) => {
                let inputs = SparseInputs::new(x);
                let known = unseen.is_empty();
                let inputs = if known { inputs } else { inputs.with_unseen(unseen)? };
                learner.predict_sparse(inputs, take)
            }
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Dense(dim, x) => x.len() / dim,
            Self::Sparse(x) => x.len(),
        }
    }

    /// What is known of a class against the rest in row `i`.
    fn odds(
        &self,
        learner: &AnyCategorical,
        i: usize,
        class: usize,
        unseen: u32,
    ) -> kalmia::Result<MixturePrediction<Bernoulli>> {
        match (self, learner) {
            (Self::Dense(dim, x), AnyCategorical::Dense(dense)) => {
                dense.odds(&x[i * dim..(i + 1) * dim], class, unseen)
            }
            (Self::Sparse(x), AnyCategorical::Wide(wide)) => wide.odds(x.row(i), class, unseen),
            (Self::Dense(dim, x), AnyCategorical::Wide(wide)) => {
                wide.dense_odds(&x[i * dim..(i + 1) * dim], class, unseen)
            }
            (Self::Sparse(_), AnyCategorical::Dense(_)) => {
                Err(Error::State("sparse rows are for wide learners".into()))
            }
        }
    }
}

impl ClassLearner {
    /// Calls `run` with the features and the unseen levels of each block of rows.
    fn each_block<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        learner: &AnyCategorical,
        unseen: Option<&LevelCounts<'py>>,
        mut run: impl FnMut(BlockFeatures<'_>, &[u32]) -> kalmia::Result<()> + Send,
    ) -> PyResult<usize> {
        let unseen = unseen.map_or(Vec::new(), |unseen| unseen.as_array().to_vec());
        let mut run = |first: usize, n: usize, x: BlockFeatures<'_>| -> PyResult<()> {
            let levels = match unseen.is_empty() {
                true => &[][..],
                false => unseen
                    .get(first..first + n)
                    .ok_or_else(|| input("unseen must hold one number per row"))?,
            };
            let place = RowsOf { first, intercept: self.intercept, order: None };
            run(x, levels).map_err(|error| place.refuse(error))
        };
        if let Ok(rows) = x.cast::<WideRows>() {
            check_sparse(learner)?;
            let rows = rows.get();
            py.detach(|| {
                rows.each_block_in(None, |first, n, x| run(first, n, BlockFeatures::Sparse(x)))
            })?;
            return Ok(rows.rows());
        }
        let mut start = 0;
        for table in table::blocks(py, x)? {
            let table = table?;
            let features = Features { x: table.as_array(), intercept: self.intercept };
            check_width(learner, &features)?;
            let dim = features.dim();
            py.detach(|| {
                features.each_block_in(None, |first, n, x| {
                    run(start + first, n, BlockFeatures::Dense(dim, x))
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
        let classes = learner.classes();
        let mut first = Vec::new();
        let mut second = Vec::new();
        let rows = self.each_block(py, x, learner, unseen, |x, unseen| {
            for i in 0..x.rows() {
                let unseen = unseen.get(i).copied().unwrap_or(0);
                for class in 0..classes {
                    let odds = x.odds(learner, i, class, unseen);
                    let odds = odds.map_err(|error| error.at_row(i))?;
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
        x: RowArgument<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let learner = &self.state(py)?.learner;
        let mut found = Vec::new();
        let mut take = |_: usize, probabilities: &[f64]| {
            found.extend_from_slice(probabilities);
            Ok(())
        };
        match x {
            RowArgument::Wide(row) => {
                check_sparse(learner)?;
                let predicted = row.get().inputs();
                predicted.and_then(|inputs| learner.predict_sparse(inputs, &mut take))
            }
            RowArgument::Dense(x) => {
                let x = self.row(&x, learner)?;
                let inputs = Inputs::new(x.len(), &x);
                inputs.and_then(|inputs| learner.predict_many(inputs, &mut take))
            }
        }
        .map_err(plain)?;
        Ok(PyArray1::from_vec(py, found))
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
        let rows = self.each_block(py, X, learner, unseen.as_ref(), |x, unseen| {
            x.predict(learner, unseen, &mut |_, probabilities| {
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
