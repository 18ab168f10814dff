//! A learner or a prediction of either a built-in family or one made of Python callables.

use crate::family::PyFamily;
use crate::wide::WideRows;
use kalmia::covariance::Covariance;
use kalmia::predict::MixturePrediction;
use kalmia::{AnyFamily, AnyLearner, Error, Family, Learner, Predict, Result};
use kalmia_model::DriftStatus;

/// The same thing for a built-in (`B`) and for a custom family (`C`).
#[derive(Debug, Clone)]
pub enum ByFamily<B, C> {
    BuiltIn(B),
    Custom(C),
}

/// The learner behind a Python object.
pub type AnyModel = ByFamily<AnyLearner, AnyLearner<PyFamily>>;

/// The prediction behind a Python object.
pub type AnyPrediction = ByFamily<MixturePrediction<AnyFamily>, MixturePrediction<PyFamily>>;

/// One expression for both families.
macro_rules! either {
    ($value:expr, $inner:ident => $body:expr) => {
        match $value {
            $crate::any::ByFamily::BuiltIn($inner) => $body,
            $crate::any::ByFamily::Custom($inner) => $body,
        }
    };
}
pub(crate) use either;

impl AnyModel {
    /// Number of coefficients.
    pub fn dim(&self) -> usize {
        either!(self, inner => inner.dim())
    }

    /// Whether rows are sparse.
    pub fn is_wide(&self) -> bool {
        either!(self, inner => matches!(inner, AnyLearner::Wide(_)))
    }

    /// What is known of `y` in a single sparse row.
    pub fn predict_sparse(&self, row: &WideRows, offset: f64) -> Result<AnyPrediction> {
        let offsets = [offset];
        let inputs = row.inputs()?.with_offsets(&offsets)?;
        let missing = || Error::State("there is no row to predict".into());
        Ok(match self {
            Self::BuiltIn(inner) => {
                let mut found = None;
                inner.predict_sparse(inputs, &mut |_, one| {
                    found = Some(one.clone());
                    Ok(())
                })?;
                ByFamily::BuiltIn(found.ok_or_else(missing)?)
            }
            Self::Custom(inner) => {
                let mut found = None;
                inner.predict_sparse(inputs, &mut |_, one| {
                    found = Some(one.clone());
                    Ok(())
                })?;
                ByFamily::Custom(found.ok_or_else(missing)?)
            }
        })
    }

    /// What is known of `y` at `x`.
    pub fn predict(&self, x: &[f64], offset: f64) -> Result<AnyPrediction> {
        Ok(match self {
            Self::BuiltIn(inner) => ByFamily::BuiltIn(inner.predict(x, offset)?),
            Self::Custom(inner) => ByFamily::Custom(inner.predict(x, offset)?),
        })
    }

    /// The custom family, whose callables may have raised.
    pub fn custom_family(&self) -> Option<PyFamily> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Custom(inner) => Some(inner.family()),
        }
    }

    /// The learner, if its family is built in.
    pub fn built_in(&self) -> Option<&AnyLearner> {
        match self {
            Self::BuiltIn(inner) => Some(inner),
            Self::Custom(_) => None,
        }
    }
}

/// The covariance of the coefficients, row by row; for the online Newton step, its matrix `P`.
/// `None` for learners that keep no matrix, or only a part of it.
pub fn covariance<F: Family>(learner: &AnyLearner<F>) -> Option<Vec<f64>> {
    match learner {
        AnyLearner::Auto(_) => {
            let dim = learner.dim();
            let mut matrix = vec![0.0; dim * dim];
            for i in 0..dim {
                for j in 0..=i {
                    let value = learner.covariance_entry(i, j)?;
                    matrix[i * dim + j] = value;
                    matrix[j * dim + i] = value;
                }
            }
            Some(matrix)
        }
        AnyLearner::Filter(inner) => Some(inner.covariance().matrix()),
        AnyLearner::Newton(inner) => Some(inner.covariance().matrix()),
        AnyLearner::Wide(_) | AnyLearner::Sgd(_) | AnyLearner::Averaged(_) => None,
    }
}

/// What `auto` knows of a drift: `"followed"`, `"seen"` but not followed, or nothing.
pub fn drift<F: Family>(learner: &AnyLearner<F>) -> Option<&'static str> {
    match DriftStatus::new(learner, None)? {
        DriftStatus { followed: true, .. } => Some("followed"),
        DriftStatus { seen, .. } => seen.then_some("seen"),
    }
}

/// What there is to say about it, beside the progressive loss.
pub fn drift_note<F: Family>(learner: &AnyLearner<F>, loss: Option<f64>) -> Option<String> {
    DriftStatus::new(learner, loss)?.note("drift=\"adapt\"")
}
