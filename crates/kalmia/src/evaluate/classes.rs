//! Progressive evaluation of several classes.

mod merge;

use super::window::{Late, Window};
use super::{Cadence, Calibration, Confusion, CoursePoint, LastHalf, ReliabilityBin, Trace};
use crate::error::{Error, Result, require, require_count};
use crate::learner::{ClassObserver, ClassRow};
use serde::{Deserialize, Serialize};

/// Ranks that are counted one by one.
const RANKS: usize = 10;
/// Smallest probability that is judged, so that no row costs an infinite loss.
const MIN_PROBABILITY: f64 = f64::MIN_POSITIVE;
/// Ratio of rows between two points of the course.
const FACTOR: f64 = 1.05;
/// Sorted rows change their class less often than this share of shuffled rows.
const MAX_CHANGES: f64 = 0.1;
/// And so many standard deviations less often: a probability of 1e-9.
const MIN_DEVIATIONS: f64 = 6.0;

/// How good the probabilities of several classes were, each predicted before its row was learned.
/// Part of model files, and continues bit for bit.
///
/// The loss of a row is minus the logarithm of the probability of its class. The constant predictor
/// gives each class its share of the rows before, half a row added to each class that is known.
/// Rows of weight 0 count in [`ClassReport::rows`] and nowhere else.
///
/// ```
/// use kalmia::evaluate::ClassMetrics;
/// use kalmia::{Categorical, Rows};
///
/// let mut learner = Categorical::builder(3, 2).intercept().build()?;
/// let mut metrics = ClassMetrics::default();
/// let x = [1.0, -2.1, 1.0, 0.1, 1.0, 1.9, 1.0, -1.8, 1.0, -0.1, 1.0, 2.2];
/// let rows = Rows::new(2, &x, &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0])?;
/// learner.learn_observed(rows, Some(&mut metrics))?;
/// let report = metrics.report();
/// assert_eq!(report.rows, 6);
/// assert!(report.loss < report.constant_loss && report.top[2] == 1.0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassMetrics {
    rows: u64,
    weight: f64,
    loss: f64,
    constant_loss: f64,
    square: f64,
    /// Weight of the rows whose class had the highest probability, the second highest and so on.
    ranks: Vec<f64>,
    /// Of the class with the highest probability.
    calibration: Calibration,
    /// `None` once there are too many classes, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confusion: Option<Confusion>,
    /// Weight of each class.
    shares: Vec<f64>,
    /// The shares of the constant predictor, if it does not learn.
    #[serde(skip)]
    fixed: Option<Vec<f64>>,
    /// The class of the last row, rows counted for the order, and how often the class changed.
    previous: Option<usize>,
    ordered: u64,
    changes: u64,
    window: Window,
    loss_course: Trace,
    constant_course: Trace,
}

/// Averages over rows.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassReport {
    /// Rows seen.
    pub rows: u64,
    /// Mean loss.
    pub loss: f64,
    /// Mean loss of the constant predictor.
    pub constant_loss: f64,
    /// Share of the rows whose class was among the likeliest `k + 1`, from `k = 0`: the first is
    /// the accuracy.
    pub top: Vec<f64>,
    /// Mean squared distance of the probabilities from 0 and 1, summed over the classes.
    pub brier: f64,
    /// Mean distance between the probability of the likeliest class and how often it was right.
    pub calibration_error: f64,
    /// How often the likeliest class was right, by its probability.
    pub reliability: Vec<ReliabilityBin>,
    /// The last half of the rows.
    pub last_half: Option<LastHalf>,
}

impl Default for ClassMetrics {
    fn default() -> Self {
        let trace = || Trace::new(Cadence::Geometric { factor: FACTOR }).expect("above 1");
        Self {
            rows: 0,
            weight: 0.0,
            loss: 0.0,
            constant_loss: 0.0,
            square: 0.0,
            ranks: vec![0.0; RANKS],
            calibration: Calibration::default(),
            confusion: Some(Confusion::default()),
            shares: Vec::new(),
            fixed: None,
            previous: None,
            ordered: 0,
            changes: 0,
            window: Window::new(),
            loss_course: trace(),
            constant_course: trace(),
        }
    }
}

impl ClassMetrics {
    /// Without rows, for rows that are not learned: the constant predictor keeps the shares of
    /// `learned`.
    pub fn after(learned: &Self) -> Self {
        Self { fixed: Some(learned.shares.clone()), ..Self::default() }
    }

    /// Counts a row of this class, for which these probabilities were predicted, one per class.
    pub fn row(&mut self, class: usize, probabilities: &[f64], weight: f64) {
        self.rows += 1;
        self.window.current.rows += 1;
        if weight > 0.0 {
            self.judge(class, probabilities, weight);
            self.order(class);
        }
        self.window.advance(self.rows);
    }

