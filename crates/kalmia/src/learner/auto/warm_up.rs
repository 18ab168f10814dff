//! The first rows, which are kept and re-run while the scale of the features is not known.

use super::dispersion::{Dispersion, Kind};
use super::prior::PriorCenter;
use super::scale::Scales;
use super::sentinel::Sentinel;
use super::{Auto, Stage};
use crate::error::Result;
use crate::family::{Family, FastPaths};
use crate::observe::Observer;
use crate::rows::{Observation, Rows};
use serde::{Deserialize, Serialize};

/// Rows of the warm-up, those of weight 0 not counted. Before row 3, and before the powers of two
/// up to it, the scales are taken anew and all rows so far re-run.
pub(in crate::learner) const WARM_UP_ROWS: usize = 128;

/// Whether the scales are taken anew before row `t`, from 1. After two rows the spread of `y` is
/// known for the first time.
pub(in crate::learner) fn is_rerun(t: usize) -> bool {
    t.is_power_of_two() || t == 3
}

/// Largest distance of targets that count as equal, relative to their size.
pub(in crate::learner::auto) const EQUAL: f64 = 1e-9;

/// Whether a row's target is another than `only`; rows of weight 0 have none.
fn is_other_target(row: &Observation, only: f64) -> bool {
    let target = row.y - row.offset;
    row.weight > 0.0 && (target - only).abs() > EQUAL * only.abs()
}

/// The target of all rows, if they have only one.
fn only_target(mut rows: impl Iterator<Item = Observation>) -> Option<f64> {
    let first = rows.find(|row| row.weight > 0.0)?;
    let only = first.y - first.offset;
    (!rows.any(|row| is_other_target(&row, only))).then_some(only)
}

/// The rows of the warm-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::learner) struct WarmUpRows {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    offset: Vec<f64>,
}

impl WarmUpRows {
    pub fn push(&mut self, rows: Rows<'_>, i: usize) {
        let observation = rows.observation(i);
        self.x.extend_from_slice(rows.x(i));
        self.y.push(observation.y);
        self.weight.push(observation.weight);
        self.offset.push(observation.offset);
    }

    pub fn len(&self) -> usize {
        self.y.len()
    }

    pub fn rows(&self, dim: usize) -> Result<Rows<'_>> {
        Rows::new(dim, &self.x, &self.y)?.with_weights(&self.weight)?.with_offsets(&self.offset)
    }

    /// One more feature, zero in every row.
    pub fn grow(&mut self, dim: usize) {
        let rows = self.y.len();
        self.x = (0..rows)
            .flat_map(|i| self.x[i * dim..(i + 1) * dim].iter().copied().chain([0.0]))
            .collect();
    }

    /// Without the last of `dim` features.
    pub fn shrink(&mut self, dim: usize) {
        self.x = self.x.chunks_exact(dim).flat_map(|row| &row[..dim - 1]).copied().collect();
    }

    /// The observations, without features.
    pub fn observations(&self) -> impl Iterator<Item = Observation> + Clone {
        let values = self.y.iter().zip(&self.weight).zip(&self.offset);
        values.map(|((&y, &weight), &offset)| Observation { y, weight, offset })
    }
}

impl<F: Family> Auto<F> {
    /// Learns row `i` during the warm-up.
    pub(super) fn warm_up(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        // A row of weight 0 is predicted, and nothing else: it leaves the schedule as it is.
        if rows.observation(i).weight == 0.0 {
            self.chunk(rows.slice(i..i + 1), i, observer)?;
            self.count += 1;
            return Ok(());
        }
        let t = self.warm_up.as_ref().map_or(0, WarmUpRows::len) + 1;
        self.scales.add(rows.x(i));
        if is_rerun(t) {
            self.rerun()?;
        }
        self.chunk(rows.slice(i..i + 1), i, observer)?;
        self.count += 1;
        self.take_noise();
        match &mut self.warm_up {
            Some(kept) if t < WARM_UP_ROWS => kept.push(rows, i),
            kept => {
                if self.dispersion.kind == Kind::Scale {
                    let before = kept.iter().flat_map(WarmUpRows::observations);
                    self.dispersion.only_target = only_target(before.chain([rows.observation(i)]));
                }
                self.warm_up = None;
                self.sentinel = Sentinel::default();
            }
        }
        Ok(())
    }

    /// The first row from `from` on, before `end`, whose target is another than the only one that
    /// all rows had: the learner must start over there.
    pub(super) fn first_other_target(
        &self,
        rows: Rows<'_>,
        from: usize,
        end: usize,
    ) -> Option<usize> {
        let only = self.dispersion.only_target?;
        (from..end).find(|&i| is_other_target(&rows.observation(i), only))
    }

    /// Forgets all rows, which had one target: they say nothing of the spread of others, and the
    /// scale that they left is far too small to move.
    pub(super) fn start_over(&mut self) -> Result<()> {
        let family = self.family.fast().with_shape_unchecked(1.0);
        self.family = family;
        self.dispersion = Dispersion::new(&self.family);
        self.scales = Scales::new(self.dim, self.scales.has_intercept());
        self.prior = PriorCenter::default();
        self.warm_up = Some(WarmUpRows::default());
        self.sentinel = Sentinel::default();
        self.sandwich = None;
        self.follows_from = None;
        self.stage = Stage::default();
        self.rebuild()
    }

    /// Takes the scales anew and learns the rows so far from the prior at these scales.
    fn rerun(&mut self) -> Result<()> {
        let kept = self.warm_up.take().unwrap_or_default();
        self.scales.freeze();
        for _ in 0..self.dispersion.warm_up_runs() {
            self.center_prior(&kept);
            self.rebuild()?;
            let guess = self.dispersion.guess;
            self.dispersion.take_noise(guess);
            self.chunk(kept.rows(self.dim)?, 0, None)?;
            if let Stage::Static(bank) = &mut self.stage {
                bank.refit(&self.family, &mut self.dispersion, kept.rows(self.dim)?);
            }
            self.move_shape();
        }
        self.warm_up = Some(kept);
        Ok(())
    }
}
