//! Evidence of a drift: do the scores of new rows point where those of earlier rows did?
//!
//! The score $-\ell'(y,u)\,x$ of a row predicted before it was learned has mean 0 while the
//! coefficients stand still, whatever the noise. Scores are added up in batches of 32 rows, and
//! each batch is compared with the mean of earlier ones, in all directions at once. One batch is
//! left out in between, so rows that resemble their neighbors are no evidence. Batches are judged
//! in units of their own spread, so neither are outliers or a change of the noise.

use crate::error::{Result, require, require_len};
use serde::{Deserialize, Serialize};

/// Rows per batch.
pub(super) const BATCH: u32 = 32;
/// Weight of a new batch in the memories, which reach back about 128 and 1024 rows.
const RATES: [f64; 2] = [1.0 / 4.0, 1.0 / 32.0];
/// The longer memory, which gives the direction.
const SLOW: usize = 1;
/// Smallest weight of a new batch in a mean square: rows before the last 4096 hardly count, which
/// may have been predicted badly.
const SPREAD_RATE: f64 = 1.0 / 128.0;
/// Batches before the first that is judged.
const FIRST_JUDGED: f64 = 8.0;
/// Largest value of a batch's score, and of its agreement, in standard deviations.
const MAX_DEVIATIONS: f64 = 4.0;
/// Scores above it would overflow when squared twice.
const MAX_SCORE: f64 = 1e70;
/// Sizes of drifts that are bet on, as the mean agreement of a batch in standard deviations.
const BETS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// Logarithm of the odds that a drift needs after one batch.
const LOG_ODDS: f64 = 7.0;
/// Power of the number of batches by which those odds grow.
const ODDS_GROWTH: f64 = 1.5;

/// The scores' batches, summed up per feature.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Scores {
    /// Of the batch in progress.
    sum: Vec<f64>,
    square: f64,
    expected: f64,
    rows: u32,
    /// Batches so far, and the mean square of their residuals.
    batches: f64,
    spread: f64,
    /// Mean and mean square of each feature's batch scores.
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// The last batch, which no memory contains yet.
    waiting: Vec<f64>,
    memories: [Vec<f64>; RATES.len()],
    agreements: [Agreement; RATES.len()],
    /// Where the coefficients seem to move, for uncentered features; its product with a row has
    /// about unit variance.
    direction: Vec<f64>,
}

/// How far batches agree with a memory.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
struct Agreement {
    /// Mean square and mean fourth power.
    scale: f64,
    fourth: f64,
    /// Per bet, the logarithm of the odds of a drift since its best start against none.
    evidence: [f64; BETS.len()],
}

impl Scores {
    /// Whether no row was ever added.
    /// Checks the lengths of a restored value.
    pub fn check(&self, dim: usize) -> Result<()> {
        let len = self.sum.len();
        let own = [&self.mean, &self.variance, &self.waiting, &self.direction];
        for vector in own.into_iter().chain(&self.memories) {
            require_len("scores", vector.len(), len)?;
        }
        if len > dim {
            require_len("scores", len, dim)?;
        }
        let rows = f64::from(self.rows);
        require(self.rows < BATCH, "rows of a batch", rows, "must be below 32")
    }

    pub fn is_empty(&self) -> bool {
        self.sum.is_empty()
    }

    /// The product of a row with the direction in which the coefficients seem to move.
    pub fn along(&self, x: &[f64]) -> f64 {
        // four sums, because one would wait for each addition
        let (xs, x) = x.as_chunks::<4>();
        let (directions, direction) = self.direction.as_chunks::<4>();
        let mut sums = [0.0; 4];
        for (x, d) in xs.iter().zip(directions) {
            for (sum, (x, d)) in sums.iter_mut().zip(x.iter().zip(d)) {
                *sum += x * d;
            }
        }
        sums.iter().sum::<f64>() + x.iter().zip(direction).map(|(x, d)| x * d).sum::<f64>()
    }

