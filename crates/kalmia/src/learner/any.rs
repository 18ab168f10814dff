//! A learner chosen at run time, for the command, the bindings and model files.

mod merge;

use super::{
    Auto, AutoState, Averaged, AveragedSgd, AveragedSgdState, AveragedState, Filter, FilterState,
    Learner, OnlineNewtonState, OnlineNewtonStep, Predict, Wide, WideState,
};
use crate::covariance::{Factored, Kernel};
use crate::error::Result;
use crate::family::{AnyFamily, Family};
use crate::linalg::require_memory;
use crate::observe::Observer;
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::{Inputs, Rows};
use crate::rule::{AnyRule, Rule};
use crate::sparse::{SparseInputs, SparseRows};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One of the learners of the crate, over a family `F` that is by default chosen at run time too.
#[derive(Debug, Clone)]
pub enum AnyLearner<F = AnyFamily> {
    /// The default mixture.
    Auto(Auto<F>),
    /// The default mixture for sparse and wide rows.
    Wide(Box<Wide<F>>),
    /// A single filter.
    Filter(Filter<F, AnyRule>),
    /// The online Newton step.
    Newton(OnlineNewtonStep<F>),
    /// Averaged stochastic gradient descent.
    Sgd(AveragedSgd<F>),
    /// The mean of another learner's iterates.
    Averaged(Box<Averaged<AnyLearner<F>>>),
}

/// The state of an [`AnyLearner`].
#[allow(clippy::large_enum_variant)] // one at a time, on its way to or from a file
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "learner", rename_all = "snake_case")]
pub enum AnyState<F = AnyFamily> {
    /// Of the default mixture.
    Auto(AutoState<F>),
    /// Of the default mixture for sparse and wide rows.
    Wide(WideState<F>),
    /// Of a filter.
    Filter(FilterState<F, AnyRule>),
    /// Of the online Newton step.
    Newton(OnlineNewtonState<F>),
    /// Of averaged stochastic gradient descent.
    Sgd(AveragedSgdState<F>),
    /// Of the mean of another learner's iterates.
    Averaged(Box<AveragedState<AnyState<F>>>),
}

macro_rules! each {
    ($any:expr, $inner:ident => $body:expr) => {
        match $any {
            AnyLearner::Auto($inner) => $body,
            AnyLearner::Wide($inner) => $body,
            AnyLearner::Filter($inner) => $body,
            AnyLearner::Newton($inner) => $body,
            AnyLearner::Sgd($inner) => $body,
            AnyLearner::Averaged($inner) => $body,
        }
    };
}

impl<F: Family> AnyLearner<F> {
    /// The mean of another learner's iterates.
    pub fn averaged(inner: Self) -> Self {
        Self::Averaged(Box::new(Averaged::new(inner)))
    }

    /// The state, to be stored.
    pub fn state(&self) -> AnyState<F> {
        match self {
            Self::Auto(inner) => AnyState::Auto(inner.state()),
            Self::Wide(inner) => AnyState::Wide(inner.state()),
            Self::Filter(inner) => AnyState::Filter(inner.state()),
            Self::Newton(inner) => AnyState::Newton(inner.state()),
            Self::Sgd(inner) => AnyState::Sgd(inner.state()),
            Self::Averaged(inner) => AnyState::Averaged(Box::new(inner.state(Self::state))),
        }
    }

    /// A learner that continues from a state.
    pub fn restore(state: AnyState<F>) -> Result<Self> {
        Ok(match state {
            AnyState::Auto(state) => Self::Auto(Auto::restore(state)?),
            AnyState::Wide(state) => Self::Wide(Box::new(Wide::restore(state)?)),
            AnyState::Filter(state) => Self::Filter(Filter::restore(state)?),
            AnyState::Newton(state) => Self::Newton(OnlineNewtonStep::restore(state)?),
            AnyState::Sgd(state) => Self::Sgd(AveragedSgd::restore(state)?),
            AnyState::Averaged(state) => {
                Self::Averaged(Box::new(Averaged::restore(*state, Self::restore)?))
            }
        })
    }

    /// The name of the method, as in `--method`; for a mean of iterates that of the inner learner.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Auto(_) => "auto",
            Self::Wide(_) => "wide",
            Self::Filter(inner) => inner.rule().name(),
            Self::Newton(_) => "ons",
            Self::Sgd(_) => "asgd",
            Self::Averaged(inner) => inner.inner().method(),
        }
    }

    /// The method in words for messages: `ekf`, or `averaged ekf` for the mean of its iterates.
    pub fn title(&self) -> String {
        match self {
            Self::Averaged(inner) => format!("averaged {}", inner.inner().title()),
            _ => self.method().into(),
        }
    }

    /// Whether the learner keeps a covariance of its coefficients. Without one there are no
    /// standard errors, and predictions are plug-in.
    pub fn has_covariance(&self) -> bool {
        matches!(self, Self::Auto(_) | Self::Wide(_) | Self::Filter(_))
    }
}

impl<F: Family> AnyLearner<F> {
    /// Rows that the learner still holds, and so does its stored state: the first ones, until the
    /// scales of the features are known. Only the default learners hold any.
    pub fn kept_rows(&self) -> usize {
        match self {
            Self::Auto(inner) => inner.kept_rows(),
            Self::Wide(inner) => inner.kept_rows(),
            Self::Filter(_) | Self::Newton(_) | Self::Sgd(_) => 0,
            Self::Averaged(inner) => inner.inner().kept_rows(),
        }
    }

