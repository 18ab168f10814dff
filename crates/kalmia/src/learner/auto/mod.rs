//! The default learner: a mixture of moment-matching filters that needs nothing from the user.
//!
//! Members differ in the size of their prior, relative to the scale that the first rows show;
//! predictions are weighted by past predictive likelihood, so that the price over the best member
//! is at most $\ln K$ in total loss. Members that no longer matter are dropped.

mod bank;
mod dispersion;
mod member;
mod merge;
mod scale;
mod sentinel;
mod state;

pub use sentinel::DriftReport;
pub use state::AutoState;

use super::{Learner, Observer};
use crate::covariance::{Dense, Factored};
use crate::error::{Result, require};
use crate::family::{Family, FastPaths};
use crate::linalg::{Buffer, Threads};
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::{Rows, check_features};
use bank::Bank;
use dispersion::{Dispersion, Kind};
use member::Member;
use scale::Scales;
use sentinel::Sentinel;
use serde::{Deserialize, Serialize};

/// Prior sizes of the members.
pub const SIZES: [f64; 6] = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];
/// Random walks of the members that follow a drift, relative to the prior.
pub const WALKS: [f64; 5] = [0.0, 1e-6, 1e-5, 1e-4, 1e-3];
/// Rows that are kept and re-run while the scale of the features is not known; scales are taken at
/// the powers of two up to it.
const WARM_UP: u64 = 128;
/// Rows that go through the members together; looks at the weights happen at multiples of it,
/// whatever the batches.
const CHUNK: u64 = 256;
/// Rows after which walks start at the latest, and the weight of one member at which they may start
/// before.
const SETTLED_ROWS: u64 = 4096;
const SETTLED_WEIGHT: f64 = 0.99;

/// Whether the coefficients may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoDrift {
    /// Static; a sentinel tells whether following a drift would have helped
    /// ([`Auto::drift_report`]).
    #[default]
    Off,
    /// Members with random walks of several sizes share the weight.
    Adapt,
    /// Static until the sentinel is sure of a drift, then as [`AutoDrift::Adapt`].
    Detect,
}

impl AutoDrift {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::Adapt, Self::Detect];

    /// Name in settings and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Adapt => "adapt",
            Self::Detect => "detect",
        }
    }

    /// The inverse of [`AutoDrift::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|drift| drift.name() == name)
    }
}

/// The default learner.
///
/// ```
/// use kalmia::{Auto, Bernoulli, Learner, Rows};
///
/// let mut auto = Auto::new(Bernoulli, 2)?;
/// let (x, y) = ([1.0, 2e6, 1.0, 1e4, 1.0, 1.8e6, 1.0, 3e5], [1.0, 0.0, 1.0, 0.0]);
/// auto.learn(Rows::new(2, &x, &y)?)?;
/// let prediction = auto.predict(&[1.0, 1.9e6], 0.0)?;
/// assert!(prediction.mean > 0.5);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Auto<F> {
    /// With unit dispersion.
    family: F,
    dim: usize,
    drift: AutoDrift,
    count: u64,
    scales: Scales,
    dispersion: Dispersion,
    /// Prior size of slopes and intercept in units of the dispersion (1 where the family has none).
    level: [f64; 2],
    kept: Option<Kept>,
    stage: Stage,
    sentinel: Sentinel,
    mean: Vec<f64>,
    threads: Threads,
    /// Drops no member; the tests measure by it what dropping costs.
    keeps_all: bool,
}

/// The members, static or walking.
#[derive(Debug, Clone)]
enum Stage {
    Static(Bank<Factored>),
    Walking(Bank<Dense>),
}

/// The rows of the warm-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Kept {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    offset: Vec<f64>,
}

impl Kept {
    fn push(&mut self, rows: Rows<'_>, i: usize) {
        let observation = rows.observation(i);
        self.x.extend_from_slice(rows.x(i));
        self.y.push(observation.y);
        self.weight.push(observation.weight);
        self.offset.push(observation.offset);
    }

    fn rows(&self, dim: usize) -> Result<Rows<'_>> {
        Rows::new(dim, &self.x, &self.y)?.with_weights(&self.weight)?.with_offsets(&self.offset)
    }

    /// Rows that count, the mean square of their `y` and its variance about the mean.
    fn spread(&self) -> (usize, f64, f64) {
        let rows = self.y.iter().zip(&self.offset).zip(&self.weight);
        let values = || rows.clone().filter(|row| *row.1 > 0.0).map(|((y, o), _)| y - o);
        let n = values().count();
        let mean = values().sum::<f64>() / n as f64;
        (
            n,
            values().map(|v| v * v).sum::<f64>() / n as f64,
            values().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64,
        )
    }
}

