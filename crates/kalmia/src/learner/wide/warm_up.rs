//! The first rows, which are kept and learned again while scales and noise are not known.

use super::row::SparseParts;
use super::{MAX_LANES, Members, Wide, is_label};
use crate::error::Result;
use crate::family::Family;
use crate::learner::warm_up::WarmUpTurn;
use crate::observe::{Observer, observation};
use crate::rows::Observation;
use crate::sparse::{SparseRow, SparseRows};
use serde::{Deserialize, Serialize};

/// The rows of the warm-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct WarmUpRows {
    /// Number of entries of each row.
    entries: Vec<u32>,
    indices: Vec<u32>,
    values: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    offset: Vec<f64>,
}

impl WarmUpRows {
    pub fn push(&mut self, x: SparseRow<'_>, observation: Observation) {
        self.entries.push(x.indices.len() as u32);
        self.indices.extend_from_slice(x.indices);
        self.values.extend_from_slice(x.values);
        self.y.push(observation.y);
        self.weight.push(observation.weight);
        self.offset.push(observation.offset);
    }

    pub fn len(&self) -> usize {
        self.y.len()
    }

    fn observations(&self) -> impl Iterator<Item = Observation> + Clone {
        let values = self.y.iter().zip(&self.weight).zip(&self.offset);
        values.map(|((&y, &weight), &offset)| Observation { y, weight, offset })
    }

    fn features(&self) -> SparseParts {
        let ends = self.entries.iter().scan(0, |end, &entries| {
            *end += entries as usize;
            Some(*end)
        });
        SparseParts {
            starts: std::iter::once(0).chain(ends).collect(),
            indices: self.indices.clone(),
            values: self.values.clone(),
        }
    }

    /// Checks a restored value.
    pub fn check<F: Family>(&self, family: &F) -> Result<()> {
        self.with_rows(|rows| {
            rows.features().check(u64::MAX)?;
            rows.observations().check_observations(family).map(|_| ())
        })
    }

    /// Calls `take` with the rows.
    pub fn with_rows<T>(&self, take: impl FnOnce(SparseRows<'_>) -> Result<T>) -> Result<T> {
        let parts = self.features();
        let rows = SparseRows::new(parts.matrix()?, &self.y)?;
        take(rows.with_weights(&self.weight)?.with_offsets(&self.offset)?)
    }
}

impl<F: Family> Wide<F> {
    /// Learns row `i` during the warm-up.
    pub(super) fn warm_up(
        &mut self,
        rows: SparseRows<'_>,
        i: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let x = rows.x(i);
        let observed = observation(&self.family, &rows.observations(), i);
        let kept = self.warm_up.as_ref().map_or(0, WarmUpRows::len);
        let turn = WarmUpTurn::new(kept, observed.weight);
        if turn.counts {
            self.features.look_up(x, self.count, &mut self.row);
            self.features.scales.add(&self.row.numbers);
        }
        if turn.reruns {
            self.rerun()?;
        }
        self.step(x, observed, i, observer)?;
        self.count += 1;
        if turn.counts {
            self.take_noise();
            self.warm_up.iter_mut().for_each(|kept| kept.push(x, rows.observation(i)));
        }
        if turn.is_last {
            self.warm_up = None;
        }
        Ok(())
    }

    /// Takes the scales anew and learns the rows so far from the prior at these scales.
    fn rerun(&mut self) -> Result<()> {
        let kept = self.warm_up.take().unwrap_or_default();
        let count = self.count;
        self.features.scales.freeze();
        for _ in 0..self.dispersion.warm_up_runs() {
            let noise = self.loss_divisor();
            let intercept = self.features.scales.has_intercept();
            let observations = kept.observations();
            self.prior.center(&self.family, &mut self.dispersion, noise, intercept, observations);
            // The first rows have more features than there are rows, and hardly a residual: their
            // scale is that of the targets' spread, which the rows after them correct.
            let first = self.prior.center_scale(&self.family, &mut self.dispersion, 0);
            if let Some(family) = first {
                self.family = family;
            }
            self.rebuild();
            let guess = self.dispersion.guess;
            self.dispersion.take_noise(guess);
            kept.with_rows(|rows| {
                (0..rows.len()).try_for_each(|i| {
                    let observed = observation(&self.family, &rows.observations(), i);
                    self.step(rows.x(i), observed, i, None)?;
                    self.count += 1;
                    Ok(())
                })
            })?;
            if self.dispersion.is_pearson() && kept.len() > 0 {
                self.dispersion.guess_from(self.members.best().residual);
            }
            self.move_shape();
        }
        self.count = count;
        self.warm_up = Some(kept);
        Ok(())
    }

    /// The prior at the current scales, and nothing learned.
    pub(super) fn rebuild(&mut self) {
        debug_assert_eq!(self.belief.lanes(), MAX_LANES);
        self.members = Members::new(self.drift, is_label(&self.family));
        let numbers = self.numbers();
        self.features.clear();
        self.belief.clear(numbers);
        self.count = 0;
        self.dispersion.reset();
        for (k, &variance) in self.priors().variances().iter().enumerate() {
            for j in 0..numbers {
                self.belief.core.set(j, k, 0.0, variance);
            }
            if self.features.scales.has_intercept() {
                let size = self.members.all[k].assumption.prior_size;
                let variance = self.prior.intercept_variance(&self.dispersion, size);
                self.belief.core.set(0, k, self.prior.intercept_mean, variance);
            }
        }
    }
}