    /// Adds a row with its score in the linear predictor; the model expects `expected` of its
    /// square.
    pub fn row(&mut self, x: &[f64], score: f64, expected: f64) {
        if self.sum.len() < x.len() {
            self.grow(x.len());
        }
        self.sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += score * x);
        self.square += score * score;
        self.expected += expected;
        self.rows += 1;
    }

    /// Whether the batch has all its rows.
    pub fn is_complete(&self) -> bool {
        self.rows == BATCH
    }

    fn grow(&mut self, dim: usize) {
        let own = [
            &mut self.sum,
            &mut self.mean,
            &mut self.variance,
            &mut self.waiting,
            &mut self.direction,
        ];
        own.into_iter().chain(&mut self.memories).for_each(|v| v.resize(dim, 0.0));
    }

    /// Judges the batch and starts the next.
    pub fn close(&mut self, centers: &[f64]) {
        let n = f64::from(BATCH);
        let own = self.square / n;
        let unit = (n * own.max(self.spread).max(self.expected / n)).sqrt();
        let usable = unit > 0.0 && unit.is_finite();
        if usable {
            self.judge(centers, 1.0 / unit);
            let rate = SPREAD_RATE.max(1.0 / self.batches);
            self.spread += (own - self.spread) * rate;
        }
        self.sum.fill(0.0);
        self.square = 0.0;
        self.expected = 0.0;
        self.rows = 0;
    }

    fn judge(&mut self, centers: &[f64], unit: f64) {
        let first = self.sum.first().copied().unwrap_or(0.0);
        let rate = 1.0 / (self.batches + 1.0);
        let spread_rate = rate.max(SPREAD_RATE);
        let remembered = RATES.map(|r| r.max(1.0 / self.batches.max(1.0)));
        let mut product = [0.0; RATES.len()];
        let mut length = [0.0; RATES.len()];
        let mut size = 0.0;
        let mut level = 0.0;
        for j in 0..self.sum.len() {
            let center = centers.get(j).copied().unwrap_or(0.0);
            let variance = self.variance[j];
            let inverse = if variance > 0.0 { 1.0 / variance } else { 0.0 };
            let score = (self.sum[j] - center * first) * unit;
            // an overflow is no evidence
            let score = if score.abs() < MAX_SCORE { score } else { 0.0 };
            let most = MAX_DEVIATIONS * MAX_DEVIATIONS * variance;
            let t = if score * score > most && variance > 0.0 {
                most.sqrt().copysign(score)
            } else {
                score
            };
            let mean = self.mean[j];
            for (memory, (product, length)) in
                self.memories.iter().zip(product.iter_mut().zip(&mut length))
            {
                let g = (memory[j] - mean) * inverse;
                *product += t * g;
                *length += (memory[j] - mean) * g;
            }
            self.variance[j] += (score * score - variance) * spread_rate;
            self.mean[j] += (t - mean) * rate;
            for (memory, rate) in self.memories.iter_mut().zip(remembered) {
                memory[j] += (self.waiting[j] - memory[j]) * rate;
            }
            self.waiting[j] = t;
            let toward = self.memories[SLOW][j] - self.mean[j];
            self.direction[j] = toward * inverse;
            size += toward * toward * inverse;
            level += toward * inverse * center;
        }
        if let Some(constant) = self.direction.first_mut() {
            *constant -= level;
        }
        if size > 0.0 {
            let shrink = 1.0 / size.sqrt();
            self.direction.iter_mut().for_each(|d| *d *= shrink);
        }
        self.batches += 1.0;
        for (agreement, (product, length)) in
            self.agreements.iter_mut().zip(product.into_iter().zip(length))
        {
            if length > 0.0 {
                agreement.batch(product / length.sqrt(), self.batches);
            }
        }
    }

    /// Whether the agreement is beyond doubt, if it is one of `watches`.
    pub fn certain(&self, watches: usize) -> bool {
        let bound = LOG_ODDS + ODDS_GROWTH * self.batches.ln() + (watches as f64).ln();
        self.agreements.iter().flat_map(|a| a.evidence).any(|evidence| evidence > bound)
    }
}

impl Agreement {
    fn batch(&mut self, raw: f64, batches: f64) {
        if self.scale == 0.0 {
            self.scale = 1.0;
            self.fourth = 3.0;
        }
        let rate = SPREAD_RATE.max(1.0 / (batches + 4.0));
        let square = raw * raw;
        if batches > FIRST_JUDGED {
            // of a normal law with this fourth moment: more than the variance if tails are heavy
            let variance = self.scale.max((self.fourth / 3.0).sqrt());
            let deviation = (raw / variance.sqrt()).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS);
            for (evidence, bet) in self.evidence.iter_mut().zip(BETS) {
                *evidence = evidence.max(0.0) + bet * deviation - 0.5 * bet * bet;
            }
        }
        self.scale += (square - self.scale) * rate;
        self.fourth += (square * square - self.fourth) * rate;
    }
}
