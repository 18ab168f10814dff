//! The algorithms, built from a family, a rule and a covariance.

mod any;
mod any_categorical;
pub mod auto;
mod averaged;
mod averaged_sgd;
mod categorical;
mod checkpoint;
mod class_predictions;
mod drift;
mod feature_map;
mod filter;
mod information;
mod labels;
mod merge;
mod online_newton;
mod ordinal;
mod pool;
mod precision;
mod prior;
mod quantiles;
mod sample;
mod standing;
mod warm_up;
mod wide;

pub use any::{AnyLearner, AnyState};
pub use any_categorical::{AnyCategorical, AnyCategoricalState};
pub(crate) use auto::Residual;
pub use auto::{
    Auto, AutoBuilder, AutoState, Downweighting, DriftMode, DriftReport, MemberWeight, Outliers,
};
pub use averaged::{Averaged, AveragedState};
pub use averaged_sgd::{AveragedSgd, AveragedSgdState, default_step, oracle_step};
pub(crate) use categorical::check_class_rows;
pub use categorical::{
    Categorical, CategoricalBuilder, CategoricalState, ClassInformation, ClassInformationState,
    ClassObserver, ClassRow, Contrast,
};
pub use checkpoint::Checkpoint;
pub use drift::Drift;
pub use feature_map::{FeatureMap, FeatureTerm};
pub use filter::{Filter, FilterState};
pub(crate) use information::MIN_GAIN;
pub use information::{Heterogeneity, Information, InformationState};
pub(crate) use merge::Natural;
pub use merge::{Merged, MergedMany};
pub use online_newton::{
    OnlineNewtonSettings, OnlineNewtonState, OnlineNewtonStep, Projection, ln_ball_constant,
    project,
};
pub use ordinal::{Ordinal, OrdinalBuilder, OrdinalEstimate, OrdinalState};
pub use precision::PriorPrecision;
pub(crate) use precision::times;
pub use prior::Prior;
pub use quantiles::{QuantileObserver, QuantileRow, Quantiles, QuantilesBuilder, QuantilesState};
pub use sample::{PosteriorDraw, Sample};
pub use wide::{
    ContrastTable, Wide, WideBuilder, WideCategorical, WideCategoricalBuilder,
    WideCategoricalState, WideState, WideWeight,
};

use crate::error::{Error, Result, require_len};
use crate::family::Family;
use crate::observe::Observer;
use crate::predict::Predictive;
use crate::rows::{Inputs, Rows, check_features};
use crate::sparse::{SparseInputs, SparseRows};
use std::borrow::Cow;

/// An algorithm that learns rows one after the other.
///
/// A refused call changes nothing: every learner returns to its state before the call.
pub trait Learner {
    /// Number of coefficients.
    fn dim(&self) -> usize;

    /// Rows learned so far.
    fn count(&self) -> u64;

    /// The coefficients that predict now, [`dim`](Self::dim) of them.
    fn coefficients(&self) -> Cow<'_, [f64]>;

    /// Whether rows may bring features that [`dim`](Self::dim) does not count yet.
    #[doc(hidden)]
    fn takes_new_features(&self) -> bool {
        false
    }

    /// Learns rows in order and shows each to the observer first. How rows are cut into calls does
    /// not change the result. A batch with an illegal row is refused as a whole.
    fn learn_observed(&mut self, rows: Rows<'_>, observer: Option<&mut dyn Observer>)
    -> Result<()>;

    /// Learns rows in order.
    fn learn(&mut self, rows: Rows<'_>) -> Result<()> {
        self.learn_observed(rows, None)
    }

    /// As [`learn_observed`](Self::learn_observed), for sparse rows. Learners with a dense
    /// covariance write the batch out as dense rows, so their batches must fit into memory;
    /// [`RowView::x`](crate::RowView::x) is then the dense row, otherwise it is empty.
    fn learn_sparse_observed(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        rows.densified(self.dim(), |rows| self.learn_observed(rows, observer))
    }

    /// Learns sparse rows in order.
    fn learn_sparse(&mut self, rows: SparseRows<'_>) -> Result<()> {
        self.learn_sparse_observed(rows, None)
    }

    /// The linear predictor $\theta^\top x$.
    fn linear(&self, x: &[f64]) -> Result<f64> {
        check_features(x, self.dim())?;
        Ok(self.coefficients().iter().zip(x).map(|(t, x)| t * x).sum())
    }
}

/// Predictions, standard errors and growth of a learner. Separate from [`Learner`], so `dyn
/// Learner` needs no family.
pub trait Predict: Learner {
    /// The family of the targets.
    type Family: Family;
    /// What a prediction is.
    type Prediction: Predictive;

