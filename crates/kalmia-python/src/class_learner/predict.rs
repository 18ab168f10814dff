//! Probabilities of the classes, and what is known of them.

use super::ClassLearner;
use super::learn::check_sparse;
use crate::error::plain;
use crate::learner::{RowArgument, check_level};
use crate::querying::{AnyInputs, LevelCounts, Query};
use kalmia::learner::AnyCategorical;
use kalmia::predict::MixturePrediction;
use kalmia::{Bernoulli, Error, Inputs};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// Two numbers per row and class.
type Pair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// What is known of a class against the rest in row `i`.
fn odds(
    learner: &AnyCategorical,
    inputs: AnyInputs<'_>,
    i: usize,
    class: usize,
) -> kalmia::Result<MixturePrediction<Bernoulli>> {
    match (inputs, learner) {
        (AnyInputs::Dense(inputs), AnyCategorical::Dense(dense)) => {
            dense.odds(inputs.x(i), class, inputs.unseen(i))
        }
        (AnyInputs::Sparse(inputs), AnyCategorical::Wide(wide)) => {
            wide.odds(inputs.x(i), class, inputs.unseen(i))
        }
        (AnyInputs::Dense(inputs), AnyCategorical::Wide(wide)) => {
            wide.dense_odds(inputs.x(i), class, inputs.unseen(i))
        }
        (AnyInputs::Sparse(_), AnyCategorical::Dense(_)) => {
            Err(Error::State("sparse rows are for wide learners".into()))
        }
        (_, AnyCategorical::Ordinal(_)) => Err(Error::State(
            "ordered levels have no intervals of their probabilities; `predict_many` has these"
                .into(),
        )),
    }
}

impl ClassLearner {
    /// Rows to predict.
    fn query<'a, 'py>(
        &self,
        x: &'a Bound<'py, PyAny>,
        unseen: Option<&'a LevelCounts<'py>>,
    ) -> Query<'a, 'py> {
        let unseen = unseen.map(|unseen| unseen.as_array());
        Query { x, offset: None, unseen, intercept: self.intercept }
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
        self.query(x, unseen).each_block(py, learner, |inputs| {
            for i in 0..inputs.len() {
                for class in 0..classes {
                    let odds = odds(learner, inputs, i, class);
                    let [a, b] = of(&odds.map_err(|error| error.at_row(i))?)?;
                    first.push(a);
                    second.push(b);
                }
            }
            Ok(())
        })?;
        let rows = first.len() / classes;
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
        let mut take = |_: usize, probabilities: &[f64]| {
            found.extend_from_slice(probabilities);
            Ok(())
        };
        self.query(X, unseen.as_ref()).each_block(py, learner, |inputs| match inputs {
            AnyInputs::Dense(inputs) => learner.predict_many(inputs, &mut take),
            AnyInputs::Sparse(inputs) => learner.predict_sparse(inputs, &mut take),
        })?;
        let classes = learner.classes();
        let rows = found.len() / classes;
        PyArray1::from_vec(py, found).reshape([rows, classes])
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