    /// Bytes that its matrices take with `dim` coefficients, at most: nearly all of its memory.
    /// Ask before a large learner is built or grows.
    ///
    /// ```
    /// use kalmia::{AnyFamily, AnyLearner, Auto};
    ///
    /// let family: AnyFamily = "poisson".parse()?;
    /// let learner = AnyLearner::Auto(Auto::new(family, 1)?);
    /// assert_eq!(learner.memory(10_000), 6 * 8 * 10_000 * 10_000);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn memory(&self, dim: usize) -> usize {
        let matrices = |count: usize| Factored::bytes(dim).saturating_mul(count);
        match self {
            Self::Auto(inner) => inner.memory(dim),
            Self::Wide(inner) => inner.memory(dim),
            // the covariance, and the copy that a refused row returns to
            Self::Filter(_) => matrices(2),
            // the same with the precision matrix, and the factor that a projection takes
            Self::Newton(_) => matrices(5),
            Self::Sgd(_) => 0,
            // the inner learner, and the copy that a refused row returns to
            Self::Averaged(inner) => inner.inner().memory(dim).saturating_mul(2),
        }
    }

    /// Refuses if the allocator has no room for a copy beside the learner. A clone would then end
    /// the process.
    pub fn require_copy(&self) -> Result<()> {
        require_memory(self.memory(self.dim()))
    }
}

impl<F: Family> Learner for AnyLearner<F> {
    fn dim(&self) -> usize {
        each!(self, inner => inner.dim())
    }

    fn count(&self) -> u64 {
        each!(self, inner => inner.count())
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        each!(self, inner => inner.coefficients())
    }

    fn takes_new_features(&self) -> bool {
        each!(self, inner => inner.takes_new_features())
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        each!(self, inner => inner.learn_observed(rows, observer))
    }

    fn learn_sparse_observed(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        each!(self, inner => inner.learn_sparse_observed(rows, observer))
    }

    fn linear(&self, x: &[f64]) -> Result<f64> {
        each!(self, inner => inner.linear(x))
    }
}

/// Hands predictions of single beliefs on as mixtures of one, in one allocation.
fn alone<F: Family>(
    take: &mut dyn FnMut(usize, &MixturePrediction<F>) -> Result<()>,
) -> impl FnMut(usize, &Prediction<F>) -> Result<()> {
    let mut mixture = None;
    move |i, prediction| {
        take(i, MixturePrediction::refill(&mut mixture, [(1.0, prediction.clone())])?)
    }
}

impl<F: Family> Predict for AnyLearner<F> {
    type Family = F;
    type Prediction = MixturePrediction<F>;

    fn family(&self) -> F {
        each!(self, inner => inner.family())
    }

    fn predict(&self, x: &[f64], offset: f64) -> Result<MixturePrediction<F>> {
        let alone =
            |prediction: Result<Prediction<F>>| MixturePrediction::new(vec![(1.0, prediction?)]);
        match self {
            Self::Auto(inner) => inner.predict(x, offset),
            Self::Wide(inner) => inner.predict(x, offset),
            Self::Filter(inner) => alone(inner.predict(x, offset)),
            Self::Newton(inner) => alone(inner.predict(x, offset)),
            Self::Sgd(inner) => alone(inner.predict(x, offset)),
            Self::Averaged(inner) => alone(inner.predict(x, offset)),
        }
    }

    fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &MixturePrediction<F>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Auto(inner) => inner.predict_many(inputs, take),
            Self::Wide(inner) => inner.predict_many(inputs, take),
            Self::Filter(inner) => inner.predict_many(inputs, &mut alone(take)),
            Self::Newton(inner) => inner.predict_many(inputs, &mut alone(take)),
            Self::Sgd(inner) => inner.predict_many(inputs, &mut alone(take)),
            Self::Averaged(inner) => inner.predict_many(inputs, &mut alone(take)),
        }
    }

    fn predict_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &MixturePrediction<F>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Auto(inner) => inner.predict_sparse(inputs, take),
            Self::Wide(inner) => inner.predict_sparse(inputs, take),
            Self::Filter(inner) => inner.predict_sparse(inputs, &mut alone(take)),
            Self::Newton(inner) => inner.predict_sparse(inputs, &mut alone(take)),
            Self::Sgd(inner) => inner.predict_sparse(inputs, &mut alone(take)),
            Self::Averaged(inner) => inner.predict_sparse(inputs, &mut alone(take)),
        }
    }

    fn predict_means(&self, inputs: Inputs<'_>, means: &mut [f64]) -> Result<()> {
        each!(self, inner => inner.predict_means(inputs, means))
    }

    fn predict_labels(&self, inputs: Inputs<'_>, labels: &mut [bool]) -> Result<()> {
        each!(self, inner => inner.predict_labels(inputs, labels))
    }

    fn covariance_entry(&self, i: usize, j: usize) -> Option<f64> {
        each!(self, inner => inner.covariance_entry(i, j))
    }

    fn standard_errors(&self) -> Option<Vec<f64>> {
        each!(self, inner => inner.standard_errors())
    }

    fn degrees_of_freedom(&self) -> f64 {
        each!(self, inner => inner.degrees_of_freedom())
    }

    fn grow(&mut self) -> Result<()> {
        each!(self, inner => inner.grow())
    }

    fn shrink(&mut self) -> Result<()> {
        each!(self, inner => inner.shrink())
    }
}
