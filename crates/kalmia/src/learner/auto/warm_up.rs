//! How the first rows are learned, and what they leave behind.

use super::dispersion::{Dispersion, Kind};
use super::prior::PriorCenter;
use super::scale::Scales;
use super::sentinel::Sentinel;
use super::{Auto, Stage};
use crate::error::Result;
use crate::family::{Family, FastPaths};
use crate::learner::warm_up::{WarmUpRows, WarmUpTurn};
use crate::observe::Observer;
use crate::rows::{Observation, Rows};

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

impl<F: Family> Auto<F> {
    /// Learns row `i` during the warm-up.
    pub(super) fn warm_up(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let kept = self.warm_up.as_ref().map_or(0, WarmUpRows::len);
        let turn = WarmUpTurn::new(kept, rows.observation(i).weight);
        if turn.counts {
            self.scales.add(rows.x(i));
        }
        if turn.reruns {
            self.rerun()?;
        }
        self.chunk(rows.slice(i..i + 1), i, observer)?;
        self.count += 1;
        if turn.counts {
            self.take_noise();
            self.warm_up.iter_mut().for_each(|kept| kept.push(rows, i));
        }
        if turn.is_last {
            self.end_warm_up();
        }
        Ok(())
    }

    fn end_warm_up(&mut self) {
        let kept = self.warm_up.take().unwrap_or_default();
        if self.dispersion.kind == Kind::Scale {
            self.dispersion.only_target = only_target(kept.observations());
        }
        self.sentinel = Sentinel::default();
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