impl<F: Family> Auto<F> {
    /// A learner of `dim` features that has seen nothing. Feature scales do not matter; a constant
    /// feature is up to the caller.
    pub fn new(family: F, dim: usize) -> Result<Self> {
        let family = family.fast().with_dispersion_unchecked(1.0);
        let dispersion = Dispersion::new(&family);
        let scales = Scales::new(dim, false);
        let mut auto = Self {
            family,
            dim,
            drift: AutoDrift::Off,
            count: 0,
            scales,
            dispersion,
            level: [1.0; 2],
            kept: Some(Kept::default()),
            stage: Stage::Static(Bank::default()),
            sentinel: Sentinel::default(),
            mean: vec![0.0; dim],
            threads: Threads::all(),
            keeps_all: false,
        };
        auto.rebuild()?;
        Ok(auto)
    }

    /// Says that feature 0 is the constant 1: the prior then is that of centred features, so that,
    /// from the eighth row on, shifting a feature changes nothing either.
    pub fn with_intercept(mut self) -> Self {
        self.scales = Scales::new(self.dim, true);
        self
    }

    /// With coefficients that may move.
    pub fn with_drift(mut self, drift: AutoDrift) -> Self {
        self.drift = drift;
        self
    }

    /// With at most this many cores.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Threads::new(threads).unwrap_or(Threads::ONE);
        self
    }

    /// The family, at the estimated dispersion.
    pub fn family(&self) -> F {
        self.family.fast().with_dispersion_unchecked(self.dispersion())
    }

    /// The estimated dispersion (noise variance, or Gamma's $\phi$); 1 for families without one.
    pub fn dispersion(&self) -> f64 {
        match &self.stage {
            Stage::Static(bank) => bank.dispersion(&self.dispersion),
            Stage::Walking(bank) => bank.dispersion(&self.dispersion),
        }
    }

    /// Prior size, walk and weight of each member still in the mixture.
    pub fn weights(&self) -> Vec<(f64, f64, f64)> {
        match &self.stage {
            Stage::Static(bank) => bank.weights(),
            Stage::Walking(bank) => bank.weights(),
        }
    }

    /// What following a drift would have gained, as far as the sentinel can tell; `None` where the
    /// learner follows it already.
    pub fn drift_report(&self) -> Option<DriftReport> {
        self.is_watched().then(|| self.sentinel.report())
    }

    /// Whether the learner is static, so that the sentinel watches for a drift.
    fn is_watched(&self) -> bool {
        self.drift != AutoDrift::Adapt && matches!(self.stage, Stage::Static(_))
    }

    /// Standard errors of the coefficients: within the members and between them.
    pub fn standard_errors(&self) -> Vec<f64> {
        (0..self.dim).map(|j| self.covariance_entry(j, j).sqrt()).collect()
    }

    /// Entry $(i,j)$ of the mixture's covariance, dispersion included.
    pub fn covariance_entry(&self, i: usize, j: usize) -> f64 {
        match &self.stage {
            Stage::Static(bank) => bank.entry(&self.dispersion, &self.mean, i, j),
            Stage::Walking(bank) => bank.entry(&self.dispersion, &self.mean, i, j),
        }
    }

    /// Degrees of freedom for intervals of the coefficients (infinite but for a learned noise).
    pub fn degrees_of_freedom(&self) -> f64 {
        self.dispersion.degrees()
    }

    /// What is known of `y` at `x` before it is seen.
    pub fn predict(&self, x: &[f64], offset: f64) -> Result<MixturePrediction<F>> {
        check_features(x, self.dim)?;
        require(offset.is_finite(), "offset", offset, "must be finite")?;
        // a feature that was zero so far has, by its scale, the prior's size whatever its value
        let (mut seen, mut unseen) = (x.to_vec(), 0.0);
        let mut scales = self.scales.clone();
        scales.complete(x, |j, _| {
            seen[j] = 0.0;
            unseen += 1.0;
        });
        let parts = match &self.stage {
            Stage::Static(bank) => bank.beliefs(&seen),
            Stage::Walking(bank) => bank.beliefs(&seen),
        };
        let degrees = self.dispersion.degrees();
        let predict = |(weight, p, residual, m, s): (f64, f64, f64, f64, f64)| {
            let dispersion = self.dispersion.estimate(residual);
            let s = s + unseen * p * self.level[0];
            let prediction = Prediction::new(
                self.family.fast().with_dispersion_unchecked(dispersion),
                m + offset,
                dispersion * s,
            )?;
            let prediction = if degrees.is_finite() {
                prediction.with_degrees_of_freedom(degrees)?
            } else {
                prediction
            };
            Ok((weight, prediction))
        };
        let mixture =
            MixturePrediction::new(parts.into_iter().map(predict).collect::<Result<Vec<_>>>()?)?;
        let belief = |(weight, prediction): &(f64, Prediction<F>)| {
            (*weight, prediction.linear, prediction.linear_variance)
        };
        let mean = bank::mean_of(&self.family, mixture.parts().iter().map(belief));
        Ok(mixture.with_mean(mean))
    }

    /// Appends a feature that was zero in every row so far; its first value other than zero sets
    /// its scale.
    pub fn grow(&mut self) {
        let dim = self.dim;
        self.dim += 1;
        self.scales.grow();
        self.mean.push(0.0);
        if let Some(kept) = &mut self.kept {
            let rows = kept.y.len();
            let wide = (0..rows)
                .flat_map(|i| kept.x[i * dim..(i + 1) * dim].iter().copied().chain([0.0]))
                .collect();
            kept.x = wide;
        }
        let level = self.level[0];
        match &mut self.stage {
            Stage::Static(bank) => bank.members.iter_mut().for_each(|m| m.grow(level * m.p)),
            Stage::Walking(bank) => {
                bank.members.iter_mut().for_each(|m| m.grow(level * m.p));
                if !bank.centres.is_empty() {
                    bank.centres.push(0.0);
                }
            }
        }
    }

    /// The prior covariance of size `p` at the current scales, in units of the dispersion.
    fn prior(&self, p: f64) -> Result<Factored> {
        let mut variances = self.scales.variances(p * self.level[0]);
        if let Some(first) = variances.first_mut() {
            *first *= self.level[1] / self.level[0];
        }
        Factored::centred(&variances, self.scales.centres())
    }

    /// New members from the prior at the current scales.
    fn rebuild(&mut self) -> Result<()> {
        let mut members = Vec::with_capacity(SIZES.len());
        for p in SIZES {
            members.push(Member::new(p, 0.0, Buffer::zeros(self.dim), self.prior(p)?));
        }
        self.dispersion.rows = 0.0;
        self.stage = Stage::Static(Bank::new(members));
        Ok(())
    }

    /// One row of the warm-up: at powers of two the scales are taken anew and the rows before are
    /// run again.
    fn warm_up(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let t = self.count + 1;
        if rows.observation(i).weight > 0.0 {
            self.scales.add(rows.x(i));
        }
        if t.is_power_of_two() {
            let kept = self.kept.take().unwrap_or_default();
            self.scales.settle();
            // a dispersion that moments depend on is found with them, in turns
            for _ in 0..if self.dispersion.kind == Kind::Pearson { 3 } else { 1 } {
                self.set_level(&kept);
                self.rebuild()?;
                self.chunk(kept.rows(self.dim)?, 0, None)?;
                if let Stage::Static(bank) = &mut self.stage {
                    bank.refit(&self.family, &mut self.dispersion, kept.rows(self.dim)?);
                }
            }
            self.kept = Some(kept);
        }
        self.chunk(rows.slice(i..i + 1), i, observer)?;
        self.count = t;
        match &mut self.kept {
            Some(kept) if t < WARM_UP => kept.push(rows, i),
            _ => {
                self.kept = None;
                self.sentinel = Sentinel::default();
            }
        }
        Ok(())
    }

    /// For normal noise the guess of its variance and the prior's size in units of it, from the
    /// rows before.
    fn set_level(&mut self, kept: &Kept) {
        let (n, square, variance) = kept.spread();
        if n == 0 || self.dispersion.kind != Kind::Normal {
            return;
        }
        let estimate = self.dispersion();
        let spread = if self.scales.has_intercept() && variance > 0.0 { variance } else { square };
        if spread > 0.0 {
            self.dispersion.guess =
                if n < 3 { spread } else { estimate.clamp(1e-12 * spread, spread) };
            let level = (spread / self.dispersion.guess).max(1.0);
            self.level = [level, (square / self.dispersion.guess).max(level)];
        }
    }

    /// Rows through the members, then through the mixture.
    fn chunk(
        &mut self,
        rows: Rows<'_>,
        first: usize,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        if self.scales.incomplete() {
            // a walk has moved the prior by the time that a feature appears: it is set in that row,
            // not before
            let appears = |i: &usize| self.scales.completed_by(rows.x(*i));
            if let (Stage::Walking(_), Some(at @ 1..)) =
                (&self.stage, (0..rows.len()).find(appears))
            {
                self.chunk(rows.slice(0..at), first, super::reborrow(&mut observer))?;
                return self.chunk(rows.slice(at..rows.len()), first + at, observer);
            }
            let (scales, stage, level) = (&mut self.scales, &mut self.stage, self.level[0]);
            for i in 0..rows.len() {
                scales.complete(rows.x(i), |j, scale| match stage {
                    Stage::Static(bank) => bank
                        .members
                        .iter_mut()
                        .for_each(|m| m.set_prior(j, scale::variance(level * m.p, scale))),
                    Stage::Walking(bank) => bank
                        .members
                        .iter_mut()
                        .for_each(|m| m.set_prior(j, scale::variance(level * m.p, scale))),
                });
            }
        }
        let sentinel = self.is_watched().then_some(&mut self.sentinel);
        let context = bank::Context {
            family: &self.family,
            dispersion: &mut self.dispersion,
            sentinel,
            first,
            threads: self.threads,
        };
        match &mut self.stage {
            Stage::Static(bank) => bank.learn(context, rows, observer),
            Stage::Walking(bank) => bank.learn(context, rows, observer),
        }
    }

    /// Whether rows can be refused once they are checked: only numbers beyond all measure can
    /// overflow, and all walking members, which are dense, lose their digits: each gains enough
    /// with a row that $\sum_j x_j^2P_{jj} / x^\top Px$ stays below $10^6$ and the number of rows.
    fn can_fail(&self, moderate: bool) -> bool {
        !moderate || matches!(&self.stage, Stage::Walking(bank) if !bank.walks())
    }

    /// Looks at the weights after `count` rows: drops members, or starts the walks.
    fn look(&mut self) {
        let Stage::Static(bank) = &mut self.stage else { return };
        if !self.keeps_all {
            bank.drop_idle(self.count);
        }
        let settled = self.count >= SETTLED_ROWS || bank.best().weight > SETTLED_WEIGHT;
        let moves = match self.drift {
            AutoDrift::Off => false,
            AutoDrift::Adapt => true,
            AutoDrift::Detect => self.sentinel.report().drift(),
        };
        if moves && settled {
            let best = bank.best();
            let prior = self.scales.variances(best.p * self.level[0]);
            // a belief so ill-conditioned that it has no dense form stays static
            if let Ok(bank) = Bank::walking(best, &prior, self.scales.centres()) {
                self.stage = Stage::Walking(bank);
            }
        }
    }
}

