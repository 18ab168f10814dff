//! Intervals that hold whatever the model: thresholds of scores, learned row by row.

mod judged;
mod score_scale;
mod score_size;
mod threshold;

use super::Predicted;
use crate::error::{Error, Result, require, require_count};
use crate::family::{AnyFamily, Family};
use crate::math::normal_quantile;
use crate::observe::{Observer, RowView};
use crate::predict::Interval;
use crate::rows::Observation;
pub use judged::ConformalReport;

use judged::Judged;
use score_scale::{ScoreScale, model_quantile};
use score_size::{FIRST_ROWS, ScoreSize};
use serde::{Deserialize, Serialize};
use threshold::{Spread, Threshold};

/// The levels whose thresholds are kept. Those of other levels lie between them.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];
/// The place of the 95 % level, of which coverage and width are reported.
const REPORTED: usize = 3;
/// Rows before the first that is judged: the thresholds know nothing yet, and intervals after one
/// or two rows are as wide as the prior.
const WARM_UP_ROWS: u64 = 32;
/// The mean distance of normal scores from 0, and how many times as large, or small, that of the
/// first rows may be before the thresholds are scaled to it.
const NORMAL_SIZE: f64 = 0.8;
const MAX_SIZE_RATIO: f64 = 2.0;

/// The share of scores beyond one end of the intervals of a level.
fn tail(level: f64) -> f64 {
    0.5 * (1.0 - level)
}

/// Intervals of `y` whose long-run coverage does not depend on the model: online conformal
/// prediction. An observer of the rows that a learner learns, kept in
/// [`Metrics`](super::Metrics::with_conformal).
///
/// Each row, before it is learned, gets a *score*: the residual in units that the model predicts,
/// on a scale on which the family is about normal. For each of the levels 50, 80, 90, 95 and 99 %,
/// and for each end, a threshold follows the quantile of the scores by steps that decay. So if the
/// model's noise is too small by a factor of 1000, thresholds become 1000 times as large. The ends
/// are learned apart, and a skewed law has unequal ones.
///
/// What holds for any stream of bounded scores: the share of rows beyond each end approaches its
/// nominal value. What does not hold: that the coverage is right for each kind of row. Intervals
/// are as wide as the model's where the model is right.
///
/// Intervals of other levels are interpolated between the kept ones, on the scale of normal
/// quantiles, so they lie between intervals that hold. Above 99 % there is nothing to
/// interpolate, and levels are refused. For counts the ends are counts, and the intervals hold at
/// least their level. Every row of positive weight counts once. If rates of the Poisson family are
/// weighted, weights are exposures, and intervals are for one unit of it.
///
/// ```
/// use kalmia::evaluate::{Conformal, Predicted};
/// use kalmia::{AnyFamily, Auto, Learner, Predict, Rows};
/// let family: AnyFamily = "gaussian".parse()?;
/// let mut model = Auto::new(family, 1)?;
/// let mut conformal = Conformal::new(family)?;
/// let x: Vec<f64> = (0..500).map(|i| f64::from(i % 10)).collect();
/// let y: Vec<f64> = (0..500).map(|i| f64::from(i % 10 + i % 7 / 5)).collect();
/// model.learn_observed(Rows::new(1, &x, &y)?, Some(&mut conformal))?;
/// let prediction = model.predict(&[4.0], 0.0)?;
/// let row = Predicted::new(&prediction, model.dispersion());
/// let interval = conformal.interval(&row, 0.9)?;
/// assert!(interval.lower < 4.1 && 4.9 < interval.upper);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conformal {
    family: AnyFamily,
    /// Rows that had a score.
    rows: u64,
    /// Whether a target of the Poisson family was no whole number: weights are then exposures.
    rates: bool,
    size: ScoreSize,
    /// Of the negative scores, by level.
    lower: [Threshold; LEVELS.len()],
    upper: [Threshold; LEVELS.len()],
    judged: Judged,
}

