//! Runs an experiment: every replicate on its own rows, every method on the same ones.

use super::contestant::{Contestant, Estimate};
use super::method::Entrant;
use super::panel::Panel;
use super::population::Population;
use super::{Experiment, checkpoints};
use crate::error::{Error, Result};
use crate::workers::Workers;
use kalmia::Rows;

/// Rows drawn and learned at a time; the run may stop between two batches.
const BATCH: usize = 1000;
/// Numbers that a replicate may keep for a method that needs all rows at once.
const MAX_KEPT: u64 = 1 << 28;
/// The normal quantile of 95 % intervals.
const Z: f64 = 1.959_963_984_540_054;

/// How long an experiment runs, how often and from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Rows of each replicate.
    pub horizon: u64,
    /// Independent replicates.
    pub replicates: usize,
    /// Seed of every random stream.
    pub seed: u64,
}

/// One curve at one checkpoint of one replicate.
#[derive(Clone, Copy)]
struct Sample {
    error: f64,
    risk_error: f64,
    /// Share of the coefficients inside their intervals.
    covered: Option<f64>,
}

impl Experiment {
    /// Every method on every replicate.
    pub fn run(&self, length: Length, workers: &Workers) -> Result<Panel> {
        let population = Population::of(&self.data, length.seed)?;
        let entrants = self.entrants(&population)?;
        let marks = checkpoints(length.horizon);
        let replicates = workers.map(length.replicates, |replicate| {
            self.replicate(&entrants, &population, &marks, length.seed, replicate as u64, workers)
        })?;
        let mut curves = Vec::new();
        for entrant in &entrants {
            let contestant = Contestant::new(entrant, &self.data, &marks[..1], self.coverage)?;
            curves.extend(contestant.curves(entrant));
        }
        for (index, curve) in curves.iter_mut().enumerate() {
            let at = |mark: usize| replicates.iter().map(move |r| &r[mark][index]);
            let every = 0..marks.len();
            curve.errors = every.clone().map(|m| at(m).map(|s| s.error).collect()).collect();
            curve.risk_errors =
                every.clone().map(|m| at(m).map(|s| s.risk_error).collect()).collect();
            curve.coverage = every.filter_map(|m| at(m).map(|s| s.covered).collect()).collect();
        }
        Ok(Panel {
            name: self.name.clone(),
            title: self.title.clone(),
            curves,
            checkpoints: marks,
            replicates: length.replicates,
            population,
        })
    }

    /// Units of work of [`Experiment::run`]: rows times methods.
    pub fn units(&self, length: Length) -> u64 {
        let methods: usize = self.methods.iter().map(|spec| spec.combinations()).sum();
        length.horizon * length.replicates as u64 * methods as u64
    }

    /// All methods with their constants.
    pub(crate) fn entrants(&self, population: &Population) -> Result<Vec<Entrant>> {
        let mut entrants: Vec<Entrant> = Vec::new();
        for spec in &self.methods {
            for entrant in spec.entrants(&self.data, population)? {
                if entrants.iter().any(|other| other.key == entrant.key) {
                    return Err(Error::Experiment {
                        key: format!("method `{}`", entrant.key),
                        reason: "appears twice; give each a `key` of its own".into(),
                    });
                }
                entrants.push(entrant);
            }
        }
        Ok(entrants)
    }

    /// `samples[checkpoint][curve]` of one replicate.
    fn replicate(
        &self,
        entrants: &[Entrant],
        population: &Population,
        marks: &[u64],
        seed: u64,
        replicate: u64,
        workers: &Workers,
    ) -> Result<Vec<Vec<Sample>>> {
        let d = self.data.dim();
        let mut contestants = entrants
            .iter()
            .map(|entrant| Contestant::new(entrant, &self.data, marks, self.coverage))
            .collect::<Result<Vec<_>>>()?;
        if contestants.iter().any(|c| matches!(c, Contestant::MaximumLikelihood { .. })) {
            let kept = marks.last().map_or(0, |n| n.saturating_mul(d as u64));
            if kept > MAX_KEPT {
                return Err(Error::Setting {
                    name: "horizon",
                    value: marks.last().map_or(String::new(), u64::to_string),
                    expected: "is too long for maximum_likelihood, which keeps all rows",
                });
            }
        }
        let mut sampler = self.data.sampler(seed, replicate);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let mut learned = 0;
        let mut samples = Vec::with_capacity(marks.len());
        for (index, &mark) in marks.iter().enumerate() {
            while learned < mark {
                workers.check()?;
                let rows = (mark - learned).min(BATCH as u64) as usize;
                sampler.fill(rows, &mut x, &mut y);
                let batch = Rows::new(d, &x, &y)?;
                contestants.iter_mut().try_for_each(|contestant| contestant.learn(batch))?;
                workers.progress.advance((rows * contestants.len()) as u64);
                learned += rows as u64;
            }
            let mut at_mark = Vec::new();
            for contestant in &mut contestants {
                let estimates = contestant.estimates(index)?;
                at_mark.extend(estimates.iter().map(|estimate| judge(estimate, population)));
            }
            samples.push(at_mark);
        }
        Ok(samples)
    }
}

/// The squared error of an estimate, and how many of its intervals hold $\theta^*$.
fn judge(estimate: &Estimate, population: &Population) -> Sample {
    let inside = |((theta, error), star): ((&f64, &f64), &f64)| {
        f64::from(u8::from((theta - star).abs() <= Z * error))
    };
    let covered = estimate.standard_errors.as_ref().map(|errors| {
        let hits: f64 = estimate.theta.iter().zip(errors).zip(&population.star).map(inside).sum();
        hits / population.star.len() as f64
    });
    Sample {
        error: population.squared_error(&estimate.theta),
        risk_error: population.risk_error(&estimate.theta),
        covered,
    }
}