impl<F: Family> Learner for Auto<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn coefficients(&self) -> &[f64] {
        &self.mean
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let moderate = rows.check(&self.family, self.dim)?;
        let before = self.can_fail(moderate).then(|| self.clone());
        let mut run = |auto: &mut Self| {
            let mut i = 0;
            while i < rows.len() {
                if auto.kept.is_some() {
                    auto.warm_up(rows, i, super::reborrow(&mut observer))?;
                    i += 1;
                } else {
                    let end = rows.len().min(i + (CHUNK - auto.count % CHUNK) as usize);
                    auto.chunk(rows.slice(i..end), i, super::reborrow(&mut observer))?;
                    auto.count += (end - i) as u64;
                    i = end;
                    if auto.count.is_multiple_of(CHUNK) {
                        auto.look();
                    }
                }
            }
            Ok(())
        };
        let result = run(self);
        if let (Err(_), Some(before)) = (&result, before) {
            *self = before;
        }
        match &self.stage {
            Stage::Static(bank) => bank.mean(&mut self.mean),
            Stage::Walking(bank) => bank.mean(&mut self.mean),
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Bernoulli;
    use crate::learner::Seen;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn a_dropped_member_is_not_missed() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let (dim, batch) = (4, 1 << 12);
        let mut dropping = Auto::new(Bernoulli, dim).unwrap().with_intercept();
        let mut keeping = Auto { keeps_all: true, ..dropping.clone() };
        let (mut with, mut without) = (0.0, 0.0);
        for _ in 0..1 << 6 {
            let x: Vec<f64> = (0..dim * batch)
                .map(|i| if i % dim == 0 { 1.0 } else { rng.random_range(-1.0..1.0) })
                .collect();
            let chance = |row: &[f64]| Bernoulli.mean(0.5 * row[0] + row[1] - 2.0 * row[2]);
            let y: Vec<f64> =
                x.chunks(dim).map(|row| f64::from(rng.random::<f64>() < chance(row))).collect();
            let rows = Rows::new(dim, &x, &y).unwrap();
            dropping
                .learn_observed(rows, Some(&mut |seen: &Seen<'_>| without += seen.loss))
                .unwrap();
            keeping.learn_observed(rows, Some(&mut |seen: &Seen<'_>| with += seen.loss)).unwrap();
        }
        // one by its weight after another, then the one of size 10, whose weight of 0.002 has come
        // to rest
        let sizes: Vec<f64> = dropping.weights().iter().map(|weight| weight.0).collect();
        assert_eq!((sizes, keeping.weights().len()), (vec![0.1, 1.0], SIZES.len()));
        assert!((without / with - 1.0).abs() < 1e-9, "{without} {with}");
    }
}
