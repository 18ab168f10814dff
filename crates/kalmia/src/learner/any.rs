//! A learner chosen at run time, for the command, the bindings and model files.

use super::{
    Auto, AutoState, AveragedSgd, AveragedSgdState, Filter, FilterState, Learner, Merged, Observer,
    OnlineNewtonState, OnlineNewtonStep,
};
use crate::covariance::Covariance;
use crate::error::{Error, Result};
use crate::family::AnyFamily;
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::Rows;
use crate::rule::AnyRule;
use serde::{Deserialize, Serialize};

/// One of the learners of the crate, over a family chosen at run time.
#[derive(Debug, Clone)]
pub enum AnyLearner {
    /// The default mixture.
    Auto(Auto<AnyFamily>),
    /// A single filter.
    Filter(Filter<AnyFamily, AnyRule>),
    /// The online Newton step.
    Newton(OnlineNewtonStep<AnyFamily>),
    /// Averaged stochastic gradient descent.
    Sgd(AveragedSgd<AnyFamily>),
}

/// The state of an [`AnyLearner`].
#[allow(clippy::large_enum_variant)] // one at a time, on its way to or from a file
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "learner", rename_all = "snake_case")]
pub enum AnyState {
    /// Of the default mixture.
    Auto(AutoState<AnyFamily>),
    /// Of a filter.
    Filter(FilterState<AnyFamily, AnyRule>),
    /// Of the online Newton step.
    Newton(OnlineNewtonState<AnyFamily>),
    /// Of averaged stochastic gradient descent.
    Sgd(AveragedSgdState<AnyFamily>),
}

macro_rules! each {
    ($any:expr, $inner:ident => $body:expr) => {
        match $any {
            AnyLearner::Auto($inner) => $body,
            AnyLearner::Filter($inner) => $body,
            AnyLearner::Newton($inner) => $body,
            AnyLearner::Sgd($inner) => $body,
        }
    };
}

impl AnyLearner {
    /// Takes the state.
    pub fn state(&self) -> AnyState {
        match self {
            Self::Auto(inner) => AnyState::Auto(inner.state()),
            Self::Filter(inner) => AnyState::Filter(inner.state()),
            Self::Newton(inner) => AnyState::Newton(inner.state()),
            Self::Sgd(inner) => AnyState::Sgd(inner.state()),
        }
    }

    /// A learner that goes on where the state was taken.
    pub fn restore(state: AnyState) -> Result<Self> {
        Ok(match state {
            AnyState::Auto(state) => Self::Auto(Auto::restore(state)?),
            AnyState::Filter(state) => Self::Filter(Filter::restore(state)?),
            AnyState::Newton(state) => Self::Newton(OnlineNewtonStep::restore(state)?),
            AnyState::Sgd(state) => Self::Sgd(AveragedSgd::restore(state)?),
        })
    }

    /// The name of the method, as in `--method`.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Auto(_) => "auto",
            Self::Filter(inner) => crate::rule::Rule::name(inner.rule()),
            Self::Newton(_) => "ons",
            Self::Sgd(_) => "asgd",
        }
    }

    /// The family, at the estimated dispersion where it is learned.
    pub fn family(&self) -> AnyFamily {
        match self {
            Self::Auto(inner) => inner.family(),
            Self::Filter(inner) => *inner.family(),
            Self::Newton(inner) => *inner.family(),
            Self::Sgd(inner) => *inner.family(),
        }
    }

    /// What is known of `y` at `x` before it is seen; learners without a belief know their linear
    /// predictor for certain.
    pub fn predict(&self, x: &[f64], offset: f64) -> Result<MixturePrediction<AnyFamily>> {
        let alone = |prediction: Result<Prediction<AnyFamily>>| {
            MixturePrediction::new(vec![(1.0, prediction?)])
        };
        match self {
            Self::Auto(inner) => inner.predict(x, offset),
            Self::Filter(inner) => alone(inner.predict(x, offset)),
            Self::Newton(inner) => alone(inner.predict(x, offset)),
            Self::Sgd(inner) => alone(inner.predict(x, offset)),
        }
    }

    /// Entry $(i,j)$ of the coefficients' covariance, where the learner has a belief.
    pub fn covariance_entry(&self, i: usize, j: usize) -> Option<f64> {
        match self {
            Self::Auto(inner) => Some(inner.covariance_entry(i, j)),
            Self::Filter(inner) => Some(inner.covariance().entry(i, j)),
            Self::Newton(_) | Self::Sgd(_) => None,
        }
    }

    /// Standard errors of the coefficients, where the learner has a belief.
    pub fn standard_errors(&self) -> Option<Vec<f64>> {
        (0..self.dim()).map(|j| self.covariance_entry(j, j).map(f64::sqrt)).collect()
    }

    /// Degrees of freedom of the coefficients' intervals (infinite but for a learned noise).
    pub fn degrees_of_freedom(&self) -> f64 {
        if let Self::Auto(inner) = self { inner.degrees_of_freedom() } else { f64::INFINITY }
    }

    /// Appends a feature that was zero in every row so far: in a filter with the prior variance of
    /// its last coefficient.
    pub fn grow(&mut self) -> Result<()> {
        match self {
            Self::Auto(inner) => {
                inner.grow();
                Ok(())
            }
            Self::Filter(inner) => {
                let last = inner.dim().checked_sub(1).map_or(1.0, |j| inner.prior().variance(j));
                inner.grow(last)
            }
            Self::Newton(_) | Self::Sgd(_) => {
                let method = self.method();
                Err(Error::State(format!(
                    "method {method} has a fixed number of features; use auto, or a filter such as moment"
                )))
            }
        }
    }

    /// Two learners made one; see [`Merged`] for what it is worth.
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        let wrap = |merged: Merged<Filter<AnyFamily, AnyRule>>| match merged {
            Merged::Exact(inner) => Merged::Exact(Self::Filter(inner)),
            Merged::Approximate(inner) => Merged::Approximate(Self::Filter(inner)),
        };
        match (self, other) {
            (Self::Filter(a), Self::Filter(b)) => a.merge(b).map(wrap),
            (Self::Auto(a), Self::Auto(b)) => Ok(match a.merge(b)? {
                Merged::Exact(inner) => Merged::Exact(Self::Auto(inner)),
                Merged::Approximate(inner) => Merged::Approximate(Self::Auto(inner)),
            }),
            _ => Err(Error::State(format!(
                "a model of method {} cannot be merged with one of {}",
                self.method(),
                other.method()
            ))),
        }
    }
}

impl Learner for AnyLearner {
    fn dim(&self) -> usize {
        each!(self, inner => inner.dim())
    }

    fn count(&self) -> u64 {
        each!(self, inner => inner.count())
    }

    fn coefficients(&self) -> &[f64] {
        each!(self, inner => inner.coefficients())
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        each!(self, inner => inner.learn_observed(rows, observer))
    }
}
