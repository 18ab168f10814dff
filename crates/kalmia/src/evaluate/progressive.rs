//! Progressive evaluation: every row is predicted before it is learned, so each row is a test row.

mod averages;

use super::coverage::QUANTILE_95;
use super::deviance::{MIN_PROBABILITY, unit_variance};
use super::running_quantile::RunningQuantile;
use super::window::{MIN_PRODUCT, Window};
use super::{Cadence, Calibration, Predicted, Ranking, Trace, TracePoint, covers, deviance};
use crate::error::{Error, Result, require, require_count};
use crate::family::{AnyFamily, Family, FastPaths};
use crate::observe::{Observer, RowView};
use crate::predict::Interval;
use crate::rows::Observation;
use serde::{Deserialize, Serialize};

/// Probabilities within this of one half count as ties.
const MAX_TIE: f64 = 1e-9;

/// Intervals are judged in each of the first rows, and then in one row of a few: that takes an
/// incomplete integral, which would slow the learner down.
const JUDGED_ROWS: u64 = 1024;
const JUDGED_STRIDE: u64 = 16;

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
/// for counts. For a quantile it is the running quantile of the rows before, and for
/// Student's noise their median.
///
/// Both are judged on the same rows. The first row of weight is predicted by one half for labels
/// and trials. In the other families nobody can know its size, and its loss may exceed that of all
/// other rows: neither is judged on it.
///
/// Rows of weight 0 count in [`Report::rows`](super::Report::rows) and nowhere else.
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
    /// Quantiles only: weight of the rows whose target is at most the prediction.
    #[serde(default)]
    below: f64,
    labels: Option<(Ranking, Calibration)>,
    /// The constant predictor of a quantile, or of targets with outliers: not the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quantile: Option<RunningQuantile>,
    trace: Option<Trace>,
    /// Weight of the rows that the constant predictor knows and that are not judged.
    #[serde(default)]
    known_weight: f64,
    /// Whether a target of the Poisson family was no whole number: weights are then exposures.
    #[serde(default)]
    rates: bool,
    #[serde(default)]
    window: Window,
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
            below: 0.0,
            labels,
            quantile: family.location_level().map(RunningQuantile::new),
            trace: None,
            known_weight: 0.0,
            rates: false,
            window: Window::new(),
        }
    }

    /// Checks a restored value.
    pub(super) fn check_restored(&self) -> Result<()> {
        require_count("rows", self.rows)?;
        if self.labels.is_some() != matches!(self.family, AnyFamily::Bernoulli(_)) {
            return Err(Error::State("scores of labels belong to labels alone".into()));
        }
        if let Some((_, calibration)) = &self.labels {
            calibration.check()?;
        }
        if let Some(trace) = &self.trace {
            trace.check()?;
        }
        if self.quantile.is_some() != self.family.location_level().is_some() {
            return Err(Error::State("the constant predictor is that of another family".into()));
        }
        self.quantile.as_ref().map_or(Ok(()), RunningQuantile::check)?;
        self.window.check(self.rows)
    }

    /// Without rows, for an evaluation on rows that a model does not learn: the constant predictor
    /// starts from the mean of the rows that `learned` has seen, as the model does, so that no row
    /// is left out.
    ///
    /// ```
    /// use kalmia::evaluate::Progressive;
    /// let mut learned = Progressive::new("gaussian".parse()?);
    /// learned.row(300.0, 0.0, None, 1.0)?;
    /// let mut sums = Progressive::after(&learned);
    /// sums.row(302.0, 301.0, None, 1.0)?;
    /// assert_eq!((sums.report().loss, sums.report().constant_loss), (0.5, 2.0));
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn after(learned: &Self) -> Self {
        let known_weight = learned.known_weight + learned.weight;
        let quantile = learned.quantile.clone();
        Self { known_weight, total: learned.total, quantile, ..Self::new(learned.family) }
    }

    /// The sums over the rows of both, each predicted by its own learner; the last half is that of
    /// each. The mean loss after earlier numbers of rows is dropped. Refuses another family.
    ///
    /// ```
    /// use kalmia::evaluate::Progressive;
    /// let mut here = Progressive::new("bernoulli".parse()?);
    /// let mut there = here.clone();
    /// here.row(1.0, 0.8, None, 1.0)?;
    /// there.row(0.0, 0.4, None, 1.0)?;
    /// let both = here.merged(&there)?;
    /// assert_eq!(both.rows(), 2);
    /// assert!((both.loss() + (0.8f64 * 0.6).ln() / 2.0).abs() < 1e-15);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn merged(&self, other: &Self) -> Result<Self> {
        if std::mem::discriminant(&self.family) != std::mem::discriminant(&other.family) {
            return Err(Error::State("the scores are those of another family".into()));
        }
        let mut labels = self.labels.clone();
        if let (Some((ranking, calibration)), Some((other_ranking, other_calibration))) =
            (&mut labels, &other.labels)
        {
            ranking.merge(other_ranking);
            calibration.merge(other_calibration);
        }
        let total_constant = |one: &Self| one.constant_loss - one.chances.ln();
        Ok(Self {
            family: self.family,
            rows: self.rows + other.rows,
            weight: self.weight + other.weight,
            loss: self.loss + other.loss,
            constant_loss: total_constant(self) + total_constant(other),
            chances: 1.0,
            total: self.total + other.total,
            absolute: self.absolute + other.absolute,
            square: self.square + other.square,
            correct: self.correct + other.correct,
            interval_weight: self.interval_weight + other.interval_weight,
            covered: self.covered + other.covered,
            width: self.width + other.width,
            below: self.below + other.below,
            labels,
            // that of the longer stream
            quantile: if self.rows >= other.rows { &self.quantile } else { &other.quantile }
                .clone(),
            trace: None,
            known_weight: self.known_weight + other.known_weight,
            rates: self.rates || other.rates,
            window: self.window.merged(self.rows, &other.window, other.rows),
        })
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
        let y = self.check(y, mean, weight)?;
        let judged = interval.map(|Interval { lower, upper }| Judged {
            inside: lower <= y && y <= upper,
            width: upper - lower,
        });
        self.count(y, mean, 0.5 * deviance(&self.family, y, mean), judged, weight);
        Ok(())
    }

    /// As [`Progressive::row`], for a row that a learner has checked, without an interval.
    pub(super) fn checked_row(&mut self, y: f64, mean: f64, weight: f64) {
        self.count(y, mean, 0.5 * deviance(&self.family, y, mean), None, weight);
    }

    /// As [`Progressive::row`], with the 95 % interval judged by [`covers`].
    pub fn row_predicted(&mut self, y: f64, row: &Predicted, weight: f64) -> Result<()> {
        let y = self.check(y, row.mean, weight)?;
        let inside = covers(&self.family, row, y, self.trials(weight));
        let loss = 0.5 * deviance(&self.family, y, row.mean);
        self.count(y, row.mean, loss, Some(Judged { inside, width: 0.0 }), weight);
        Ok(())
    }

    /// The target in the family's coding.
    fn check(&self, y: f64, mean: f64, weight: f64) -> Result<f64> {
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
        Ok(y)
    }

    /// The trials or units of exposure that a target stands for.
    fn trials(&self, weight: f64) -> f64 {
        match &self.family {
            AnyFamily::Binomial(binomial) if binomial.trials().is_none() => weight,
            AnyFamily::Poisson(_) if self.rates => weight,
            _ => 1.0,
        }
    }

    fn count(&mut self, y: f64, mean: f64, loss: f64, interval: Option<Judged>, weight: f64) {
        self.rows += 1;
        let constant = self.constant();
        if weight > 0.0 && constant.is_none() {
            self.known_weight += weight;
            self.total += weight * y;
        } else if let Some(constant) = constant.filter(|_| weight > 0.0) {
            self.count_constant(y, constant, weight);
            self.weight += weight;
            self.loss += weight * loss;
            self.total += weight * y;
            self.rates |= matches!(self.family, AnyFamily::Poisson(_)) && y.fract() != 0.0;
            let late = &mut self.window.current;
            late.judged += 1;
            late.weight += weight;
            late.loss += weight * loss;
            if self.labels.is_none() && self.quantile.is_none() {
                let residual = y - mean;
                late.pearson += weight * residual * residual / unit_variance(&self.family, mean);
            }
            if let Some(Judged { inside, .. }) = interval {
                late.interval_weight += weight;
                late.covered += if inside { weight } else { 0.0 };
            }
            if matches!(self.family, AnyFamily::Quantile(_)) && y <= mean {
                late.below += weight;
                self.below += weight;
            }
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
            if let Some(Judged { inside, width }) = interval {
                self.interval_weight += weight;
                self.covered += if inside { weight } else { 0.0 };
                self.width += weight * width;
            }
        }
        if let Some(quantile) = self.quantile.as_mut().filter(|_| weight > 0.0) {
            quantile.add(y);
        }
        self.window.current.rows += 1;
        self.window.advance(self.rows);
        let loss = self.loss;
        let weight = self.weight;
        if let Some(trace) = self.trace.as_mut().filter(|_| weight > 0.0) {
            trace.record(self.rows, || loss / weight);
        }
    }

    /// Adds the constant predictor's loss; for labels, one logarithm per some hundred rows.
    fn count_constant(&mut self, y: f64, constant: f64, weight: f64) {
        if self.labels.is_some() && weight == 1.0 {
            let chance = if y > 0.5 { constant } else { 1.0 - constant };
            self.window.current.add_chance(chance);
            self.chances *= chance;
            if self.chances < MIN_PRODUCT {
                self.constant_loss -= self.chances.ln();
                self.chances = 1.0;
            }
        } else {
            let loss = weight * 0.5 * deviance(&self.family, y, constant);
            self.window.current.add_constant(loss);
            self.constant_loss += loss;
        }
    }

    /// The constant predictor's mean for the next row; `None` before the first, unless for labels
    /// and trials.
    pub fn constant(&self) -> Option<f64> {
        let weight = self.known_weight + self.weight;
        let smoothed = |trials: f64| Some(trials * (0.5 + self.total) / (1.0 + weight * trials));
        match &self.family {
            AnyFamily::Bernoulli(_) => smoothed(1.0),
            AnyFamily::Binomial(binomial) => smoothed(binomial.trials().unwrap_or(1) as f64),
            _ if weight == 0.0 => None,
            AnyFamily::Poisson(_) | AnyFamily::NegativeBinomial(_) => {
                Some((0.5 + self.total) / weight)
            }
            AnyFamily::Quantile(_) | AnyFamily::Student(_) => {
                self.quantile.as_ref().and_then(RunningQuantile::value)
            }
            AnyFamily::Gaussian(_) | AnyFamily::Gamma(_) => Some(self.total / weight),
        }
    }

    /// The loss of a row as this counts it, without the weight.
    pub fn loss_of(&self, row: &RowView<'_>) -> f64 {
        let Observation { y, weight, .. } = row.observation;
        // for labels the learner has computed the logarithm, unless a weight has sharpened it
        match self.family {
            AnyFamily::Bernoulli(_) if weight == 1.0 => row.loss.clamp(0.0, -MIN_PROBABILITY.ln()),
            _ => 0.5 * deviance(&self.family, y, row.mean),
        }
    }

    /// The weight with which the next row would be judged: 0 if it is a first row whose size nobody
    /// can know.
    pub fn judged_weight(&self, row: &RowView<'_>) -> f64 {
        if self.constant().is_some() { row.observation.weight } else { 0.0 }
    }

    /// The family.
    pub fn family(&self) -> &AnyFamily {
        &self.family
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether any row has been judged; before that all averages are NaN.
    pub fn is_judged(&self) -> bool {
        self.weight > 0.0
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
}

/// A judged interval; its width is 0 if only the judgment is known.
struct Judged {
    inside: bool,
    width: f64,
}

/// Means as the learner reports them. The 95 % interval of the Gaussian family is $m + o \pm
/// 1.96\sqrt{\sigma^2+s}$, $\sigma^2$ the noise variance as the learner knew it. That of other
/// families is judged by [`covers`], in the first 1024 rows and every 16th one after them. That of
/// a quantile is not judged, because its law is not that of `y`.
impl Observer for Progressive {
    fn row(&mut self, row: &RowView<'_>) {
        let Observation { y, weight, .. } = row.observation;
        let due = self.rows < JUDGED_ROWS || self.rows.is_multiple_of(JUDGED_STRIDE);
        let interval = if self.family.normal_noise().is_some() {
            let half = QUANTILE_95 * (row.dispersion + row.variance).sqrt();
            let inside = row.mean - half <= y && y <= row.mean + half;
            Some(Judged { inside, width: 2.0 * half })
        } else if due && weight > 0.0 && !matches!(self.family, AnyFamily::Quantile(_)) {
            let inside = covers(&self.family, &Predicted::from(row), y, self.trials(weight));
            Some(Judged { inside, width: 0.0 })
        } else {
            None
        };
        // Pearson's statistic of the last half is taken at the shape that the learner has learned
        self.family = self.family.with_shape_unchecked(row.dispersion);
        let loss = self.loss_of(row);
        self.count(y, row.mean, loss, interval, weight);
    }

    fn uses_loss(&self) -> bool {
        matches!(self.family, AnyFamily::Bernoulli(_))
    }
}

#[cfg(test)]
mod tests;