impl Conformal {
    /// Before the first row, with the model's own thresholds. Refuses labels, which have no
    /// intervals, and proportions, whose intervals depend on trials that a prediction does not
    /// know.
    pub fn new(family: AnyFamily) -> Result<Self> {
        Self::check_family(&family)?;
        let thresholds = |probability: fn(f64) -> f64, sign: f64| {
            LEVELS.map(|level| {
                Threshold::new(sign * model_quantile(&family, probability(tail(level))))
            })
        };
        Ok(Self {
            family,
            rows: 0,
            rates: false,
            size: ScoreSize::default(),
            lower: thresholds(|tail| tail, -1.0),
            upper: thresholds(|tail| 1.0 - tail, 1.0),
            judged: Judged::new(&family, tail(LEVELS[REPORTED])),
        })
    }

    /// Refuses a family without conformal intervals.
    pub fn check_family(family: &AnyFamily) -> Result<()> {
        let taken = match family {
            AnyFamily::Binomial(binomial) => binomial.trials().is_some(),
            AnyFamily::Gaussian(_)
            | AnyFamily::Poisson(_)
            | AnyFamily::Gamma(_)
            | AnyFamily::NegativeBinomial(_)
            | AnyFamily::Quantile(_)
            | AnyFamily::Student(_) => true,
            _ => false,
        };
        if taken {
            return Ok(());
        }
        Err(Error::Choice {
            name: "family of conformal intervals",
            value: family.name().into(),
            expected: "one of gaussian, student, quantile, poisson, negative-binomial, gamma, \
                       binomial with a number of trials; labels and proportions have none",
        })
    }

    /// Refuses a value read from a file that no rows of this family can give.
    pub fn check(&self, family: &AnyFamily) -> Result<()> {
        Self::check_family(family)?;
        if std::mem::discriminant(&self.family) != std::mem::discriminant(family) {
            return Err(Error::State("the conformal intervals are of another family".into()));
        }
        require_count("rows", self.rows)?;
        self.size.check()?;
        self.lower.iter().chain(&self.upper).try_for_each(Threshold::check)?;
        self.judged.check(self.rows)
    }

    /// Rows that had a score.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The interval of `y` for a row predicted like this, of a level of at most 0.99. The ends are
    /// legal targets, or the bounds of the family's support.
    pub fn interval(&self, row: &Predicted, level: f64) -> Result<Interval> {
        let ends = self.ends(level)?;
        Ok(ScoreScale::new(&self.family, row, 1.0).interval(ends.lower, ends.upper))
    }

    /// Refuses a level that has no interval.
    pub fn check_level(level: f64) -> Result<()> {
        let expected = "must lie strictly between 0 and 1, and be at most 0.99 for conformal \
                        intervals, whose widest threshold is that of 99 %";
        require(level > 0.0 && level <= LEVELS[LEVELS.len() - 1], "level", level, expected)
    }

    /// The scores at the ends of an interval.
    fn ends(&self, level: f64) -> Result<Interval> {
        Self::check_level(level)?;
        let knots = LEVELS.map(|level| normal_quantile(1.0 - tail(level)));
        let at = normal_quantile(1.0 - tail(level));
        let line = |x0: f64, y0: f64, x1: f64, y1: f64| y0 + (y1 - y0) * (at - x0) / (x1 - x0);
        let kept = self.kept_ends();
        let Some(next) = knots.iter().position(|knot| at < *knot) else {
            return Ok(kept[LEVELS.len() - 1]);
        };
        let outer = kept[next];
        let (inner, x0) = match next.checked_sub(1) {
            Some(inner) => (kept[inner], knots[inner]),
            // between the quartiles: the line from one to the other
            None => (Interval { lower: outer.upper, upper: outer.lower }, -knots[0]),
        };
        Ok(Interval {
            lower: line(x0, inner.lower, knots[next], outer.lower),
            upper: line(x0, inner.upper, knots[next], outer.upper),
        })
    }

