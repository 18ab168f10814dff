//! Who predicted best, by how much, and whether that is more than chance.

use super::contestant::Contestant;
use kalmia::evaluate::LossDifference;
use kalmia_model::Scores;
use serde::Serialize;
use serde_json::{Value, json};

/// A difference of more standard errors than this is clear.
const CLEAR: f64 = 2.0;
/// Differences below this share of the loss are rounding.
const ROUNDING: f64 = 1e-9;
/// A loss above so many times that of the constant predictor means that the method diverged.
const DIVERGED: f64 = 1e3;

/// The differences of all pairs, `i < j`: who is best shows only at the end.
pub struct Differences {
    contestants: usize,
    /// Of `(0, 1)`, `(0, 2)`, ..., `(1, 2)`, ...
    pairs: Vec<LossDifference>,
}

impl Differences {
    pub fn new(contestants: usize) -> Self {
        let pairs = contestants * contestants.saturating_sub(1) / 2;
        Self { contestants, pairs: vec![LossDifference::default(); pairs] }
    }

    /// Adds the last block of each pair that has learned it.
    pub fn add(&mut self, contestants: &[Contestant]) {
        let mut pairs = self.pairs.iter_mut();
        for (i, a) in contestants.iter().enumerate() {
            for (b, pair) in contestants[i + 1..].iter().zip(&mut pairs) {
                if a.stopped.is_none() && b.stopped.is_none() {
                    for (a, b) in a.losses.iter().zip(&b.losses) {
                        pair.row(b.loss - a.loss, a.weight);
                    }
                }
            }
        }
    }

    /// How much higher the loss of `b` is than that of `a`.
    fn between(&self, a: usize, b: usize) -> Difference {
        let (i, j) = (a.min(b), a.max(b));
        let before = i * (2 * self.contestants - i - 1) / 2;
        let pair = &self.pairs[before + j - i - 1];
        let sign = if a < b { 1.0 } else { -1.0 };
        Difference { mean: sign * pair.mean(), std_error: pair.std_error() }
    }
}

/// How much higher a loss is than the best one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    pub mean: f64,
    pub std_error: Option<f64>,
}

impl Difference {
    /// Exactly 0 if it is only rounding beside a loss of this size: methods that are the same for a
    /// family differ in their last bits.
    fn beyond_rounding(self, loss: f64) -> Self {
        match self.mean.abs() > ROUNDING * loss {
            true => self,
            false => Self { mean: 0.0, std_error: self.std_error.map(|_| 0.0) },
        }
    }

    /// Whether it is more than chance, and more than rounding beside a loss of this size.
    fn is_clear(&self, loss: f64) -> bool {
        self.mean > ROUNDING * loss && self.std_error.is_some_and(|e| self.mean > CLEAR * e)
    }
}

/// A contestant with its place.
pub struct Place {
    pub contestant: Contestant,
    /// From 1; `None` for a method that stopped.
    pub rank: Option<usize>,
    /// `None` for the best, and for a method that stopped.
    pub difference: Option<Difference>,
    /// What is wrong with it.
    pub note: Option<String>,
}

/// The methods from the lowest loss to the highest, then those that stopped.
pub struct Ranking {
    pub places: Vec<Place>,
}

impl Ranking {
    pub fn new(contestants: Vec<Contestant>, differences: &Differences) -> Self {
        let mut indexed: Vec<(usize, Contestant)> = contestants.into_iter().enumerate().collect();
        indexed.sort_by(|(_, a), (_, b)| {
            let stopped = |one: &Contestant| one.stopped.is_some();
            let rows = b.rows().cmp(&a.rows());
            let loss = a.loss().total_cmp(&b.loss());
            stopped(a).cmp(&stopped(b)).then(if stopped(a) { rows } else { loss }).then(loss)
        });
        let first = indexed.first().filter(|(_, one)| one.stopped.is_none());
        let lowest = first.map_or(f64::NAN, |(_, one)| one.loss());
        let best = first.map(|(i, _)| *i);
        let places = indexed.into_iter().enumerate().map(|(place, (i, contestant))| {
            let ranked = contestant.stopped.is_none();
            let difference = best.filter(|&best| ranked && best != i);
            let constant = contestant.model.metrics.progressive.constant_loss();
            let diverged =
                contestant.loss() > DIVERGED * constant || !contestant.loss().is_finite();
            let note = contestant.stopped.clone();
            Place {
                rank: ranked.then_some(place + 1),
                difference: difference
                    .map(|best| differences.between(best, i).beyond_rounding(lowest)),
                note: note.or_else(|| (ranked && diverged).then(|| "diverged".into())),
                contestant,
            }
        });
        Self { places: places.collect() }
    }

    /// The one of the lowest loss, if any method came to the end.
    pub fn best(&self) -> Option<&Contestant> {
        self.places.first().filter(|place| place.rank.is_some()).map(|place| &place.contestant)
    }

    /// Those whose loss is not clearly higher than the best.
    pub fn tied(&self) -> impl Iterator<Item = &Place> {
        let loss = self.best().map_or(f64::NAN, Contestant::loss);
        self.places.iter().filter(move |place| {
            place.note.is_none() && place.difference.is_some_and(|d| !d.is_clear(loss))
        })
    }

    /// What `--json` prints.
    pub fn json(&self, family: &str, target: &str) -> Value {
        let tied: Vec<&str> = self.tied().map(|place| place.contestant.name.as_str()).collect();
        json!({
            "family": family,
            "target": target,
            "best": self.best().map(|one| &one.name),
            "tied_with_best": tied,
            "methods": self.places.iter().map(Line::new).collect::<Vec<_>>(),
        })
    }
}

/// What `--json` prints for a method.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    method: &'static str,
    drift: Option<String>,
    rank: Option<usize>,
    above_best: Option<Difference>,
    rows: u64,
    #[serde(flatten)]
    scores: Scores,
    seconds: f64,
    stopped: Option<&'a str>,
    course: Vec<(u64, f64, f64)>,
}

impl<'a> Line<'a> {
    fn new(place: &'a Place) -> Self {
        let one = &place.contestant;
        let metrics = &one.model.metrics;
        let course = metrics.course().into_iter();
        Self {
            name: &one.name,
            method: one.method().name().name(),
            drift: one.method().parameters().drift.map(|drift| drift.to_string()),
            rank: place.rank,
            above_best: place.difference,
            rows: one.rows(),
            scores: Scores::new(&metrics.progressive),
            seconds: one.time.as_secs_f64(),
            stopped: one.stopped.as_deref(),
            course: course.map(|point| (point.rows, point.loss, point.constant_loss)).collect(),
        }
    }
}
