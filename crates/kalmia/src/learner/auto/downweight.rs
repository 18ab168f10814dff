//! How the mixture learns if outliers count less: members, weights, noise and the start.

use super::bank::{Bank, Context};
use super::dispersion::Kind;
use super::member::Member;
use super::posterior::posterior;
use super::prior::{MEDIAN_TO_DEVIATION, TargetSpread, sample_quantile};
use super::{Auto, Outliers};
use crate::covariance::Covariance;
use crate::error::Result;
use crate::family::Family;
use crate::learner::warm_up::WarmUpRows;
use crate::math::dot;
use crate::rows::Observation;
use crate::rule::Evidence;

impl<F: Family> Auto<F> {
    /// What a target counts that is far from its prediction.
    pub fn outliers(&self) -> Outliers {
        self.dispersion.downweighting.into()
    }

    /// Refuses a learner that counts outliers less, for what counts every row in full.
    pub(crate) fn require_full_rows(&self) -> Result<()> {
        self.outliers().require_full_rows()
    }

    pub(super) fn set_outliers(&mut self, outliers: Outliers) {
        self.dispersion.downweighting = outliers.downweighting();
    }

    /// Judges rows from now on by the noise that the rows so far show.
    pub(super) fn take_noise(&mut self) {
        if self.dispersion.downweighting.is_some() {
            let noise = self.loss_divisor();
            self.dispersion.take_noise(noise);
        }
    }

    /// The noise variance by the median residual of the kept rows, which outliers do not move; only
    /// for normal noise, if outliers count less and there are rows enough.
    pub(super) fn usual_noise(&self, kept: &WarmUpRows) -> Option<f64> {
        let free = kept.len().checked_sub(self.dim)?;
        let robust = self.dispersion.downweighting.is_some();
        if !robust || self.dispersion.kind != Kind::Normal || free < self.dim.max(8) {
            return None;
        }
        let mut mean = vec![0.0; self.dim];
        self.stage.mean(&mut mean);
        let rows = kept.rows(self.dim).ok()?;
        let residual = |i: usize| {
            let Observation { y, weight, offset } = rows.observation(i);
            weight.sqrt() * (y - offset - dot(&mean, rows.x(i))).abs()
        };
        let mut distances: Vec<f64> = (0..rows.len()).map(residual).collect();
        let median = sample_quantile(&mut distances, 0.5)?;
        let variance = (MEDIAN_TO_DEVIATION * median).powi(2);
        Some(variance * kept.len() as f64 / free as f64)
    }
}

impl<C: Covariance> Bank<C> {
    /// The share of row `i` that counts for what the members have in common, 1 if every row counts
    /// in full.
    pub fn share(&self, i: usize) -> f64 {
        let share = |m: &Member<C>| Some((m.standing.weight, *m.predictions.share.get(i)?));
        let shares = self.members.iter().filter_map(share);
        // exactly 1 if all are
        1.0 - shares.map(|(weight, share)| weight * (1.0 - share)).sum::<f64>()
    }

    /// As [`Bank::weigh`], whose results it replaces, for a share of the row. All members are
    /// judged by the same share: by its own, one that predicts badly would hardly be judged.
    pub fn weigh_share<F: Family>(
        &mut self,
        context: &Context<'_, F>,
        observation: &Observation,
        i: usize,
        share: f64,
    ) {
        let dispersion = &*context.dispersion;
        let Self { members, evidence, next, added, .. } = self;
        let counted = Observation { weight: share * observation.weight, ..*observation };
        for ((member, evidence), added) in members.iter().zip(&mut *evidence).zip(&mut *added) {
            *added *= dispersion.residual_share(share);
            if share == 1.0 {
                continue;
            }
            let m = member.predictions.linear[i];
            let s = member.predictions.variance[i];
            let residual = member.residual;
            *evidence = Evidence::Log(match dispersion.kind {
                Kind::Normal => {
                    let added = dispersion.residual(context.family, &counted, m, s, residual);
                    dispersion.member_term(residual, added, counted.weight, s)
                }
                _ => share * evidence.ln(),
            });
        }
        if share < 1.0 && members.len() > 1 {
            posterior(members.iter().map(|member| member.standing.weight), evidence, next);
        }
    }
}

impl TargetSpread {
    /// The same by medians, which outliers do not move.
    pub fn without_outliers(
        self,
        rows: impl Iterator<Item = Observation>,
        intercept: bool,
    ) -> Self {
        let mut targets: Vec<f64> = rows.map(|o| o.y - o.offset).collect();
        let Some(median) = sample_quantile(&mut targets, 0.5) else { return self };
        let middle = if intercept { median } else { 0.0 };
        let mut distances: Vec<f64> = targets.iter().map(|y| (y - middle).abs()).collect();
        let distance = sample_quantile(&mut distances, 0.5).unwrap_or(0.0);
        // most targets are equal, or all of them
        if distance == 0.0 {
            return self;
        }
        let variance = (MEDIAN_TO_DEVIATION * distance).powi(2);
        Self { rows: self.rows, mean: median, mean_square: variance, variance }
    }
}

/// The target that nine of ten rows do not exceed.
pub(super) fn largest_usual(rows: impl Iterator<Item = Observation>) -> f64 {
    let mut targets: Vec<f64> = rows.map(|o| o.y).collect();
    sample_quantile(&mut targets, 0.9).unwrap_or(f64::INFINITY)
}
