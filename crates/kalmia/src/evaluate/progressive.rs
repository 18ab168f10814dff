//! Progressive evaluation: every row is predicted before it is learned, so each row is a test row.

use super::deviance::MIN_PROBABILITY;
use super::report::{Classification, Coverage, Regression, Report};
use super::{Cadence, Calibration, Ranking, Trace, TracePoint, deviance};
use crate::error::{Error, Result, require};
use crate::family::{AnyFamily, Family};
use crate::observe::{Observer, RowView};
use crate::predict::Interval;
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Probabilities within this of one half count as ties.
const MAX_TIE: f64 = 1e-9;

/// The normal quantile of a 95 % interval.
const QUANTILE_95: f64 = 1.959_963_984_540_054;

/// A product of probabilities below this is replaced by its logarithm before it underflows.
const MIN_PRODUCT: f64 = 1e-280;

fn one() -> f64 {
    1.0
}

/// Running sums of predictions against targets, for one family; part of model files, and continues
/// bit for bit.
///
/// The loss of a row is half its [`deviance`]: the log-loss for labels, half the squared error for
/// the Gaussian family. For comparison there is the loss of the *constant predictor*, which
/// predicts each row by the weighted mean of the rows before it. That mean is smoothed with
/// Jeffreys' prior, so that a start of all 0 or all 1 never gives infinite loss: $(\frac12 + \sum
/// wy)/(1 + \sum wn)$ times $n$ for labels, successes and proportions, $(\frac12+\sum wy)/\sum w$
/// for counts. The first row is predicted by $\frac12$ for labels; in the other families it costs
/// the constant predictor nothing.
///
/// Rows of weight 0 count in [`Report::rows`] and nowhere else.
///
/// ```
/// use kalmia::evaluate::Progressive;
/// let mut progressive = Progressive::new("bernoulli".parse()?);
/// for (y, p) in [(1.0, 0.8), (0.0, 0.3), (1.0, 0.4)] {
///     progressive.row(y, p, None, 1.0)?;
/// }
/// let report = progressive.report();
/// assert!((report.loss + (0.8f64 * 0.7 * 0.4).ln() / 3.0).abs() < 1e-15);
/// assert_eq!(report.classification.unwrap().accuracy, 2.0 / 3.0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progressive {
    family: AnyFamily,
    rows: u64,
    weight: f64,
    loss: f64,
    constant_loss: f64,
    /// Product of probabilities whose logarithm `constant_loss` does not yet contain.
    #[serde(default = "one")]
    chances: f64,
    /// $\sum wy$.
    total: f64,
    absolute: f64,
    square: f64,
    correct: f64,
    interval_weight: f64,
    covered: f64,
    width: f64,
    labels: Option<(Ranking, Calibration)>,
    trace: Option<Trace>,
}

impl Progressive {
    /// Without rows.
    pub fn new(family: AnyFamily) -> Self {
        let labels = matches!(family, AnyFamily::Bernoulli(_)).then(Default::default);
        Self {
            family,
            rows: 0,
            weight: 0.0,
            loss: 0.0,
            constant_loss: 0.0,
            chances: 1.0,
            total: 0.0,
            absolute: 0.0,
            square: 0.0,
            correct: 0.0,
            interval_weight: 0.0,
            covered: 0.0,
            width: 0.0,
            labels,
            trace: None,
        }
    }

    /// Also keeps the mean loss after earlier numbers of rows.
    pub fn with_trace(mut self, cadence: Cadence) -> Result<Self> {
        self.trace = Some(Trace::new(cadence)?);
        Ok(self)
    }

    /// Counts a row: its target, the mean and the interval that were predicted for it, its weight.
    /// The level of the intervals is up to the caller.
    pub fn row(
        &mut self,
        y: f64,
        mean: f64,
        interval: Option<Interval>,
        weight: f64,
    ) -> Result<()> {
        let Some(y) = self.family.canonical(y) else {
            let family = self.family.name().to_owned();
            let expected = self.family.domain().to_owned();
            return Err(Error::Target { row: self.rows as usize, value: y, family, expected });
        };
        require(mean.is_finite(), "mean", mean, "must be finite")?;
        require(
            weight.is_finite() && weight >= 0.0,
            "weight",
            weight,
            "must be finite, 0 or more",
        )?;
        self.count(y, mean, 0.5 * deviance(&self.family, y, mean), interval, weight);
        Ok(())
    }