    /// The family, at the estimated dispersion if the learner estimates it.
    fn family(&self) -> Self::Family;

    /// The predictive distribution of `y` at `x`. Learners without a covariance take their linear
    /// predictor as certain (the plug-in prediction).
    fn predict(&self, x: &[f64], offset: f64) -> Result<Self::Prediction>;

    /// Calls `take(i, prediction)` with the predictive distribution of each row, in order. Faster
    /// than [`Predict::predict`] row by row, with the same results up to rounding: rows share the
    /// products with the covariance, and large ones use several cores. The first error ends it; an
    /// illegal row is found before the first call.
    fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &Self::Prediction) -> Result<()>,
    ) -> Result<()> {
        inputs.check(self.dim())?;
        for i in 0..inputs.len() {
            let prediction = self.predict(inputs.x(i), inputs.offset(i));
            take(i, &prediction.map_err(|error| error.at_row(i))?)?;
        }
        Ok(())
    }

    /// As [`predict_many`](Self::predict_many), for sparse rows.
    fn predict_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &Self::Prediction) -> Result<()>,
    ) -> Result<()> {
        predict_densified(self, inputs, take)
    }

    /// The predicted mean of each row. Where it does not depend on the covariance, as for the
    /// Gaussian family, the covariance is left out.
    fn predict_means(&self, inputs: Inputs<'_>, means: &mut [f64]) -> Result<()> {
        require_len("means", means.len(), inputs.len())?;
        self.predict_many(inputs, &mut |i, prediction| {
            means[i] = prediction.mean();
            Ok(())
        })
    }

    /// Whether the predicted mean of each row is above one half, for labels. Where the sign of the
    /// linear predictor decides, the covariance is left out.
    fn predict_labels(&self, inputs: Inputs<'_>, labels: &mut [bool]) -> Result<()> {
        require_len("labels", labels.len(), inputs.len())?;
        self.predict_many(inputs, &mut |i, prediction| {
            labels[i] = prediction.mean() > 0.5;
            Ok(())
        })
    }

    /// Entry $(i,j)$ of the coefficients' covariance, dispersion included; `None` for learners
    /// without one.
    fn covariance_entry(&self, i: usize, j: usize) -> Option<f64>;

    /// Standard errors of the coefficients; `None` for learners without a covariance.
    fn standard_errors(&self) -> Option<Vec<f64>> {
        (0..self.dim()).map(|j| self.covariance_entry(j, j).map(f64::sqrt)).collect()
    }

    /// Degrees of freedom for intervals of the coefficients: infinite unless the noise variance is
    /// estimated.
    fn degrees_of_freedom(&self) -> f64 {
        f64::INFINITY
    }

    /// Appends a feature that was zero in every row so far. Nothing already learned changes.
    /// Learners with a fixed number of features refuse with [`Error::State`].
    fn grow(&mut self) -> Result<()>;

    /// Removes the last feature, which must have been zero in every row: undoes
    /// [`grow`](Self::grow), for a caller whose row was refused afterwards. Refuses with
    /// [`Error::State`] if there is no such feature. The learner is then what it was; in the dense
    /// form, mirrored entries that differed in their last bit are equal.
    fn shrink(&mut self) -> Result<()> {
        Err(fixed_features("this learner"))
    }
}

/// [`Predict::predict_sparse`] by dense rows.
fn predict_densified<L: Predict + ?Sized>(
    learner: &L,
    inputs: SparseInputs<'_>,
    take: &mut dyn FnMut(usize, &L::Prediction) -> Result<()>,
) -> Result<()> {
    inputs.check(learner.dim() as u64)?;
    for first in (0..inputs.len()).step_by(labels::PREDICTED_ROWS) {
        let rows = first..inputs.len().min(first + labels::PREDICTED_ROWS);
        inputs.densified(learner.dim(), rows, |rows| {
            learner.predict_many(rows, &mut |i, prediction| take(first + i, prediction))
        })?;
    }
    Ok(())
}

/// The refusal of [`Predict::shrink`].
fn used_feature() -> Error {
    Error::State("the last feature is in use, or there is none: only unused ones can go".into())
}

/// The refusal of [`Predict::grow`].
fn fixed_features(what: &str) -> Error {
    Error::State(format!(
        "{what} has a fixed number of features; use auto, or a filter such as moment"
    ))
}
