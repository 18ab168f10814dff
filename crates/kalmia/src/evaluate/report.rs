//! What progressive evaluation reports, as plain numbers.

use super::ReliabilityBin;
use serde::Serialize;

/// The averages of a [`Progressive`](super::Progressive), weighted by the rows' weights; NaN before
/// the first row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Rows seen.
    pub rows: u64,
    /// Their total weight.
    pub weight: f64,
    /// Mean loss, half the mean deviance.
    pub loss: f64,
    /// Mean loss of the constant predictor on the same rows.
    pub constant_loss: f64,
    /// Mean deviance.
    pub deviance: f64,
    /// Labels only.
    pub classification: Option<Classification>,
    /// Gaussian family only.
    pub regression: Option<Regression>,
    /// If intervals were given.
    pub coverage: Option<Coverage>,
    /// Quantiles only.
    pub below: Option<Below>,
    /// The last half of the rows, which shows what was learned without its beginning.
    pub last_half: Option<LastHalf>,
}

/// The averages over the last half of the rows. It begins at one of eight rows per doubling, so it
/// may be longer by an eighth; `first_row` says where.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LastHalf {
    /// Its first row, from 1.
    pub first_row: u64,
    /// Its last row, which is the last of all.
    pub last_row: u64,
    /// Whether it is the last half of each of several parts that were merged; its rows are then
    /// counted as if they stood at the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_parts: bool,
    /// Mean loss.
    pub loss: f64,
    /// Mean loss of the constant predictor.
    pub constant_loss: f64,
    /// Pearson's dispersion, the mean of $(y-\mu)^2/V(\mu)$: the noise variance of the Gaussian
    /// family, and for counts how much more they vary than their family allows. `None` for labels,
    /// whose variance follows from their mean.
    pub dispersion: Option<f64>,
    /// Share of rows inside their interval, if intervals were given.
    pub covered: Option<f64>,
    /// Quantiles only: [`Below::share`] of these rows.
    pub share_below: Option<f64>,
}

/// How good predicted probabilities of labels were.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Classification {
    /// Mean of $-\ln p(y)$.
    pub log_loss: f64,
    /// Share of rows whose label was the more probable one; a tie counts as half.
    pub accuracy: f64,
    /// Mean of $(y-p)^2$.
    pub brier: f64,
    /// Area under the ROC curve.
    pub auc: f64,
    /// Bound on the error of `auc` ([`Ranking::error_bound`](super::Ranking::error_bound)).
    pub auc_error: f64,
    /// The expected calibration error.
    pub calibration_error: f64,
    /// The reliability table.
    pub reliability: Vec<ReliabilityBin>,
}

/// How far predicted means were off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Regression {
    /// Root mean square error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
}

/// How many targets stayed below their predicted quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Below {
    /// The level of the quantile, which the share should be close to.
    pub level: f64,
    /// Share of rows whose target was at most the prediction.
    pub share: f64,
}

/// How good intervals were.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coverage {
    /// Share of rows inside their interval, ends included.
    pub covered: f64,
    /// Mean width, if the ends were given.
    pub width: Option<f64>,
}