    fn judge(&mut self, class: usize, probabilities: &[f64], weight: f64) {
        let loss = -weight * probabilities[class].max(MIN_PROBABILITY).ln();
        let constant_loss = -weight * self.constant(class, probabilities.len()).ln();
        self.weight += weight;
        self.loss += loss;
        self.constant_loss += constant_loss;
        let current = &mut self.window.current;
        current.judged += 1;
        current.weight += weight;
        current.loss += loss;
        current.add_constant(constant_loss);
        let own = probabilities[class];
        let squares: f64 = probabilities.iter().map(|p| p * p).sum();
        self.square += weight * (squares - 2.0 * own + 1.0);
        // of equal probabilities the first class counts as predicted
        let above = |(k, p): (usize, &f64)| *p > own || (*p == own && k < class);
        let rank = probabilities.iter().enumerate().filter(|&entry| above(entry)).count();
        if rank < RANKS {
            self.ranks[rank] += weight;
        }
        let top = probabilities.iter().fold(0.0, |top: f64, &p| top.max(p));
        self.calibration.row(f64::from(rank == 0), top, weight);
        self.confusion = self.confusion.take().and_then(|confusion| {
            let predicted = probabilities.iter().position(|&p| p == top).unwrap_or(0);
            confusion.counted(class, predicted, probabilities.len(), weight)
        });
        if self.shares.len() < probabilities.len() {
            self.shares.resize(probabilities.len(), 0.0);
        }
        self.shares[class] += weight;
        let rows = self.rows;
        self.loss_course.record(rows, || self.loss / self.weight);
        self.constant_course.record(rows, || self.constant_loss / self.weight);
    }

    /// The constant predictor's probability of a class among so many.
    fn constant(&self, class: usize, classes: usize) -> f64 {
        let shares = self.fixed.as_ref().unwrap_or(&self.shares);
        let total: f64 = shares.iter().sum();
        let own = shares.get(class).copied().unwrap_or(0.0);
        (own + 0.5) / (total + 0.5 * classes.max(shares.len()) as f64)
    }

    fn order(&mut self, class: usize) {
        self.ordered += 1;
        self.changes += u64::from(self.previous.is_some_and(|previous| previous != class));
        self.previous = Some(class);
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Mean loss; NaN before a row of weight.
    pub fn loss(&self) -> f64 {
        self.loss / self.weight
    }

    /// Mean loss of the constant predictor; NaN before a row of weight.
    pub fn constant_loss(&self) -> f64 {
        self.constant_loss / self.weight
    }

    /// Weight of the rows of each class, by its number; for rows without weights, how many there
    /// are. Shorter than the list of classes if the last ones have no row yet.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Which classes were taken for others; `None` if there are too many classes.
    pub fn confusion(&self) -> Option<&Confusion> {
        self.confusion.as_ref()
    }

    /// All averages.
    pub fn report(&self) -> ClassReport {
        let mean = |sum: f64| sum / self.weight;
        let mut within = 0.0;
        let top = self.ranks.iter().take(self.shares.len()).map(|weight| {
            within += weight;
            mean(within)
        });
        ClassReport {
            rows: self.rows,
            loss: self.loss(),
            constant_loss: self.constant_loss(),
            top: top.collect(),
            brier: mean(self.square),
            calibration_error: self.calibration.expected_error(),
            reliability: self.calibration.bins(),
            last_half: self.last_half(),
        }
    }

    fn last_half(&self) -> Option<LastHalf> {
        let Late { start, sums, merged } = self.window.late(self.rows)?;
        (sums.judged > 0).then(|| LastHalf {
            first_row: start + 1,
            last_row: self.rows,
            of_parts: merged,
            loss: sums.loss / sums.weight,
            constant_loss: sums.constant_loss() / sums.weight,
            dispersion: None,
            covered: None,
            share_below: None,
        })
    }

    /// Whether the rows seem sorted by their class, which one pass must not be given: they change
    /// it far less often than shuffled rows.
    pub fn is_sorted(&self) -> bool {
        let pairs = self.ordered.saturating_sub(1) as f64;
        let total: f64 = self.shares.iter().sum();
        let same: f64 = self.shares.iter().map(|share| (share / total).powi(2)).sum();
        let expected = pairs * (1.0 - same);
        // pairs of shuffled rows are nearly independent
        let deviation = (expected * same).sqrt();
        let changes = self.changes as f64;
        changes < MAX_CHANGES * expected && changes < expected - MIN_DEVIATIONS * deviation
    }

    /// The mean losses at about 50 points per decade of rows, and now.
    pub fn course(&self) -> Vec<CoursePoint> {
        let pairs = self.loss_course.points().iter().zip(self.constant_course.points());
        let point = |rows, loss, constant_loss| CoursePoint { rows, loss, constant_loss };
        let mut course: Vec<_> =
            pairs.map(|(loss, constant)| point(loss.rows, loss.value, constant.value)).collect();
        if self.weight > 0.0 && course.last().is_none_or(|last| last.rows < self.rows) {
            course.push(point(self.rows, self.loss(), self.constant_loss()));
        }
        course
    }

    /// Refuses a value read from a file that no rows can give.
    pub fn check(&self) -> Result<()> {
        for count in [self.rows, self.ordered, self.changes] {
            require_count("rows", count)?;
        }
        if self.changes > self.ordered || self.ordered > self.rows || self.ranks.len() != RANKS {
            return Err(Error::State("the scores of the classes do not fit together".into()));
        }
        let sums = [self.weight, self.loss, self.constant_loss, self.square];
        for &value in sums.iter().chain(&self.ranks).chain(&self.shares) {
            let legal = (0.0..=f64::MAX).contains(&value);
            require(legal, "score", value, "must be finite and not negative")?;
        }
        self.calibration.check()?;
        self.confusion.as_ref().map_or(Ok(()), Confusion::check)?;
        self.loss_course.check()?;
        self.constant_course.check()?;
        self.window.check(self.rows)
    }
}

impl ClassObserver for ClassMetrics {
    fn row(&mut self, row: &ClassRow<'_>) {
        ClassMetrics::row(self, row.class, row.probabilities, row.weight);
    }
}
