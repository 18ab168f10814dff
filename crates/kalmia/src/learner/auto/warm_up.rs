//! The first rows, which are kept and re-run while the scale of the features is not known.

use super::bank::Bank;
use super::dispersion::Kind;
use super::member::Member;
use super::sentinel::Sentinel;
use super::{Auto, PRIOR_SIZES, Stage};
use crate::covariance::Factored;
use crate::error::Result;
use crate::family::Family;
use crate::linalg::Buffer;
use crate::observe::Observer;
use crate::rows::Rows;
use serde::{Deserialize, Serialize};

/// Rows of the warm-up. At the powers of two up to it the scales are taken anew and all rows so far
/// re-run.
pub(super) const WARM_UP_ROWS: u64 = 128;
/// Re-runs for families whose moments depend on the dispersion: both are found in turns.
const PEARSON_RUNS: usize = 3;

/// The rows of the warm-up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct WarmUpRows {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    offset: Vec<f64>,
}

/// The targets of the warm-up, less their offsets, over rows with weight.
struct TargetSpread {
    rows: usize,
    mean_square: f64,
    variance: f64,
}

impl WarmUpRows {
    fn push(&mut self, rows: Rows<'_>, i: usize) {
        let observation = rows.observation(i);
        self.x.extend_from_slice(rows.x(i));
        self.y.push(observation.y);
        self.weight.push(observation.weight);
        self.offset.push(observation.offset);
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

    fn spread(&self) -> TargetSpread {
        let rows = self.y.iter().zip(&self.offset).zip(&self.weight);
        let values = || rows.clone().filter(|row| *row.1 > 0.0).map(|((y, o), _)| y - o);
        let n = values().count();
        let mean = values().sum::<f64>() / n as f64;
        TargetSpread {
            rows: n,
            mean_square: values().map(|v| v * v).sum::<f64>() / n as f64,
            variance: values().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64,
        }
    }
}

/// Prior size of the coefficients in units of the dispersion (1 for families without one).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub(super) struct PriorScale {
    pub slopes: f64,
    /// Of the first coefficient.
    pub intercept: f64,
}

impl Default for PriorScale {
    fn default() -> Self {
        Self { slopes: 1.0, intercept: 1.0 }
    }
}

impl From<[f64; 2]> for PriorScale {
    fn from([slopes, intercept]: [f64; 2]) -> Self {
        Self { slopes, intercept }
    }
}

impl From<PriorScale> for [f64; 2] {
    fn from(scale: PriorScale) -> Self {
        [scale.slopes, scale.intercept]
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
        let t = self.count + 1;
        if rows.observation(i).weight > 0.0 {
            self.scales.add(rows.x(i));
        }
        if t.is_power_of_two() {
            self.rerun()?;
        }
        self.chunk(rows.slice(i..i + 1), i, observer)?;
        self.count = t;
        match &mut self.warm_up {
            Some(kept) if t < WARM_UP_ROWS => kept.push(rows, i),
            _ => {
                self.warm_up = None;
                self.sentinel = Sentinel::default();
            }
        }
        Ok(())
    }

    /// Takes the scales anew and learns the rows so far from the prior at these scales.
    fn rerun(&mut self) -> Result<()> {
        let kept = self.warm_up.take().unwrap_or_default();
        self.scales.freeze();
        for _ in 0..if self.dispersion.kind == Kind::Pearson { PEARSON_RUNS } else { 1 } {
            self.set_prior_scale(&kept);
            self.rebuild()?;
            self.chunk(kept.rows(self.dim)?, 0, None)?;
            if let Stage::Static(bank) = &mut self.stage {
                bank.refit(&self.family, &mut self.dispersion, kept.rows(self.dim)?);
            }
        }
        self.warm_up = Some(kept);
        Ok(())
    }

    /// For normal noise: guesses its variance, and the prior's size in units of it, from the kept
    /// rows.
    fn set_prior_scale(&mut self, kept: &WarmUpRows) {
        let TargetSpread { rows, mean_square, variance } = kept.spread();
        if rows == 0 || self.dispersion.kind != Kind::Normal {
            return;
        }
        let estimate = self.dispersion();
        let centered = self.scales.has_intercept() && variance > 0.0;
        let spread = if centered { variance } else { mean_square };
        if spread > 0.0 {
            self.dispersion.guess =
                if rows < 3 { spread } else { estimate.clamp(1e-12 * spread, spread) };
            let slopes = (spread / self.dispersion.guess).max(1.0);
            let intercept = (mean_square / self.dispersion.guess).max(slopes);
            self.prior_scale = PriorScale { slopes, intercept };
        }
    }

    /// New members from the prior at the current scales.
    pub(super) fn rebuild(&mut self) -> Result<()> {
        let mut members = Vec::with_capacity(PRIOR_SIZES.len());
        for p in PRIOR_SIZES {
            members.push(Member::new(p, 0.0, Buffer::zeros(self.dim), self.prior(p)?));
        }
        self.dispersion.rows = 0.0;
        self.stage = Stage::Static(Bank::new(members));
        Ok(())
    }

    /// The prior covariance of size `p` at the current scales, in units of the dispersion.
    pub(super) fn prior(&self, p: f64) -> Result<Factored> {
        let PriorScale { slopes, intercept } = self.prior_scale;
        let mut variances = self.scales.variances(p * slopes);
        if let Some(first) = variances.first_mut() {
            *first *= intercept / slopes;
        }
        Factored::centered(&variances, self.scales.centers())
    }
}