    /// The scores at the ends of the kept levels. Each end is at least as far out as those of the
    /// levels below, so that intervals are nested. Thresholds that have crossed meet in the middle:
    /// every score then misses one of the two ends, which drives them apart again.
    fn kept_ends(&self) -> [Interval; LEVELS.len()] {
        let mut nested = Interval { lower: f64::INFINITY, upper: f64::NEG_INFINITY };
        std::array::from_fn(|i| {
            let lower = -self.lower[i].value;
            let upper = self.upper[i].value;
            let middle = 0.5 * (lower + upper);
            nested.lower = nested.lower.min(lower.min(middle));
            nested.upper = nested.upper.max(upper.max(middle));
            nested
        })
    }

    /// Coverage and width of the 95 % intervals so far.
    pub fn report(&self) -> ConformalReport {
        self.judged.report()
    }

    /// Of the rows of both, each predicted by its own learner: thresholds are averaged by rows and
    /// go on adapting as after the shorter stream. Scores of the merged learner may differ from
    /// those of its parts, so the coverage holds again once it has learned rows of its own. Refuses
    /// another family.
    pub fn merged(&self, other: &Self) -> Result<Self> {
        other.check(&self.family)?;
        let rows = self.rows + other.rows;
        let share = if rows == 0 { 0.5 } else { self.rows as f64 / rows as f64 };
        let both = |one: &[Threshold; LEVELS.len()], two: &[Threshold; LEVELS.len()]| {
            std::array::from_fn(|i| one[i].merged(share, &two[i], 1.0 - share))
        };
        Ok(Self {
            family: self.family,
            rows,
            rates: self.rates || other.rates,
            size: if self.rows >= other.rows { self.size } else { other.size },
            lower: both(&self.lower, &other.lower),
            upper: both(&self.upper, &other.upper),
            judged: self.judged.merged(&other.judged),
        })
    }

    /// Learns from a row: what was predicted of it, its target and its weight. A row of weight 0,
    /// or whose prediction is no number, is left out.
    pub fn learn(&mut self, row: &Predicted, y: f64, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        self.rates |= matches!(self.family, AnyFamily::Poisson(_)) && y.fract() != 0.0;
        let exposure = if self.rates { weight } else { 1.0 };
        let scale = ScoreScale::new(&self.family, row, exposure);
        let score = scale.score(y, jitter(self.rows));
        if score.is_nan() {
            return;
        }
        let predicted = self.kept_ends();
        if self.rows >= WARM_UP_ROWS {
            self.judged.row(&scale, y, predicted[REPORTED]);
        }
        self.rows += 1;
        let center = 0.5 * (self.upper[0].value - self.lower[0].value);
        let spread = Spread { size: self.size.value(), center };
        let mirrored = Spread { center: -center, ..spread };
        for (i, level) in LEVELS.into_iter().enumerate() {
            // missed by the interval that was predicted, so that what is predicted is what holds
            let ends = predicted[i];
            self.upper[i].row(tail(level), score > ends.upper, spread);
            self.lower[i].row(tail(level), score < ends.lower, mirrored);
        }
        self.size.row((score - center).abs());
        if self.rows == u64::from(FIRST_ROWS) {
            self.rescale_once();
        }
    }

    /// After the first rows: if the scores are of quite another size than the model says, the
    /// thresholds start anew in their units. From one that is far too large, steps would take long.
    fn rescale_once(&mut self) {
        let factor = self.size.value() / NORMAL_SIZE;
        if (1.0 / MAX_SIZE_RATIO..=MAX_SIZE_RATIO).contains(&factor) {
            return;
        }
        let Ok(fresh) = Self::new(self.family) else { return };
        self.lower = fresh.lower;
        self.upper = fresh.upper;
        self.lower.iter_mut().chain(&mut self.upper).for_each(|one| one.rescale(factor));
    }
}

/// A number between -1/2 and 1/2 that looks random and depends on the row alone (SplitMix64).
fn jitter(row: u64) -> f64 {
    let mut bits = row.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64 - 0.5
}

impl Observer for Conformal {
    fn row(&mut self, row: &RowView<'_>) {
        let Observation { y, weight, .. } = row.observation;
        self.learn(&Predicted::from(row), y, weight);
    }

    fn uses_loss(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
