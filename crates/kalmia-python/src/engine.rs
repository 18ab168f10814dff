//! The learners behind the Python classes: any of the library's, its average, or a filter of a
//! custom family.

use crate::family::PyFamily;
use crate::prediction::Answer;
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, AnyLearner, Auto, Averaged, Covariance, Family, Filter, Learner, Mixture, Observer,
    Predict, Result, Rows,
};

/// A learner of one of the kinds that Python can hold.
#[derive(Debug, Clone)]
pub enum Engine {
    /// Built-in family.
    Plain(AnyLearner),
    /// The mean of a plain learner's iterates.
    Averaged(Averaged<AnyLearner>),
    /// A filter of a custom family.
    CustomFilter(Filter<PyFamily, AnyRule>),
    /// The default mixture over a custom family.
    CustomAuto(Auto<PyFamily>),
}

macro_rules! each {
    ($engine:expr, $inner:ident => $body:expr) => {
        match $engine {
            Engine::Plain($inner) => $body,
            Engine::Averaged($inner) => $body,
            Engine::CustomFilter($inner) => $body,
            Engine::CustomAuto($inner) => $body,
        }
    };
}

impl Engine {
    pub fn dim(&self) -> usize {
        each!(self, inner => inner.dim())
    }

    pub fn count(&self) -> u64 {
        each!(self, inner => inner.count())
    }

    pub fn coefficients(&self) -> &[f64] {
        each!(self, inner => inner.coefficients())
    }

    pub fn learn(&mut self, rows: Rows<'_>, observer: Option<&mut dyn Observer>) -> Result<()> {
        each!(self, inner => inner.learn_observed(rows, observer))
    }

    /// The method's name.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Plain(inner) => inner.method(),
            Self::Averaged(inner) => inner.inner().method(),
            Self::CustomFilter(inner) => kalmia::Rule::name(inner.rule()),
            Self::CustomAuto(_) => "auto",
        }
    }

    /// Whether the coefficients are followed as they drift (`Some(true)`), or a drift was seen that
    /// nobody follows (`Some(false)`).
    pub fn drift(&self) -> Option<bool> {
        let report = match self {
            Self::Plain(AnyLearner::Auto(inner)) => inner.drift_report(),
            Self::CustomAuto(inner) => inner.drift_report(),
            _ => return None,
        };
        report.map_or(Some(true), |report| report.drift().then_some(false))
    }

    /// The built-in family, at its estimated dispersion.
    pub fn family(&self) -> Option<AnyFamily> {
        match self {
            Self::Plain(inner) => Some(inner.family()),
            Self::Averaged(inner) => Some(inner.inner().family()),
            _ => None,
        }
    }

    /// The family's name.
    pub fn family_name(&self) -> &'static str {
        match self {
            Self::Plain(inner) => inner.family().name(),
            Self::Averaged(inner) => inner.inner().family().name(),
            Self::CustomFilter(inner) => inner.family().name(),
            Self::CustomAuto(inner) => inner.family().name(),
        }
    }

    /// The custom family, whose callables may have raised.
    pub fn custom(&self) -> Option<PyFamily> {
        match self {
            Self::CustomFilter(inner) => Some(inner.family()),
            Self::CustomAuto(inner) => Some(inner.family()),
            _ => None,
        }
    }

    /// The plain learner, if it is one.
    pub fn as_plain(&self) -> Option<&AnyLearner> {
        if let Self::Plain(inner) = self { Some(inner) } else { None }
    }

    /// What is known of `y` at `x`; the mean of iterates predicts as a plug-in.
    pub fn predict(&self, x: &[f64], offset: f64) -> Result<Answer> {
        match self {
            Self::Plain(inner) => inner.predict(x, offset).map(Answer::Plain),
            Self::Averaged(inner) => {
                Mixture::new(vec![(1.0, inner.predict(x, offset)?)]).map(Answer::Plain)
            }
            Self::CustomFilter(inner) => {
                Mixture::new(vec![(1.0, inner.predict(x, offset)?)]).map(Answer::Custom)
            }
            Self::CustomAuto(inner) => inner.predict(x, offset).map(Answer::Custom),
        }
    }

    /// $P$ row after row, where the learner has a belief; of the online Newton step, its $P_t$.
    pub fn covariance(&self) -> Option<Vec<f64>> {
        let dim = self.dim();
        let entries = |entry: &dyn Fn(usize, usize) -> Option<f64>| {
            let mut matrix = vec![0.0; dim * dim];
            for i in 0..dim {
                for j in 0..=i {
                    let value = entry(i, j)?;
                    matrix[i * dim + j] = value;
                    matrix[j * dim + i] = value;
                }
            }
            Some(matrix)
        };
        match self {
            Self::Plain(AnyLearner::Auto(inner)) => entries(&|i, j| inner.covariance_entry(i, j)),
            Self::Plain(AnyLearner::Filter(inner)) => Some(inner.covariance().matrix()),
            Self::Plain(AnyLearner::Newton(inner)) => Some(inner.covariance().matrix()),
            Self::CustomFilter(inner) => Some(inner.covariance().matrix()),
            Self::CustomAuto(inner) => entries(&|i, j| inner.covariance_entry(i, j)),
            Self::Plain(AnyLearner::Sgd(_) | AnyLearner::Averaged(_)) | Self::Averaged(_) => None,
        }
    }

    /// Standard errors, if the learner keeps a covariance of its coefficients.
    pub fn standard_errors(&self) -> Option<Vec<f64>> {
        each!(self, inner => inner.standard_errors())
    }

    /// Whether the learner keeps a covariance of its coefficients; otherwise it predicts as a
    /// plug-in.
    pub fn has_belief(&self) -> bool {
        match self {
            Self::Plain(inner) => inner.has_covariance(),
            Self::Averaged(_) => false,
            Self::CustomFilter(_) | Self::CustomAuto(_) => true,
        }
    }

    /// Appends a feature that was zero so far.
    pub fn grow(&mut self) -> Result<()> {
        each!(self, inner => inner.grow())
    }
}