    fn count(&mut self, y: f64, mean: f64, loss: f64, interval: Option<Interval>, weight: f64) {
        self.rows += 1;
        if weight > 0.0 {
            self.count_constant(y, weight);
            self.weight += weight;
            self.loss += weight * loss;
            self.total += weight * y;
            self.absolute += weight * (y - mean).abs();
            self.square += weight * (y - mean) * (y - mean);
            if let Some((ranking, calibration)) = &mut self.labels {
                // a tie, as before the first row, counts as half; rounding must not decide it
                let tie = (mean - 0.5).abs() < MAX_TIE;
                self.correct +=
                    weight * if tie { 0.5 } else { f64::from((mean > 0.5) == (y > 0.5)) };
                ranking.row(y, mean, weight);
                calibration.row(y, mean, weight);
            }
            if let Some(Interval { lower, upper }) = interval {
                self.interval_weight += weight;
                self.covered += if lower <= y && y <= upper { weight } else { 0.0 };
                self.width += weight * (upper - lower);
            }
        }
        let loss = self.loss;
        let weight = self.weight;
        if let Some(trace) = self.trace.as_mut().filter(|_| weight > 0.0) {
            trace.record(self.rows, || loss / weight);
        }
    }

    /// Adds the constant predictor's loss; for labels, one logarithm per some hundred rows.
    fn count_constant(&mut self, y: f64, weight: f64) {
        match (self.constant(), &self.family) {
            (Some(constant), AnyFamily::Bernoulli(_)) if weight == 1.0 => {
                self.chances *= if y > 0.5 { constant } else { 1.0 - constant };
                if self.chances < MIN_PRODUCT {
                    self.constant_loss -= self.chances.ln();
                    self.chances = 1.0;
                }
            }
            (constant, family) => {
                self.constant_loss +=
                    weight * constant.map_or(0.0, |constant| 0.5 * deviance(family, y, constant));
            }
        }
    }

    /// The constant predictor's mean for the next row; `None` before the first, unless for labels.
    pub fn constant(&self) -> Option<f64> {
        let smoothed =
            |trials: f64| Some(trials * (0.5 + self.total) / (1.0 + self.weight * trials));
        match &self.family {
            AnyFamily::Bernoulli(_) => smoothed(1.0),
            AnyFamily::Binomial(binomial) => smoothed(binomial.trials().unwrap_or(1) as f64),
            _ if self.weight == 0.0 => None,
            AnyFamily::Poisson(_) => Some((0.5 + self.total) / self.weight),
            AnyFamily::Gaussian(_) | AnyFamily::Gamma(_) => Some(self.total / self.weight),
        }
    }

    /// The family.
    pub fn family(&self) -> &AnyFamily {
        &self.family
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Mean loss so far.
    pub fn loss(&self) -> f64 {
        self.loss / self.weight
    }

    /// Mean loss of the constant predictor so far.
    pub fn constant_loss(&self) -> f64 {
        (self.constant_loss - self.chances.ln()) / self.weight
    }

    /// The mean loss after earlier numbers of rows; empty without [`Progressive::with_trace`].
    pub fn trace(&self) -> &[TracePoint] {
        self.trace.as_ref().map_or(&[], |trace| trace.points())
    }

    /// All averages.
    pub fn report(&self) -> Report {
        let mean = |sum: f64| sum / self.weight;
        let classification = self.labels.as_ref().map(|(ranking, calibration)| Classification {
            log_loss: mean(self.loss),
            accuracy: mean(self.correct),
            brier: mean(self.square),
            auc: ranking.auc(),
            auc_error: ranking.error_bound(),
            calibration_error: calibration.expected_error(),
            reliability: calibration.bins(),
        });
        let gaussian = matches!(self.family, AnyFamily::Gaussian(_));
        let intervals = self.interval_weight > 0.0;
        Report {
            rows: self.rows,
            weight: self.weight,
            loss: mean(self.loss),
            constant_loss: self.constant_loss(),
            deviance: 2.0 * mean(self.loss),
            classification,
            regression: gaussian
                .then(|| Regression { rmse: mean(self.square).sqrt(), mae: mean(self.absolute) }),
            coverage: intervals.then(|| Coverage {
                covered: self.covered / self.interval_weight,
                width: self.width / self.interval_weight,
            }),
        }
    }
}

/// Plug-in means as the learner reports them, with 95 % intervals $m + o \pm 1.96\sqrt{\sigma^2+s}$
/// for the Gaussian family, $\sigma^2$ the noise variance as the learner knew it.
impl Observer for Progressive {
    fn row(&mut self, row: &RowView<'_>) {
        let interval = self.family.normal_noise().map(|_| {
            let half = QUANTILE_95 * (row.dispersion + row.variance).sqrt();
            Interval { lower: row.mean - half, upper: row.mean + half }
        });
        let Observation { y, weight, .. } = row.observation;
        // for labels the learner has computed the logarithm, unless a weight has sharpened it
        let loss = match self.family {
            AnyFamily::Bernoulli(_) if weight == 1.0 => row.loss.clamp(0.0, -MIN_PROBABILITY.ln()),
            _ => 0.5 * deviance(&self.family, y, row.mean),
        };
        self.count(y, row.mean, loss, interval, weight);
    }

    fn uses_loss(&self) -> bool {
        matches!(self.family, AnyFamily::Bernoulli(_))
    }
}

#[cfg(test)]
mod tests;
