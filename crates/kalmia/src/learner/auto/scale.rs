//! The scale of each feature, from the first rows; the prior is relative to it.

use super::member_prior::Basis;
use crate::error::require;
use crate::learner::FeatureMap;
use serde::{Deserialize, Serialize};

/// A feature whose spread is below this share of its size counts as constant.
const MIN_SPREAD: f64 = 1e-8;

/// Rows from which features are centered: the spread of two or three rows may be tiny by chance.
const CENTERED_FROM_ROW: f64 = 8.0;

/// Smallest ratio of root mean square to standard deviation at which a feature is off center.
const OFF_CENTER: f64 = 1.25;

/// A scale that grows by less than this factor stays: four standard errors of the scale of 128
/// normal values.
const MIN_GROWTH: f64 = 1.25;

/// A feature whose scales grew: that of centered features, that of features as they come, or both.
#[derive(Debug, Clone, Copy)]
pub(in crate::learner) struct Enlarged {
    pub feature: usize,
    scale: Option<Growth>,
    size: Option<Growth>,
}

/// Standard deviation and root mean square of a feature.
struct Measured {
    spread: f64,
    size: f64,
}

/// A scale before and after.
#[derive(Debug, Clone, Copy)]
struct Growth {
    from: f64,
    to: f64,
}

impl Enlarged {
    /// What the larger scale adds to the precision of the coefficient in a prior of size `p`.
    pub fn added_precision(&self, p: f64, basis: Basis) -> f64 {
        let growth = if basis.is_centered() { self.scale } else { self.size };
        growth.map_or(0.0, |Growth { from, to }| 1.0 / variance(p, to) - 1.0 / variance(p, from))
    }
}

/// Running size of each feature, then its frozen scale.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(in crate::learner) struct Scales {
    /// Whether feature 0 is the constant 1, so that the others are centered.
    intercept: bool,
    rows: f64,
    mean: Vec<f64>,
    /// Sum of squared deviations from the mean.
    deviation: Vec<f64>,
    /// Scale in use; 0 while the feature has been zero in every row.
    scale: Vec<f64>,
    /// Root mean square, the scale of features as they come; empty in older files, whose members
    /// are all centered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    size: Vec<f64>,
    #[serde(rename = "centre")]
    center: Vec<f64>,
}

impl Scales {
    pub fn new(dim: usize, intercept: bool) -> Self {
        let zeros = vec![0.0; dim];
        Self {
            intercept,
            rows: 0.0,
            mean: zeros.clone(),
            deviation: zeros.clone(),
            scale: zeros.clone(),
            size: zeros.clone(),
            center: zeros,
        }
    }

    pub fn grow(&mut self) {
        for v in [&mut self.mean, &mut self.deviation, &mut self.scale, &mut self.center] {
            v.push(0.0);
        }
        if !self.size.is_empty() {
            self.size.push(0.0);
        }
    }

    /// Removes the last feature.
    pub fn shrink(&mut self) {
        let dim = self.mean.len() - 1;
        for v in [&mut self.mean, &mut self.deviation, &mut self.scale, &mut self.center] {
            v.truncate(dim);
        }
        self.size.truncate(dim);
    }

    /// Whether feature `j` has been zero in every row.
    pub fn is_unseen(&self, j: usize) -> bool {
        self.scale[j] == 0.0 && self.mean[j] == 0.0
    }

    /// Counts a row of the warm-up.
    pub fn add(&mut self, x: &[f64]) {
        self.rows += 1.0;
        for ((mean, deviation), &x) in self.mean.iter_mut().zip(&mut self.deviation).zip(x) {
            let before = x - *mean;
            *mean += before / self.rows;
            *deviation += before * (x - *mean);
        }
    }

    /// Takes scales (and, with an intercept, centers) from the rows counted so far.
    pub fn freeze(&mut self) {
        self.size.resize(self.mean.len(), 0.0);
        for j in 0..self.mean.len() {
            let mean = self.mean[j];
            let Measured { spread, size } = self.measured(j);
            let centered = self.intercept
                && j > 0
                && self.rows >= CENTERED_FROM_ROW
                && spread > MIN_SPREAD * size;
            self.size[j] = size;
            self.scale[j] = if centered { spread } else { size };
            self.center[j] = if centered { mean } else { 0.0 };
        }
    }

    /// What the rows counted so far show of feature `j`.
    fn measured(&self, j: usize) -> Measured {
        let mean = self.mean[j];
        let variance = self.deviation[j] / self.rows.max(1.0);
        Measured { spread: variance.sqrt(), size: (mean * mean + variance).sqrt() }
    }

    /// Takes larger scales where the rows counted so far show them, and returns what grew. A
    /// feature that waits for its first value is left out, and so is the intercept.
    pub fn enlarge(&mut self) -> Vec<Enlarged> {
        let mut found = Vec::new();
        for j in usize::from(self.intercept)..self.mean.len() {
            let Measured { spread, size } = self.measured(j);
            let scale = if self.intercept { spread } else { size };
            let mut enlarged = Enlarged { feature: j, scale: None, size: None };
            let places = [
                (Some(&mut self.scale[j]), scale, &mut enlarged.scale),
                (self.size.get_mut(j), size, &mut enlarged.size),
            ];
            for (old, new, grown) in places {
                if let Some(old) = old.filter(|old| **old > 0.0 && new > MIN_GROWTH * **old) {
                    *grown = Some(Growth { from: *old, to: new });
                    *old = new;
                }
            }
            if enlarged.scale.is_some() || enlarged.size.is_some() {
                found.push(enlarged);
            }
        }
        found
    }

    /// Gives features without a scale that of their first value other than zero; calls `set(j,
    /// scale)` for each.
    #[inline]
    pub fn complete(&mut self, x: &[f64], mut set: impl FnMut(usize, f64)) {
        for (j, (scale, &x)) in self.scale.iter_mut().zip(x).enumerate() {
            if *scale == 0.0 && x != 0.0 {
                *scale = x.abs();
                if let Some(size) = self.size.get_mut(j) {
                    *size = x.abs();
                }
                set(j, *scale);
            }
        }
    }

    /// Whether a row has the first value of a feature that waits for it.
    pub fn completed_by(&self, x: &[f64]) -> bool {
        self.scale.iter().zip(x).any(|(scale, x)| *scale == 0.0 && *x != 0.0)
    }

    /// Sets features that no row had to 0; returns how many there were.
    pub fn hide_unseen(&self, x: &mut [f64]) -> f64 {
        let mut unseen = 0.0;
        for (scale, x) in self.scale.iter().zip(x) {
            if *scale == 0.0 && *x != 0.0 {
                *x = 0.0;
                unseen += 1.0;
            }
        }
        unseen
    }

    /// Takes over the scales of features that only `other` has seen; calls `set(j, scale)` for
    /// each.
    pub fn adopt(&mut self, other: &Self, set: impl FnMut(usize, f64)) {
        let theirs: Vec<f64> = other.scale.clone();
        self.complete(&theirs, set);
    }

    /// Those of the features of a whole. A feature that is not one of these is a level: 0 or 1.
    pub fn mapped(&self, map: &FeatureMap) -> Self {
        let mut whole = Self {
            intercept: self.intercept,
            rows: self.rows,
            mean: map.vector(&self.mean),
            deviation: map.select(&self.deviation),
            scale: map.select(&self.scale),
            size: if self.size.is_empty() { Vec::new() } else { map.select(&self.size) },
            center: map.select(&self.center),
        };
        for (j, &mean) in whole.mean.iter().enumerate() {
            if whole.scale[j] != 0.0 || map.is_one(j) {
                continue;
            }
            whole.deviation[j] = self.rows * (mean * (1.0 - mean)).max(0.0);
            whole.scale[j] = 1.0;
            if let Some(size) = whole.size.get_mut(j) {
                *size = 1.0;
            }
        }
        whole
    }

    /// Whether a feature still waits for its first value.
    pub fn incomplete(&self) -> bool {
        self.scale.contains(&0.0)
    }

    /// Whether priors of features as they come differ from those of centered ones: there is an
    /// intercept, and a feature's mean is large beside its deviation.
    pub fn raw_differs(&self) -> bool {
        let mut features = self.size.iter().zip(&self.scale).skip(1);
        self.intercept && features.any(|(size, scale)| *size > OFF_CENTER * scale)
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// Checks the lengths of a restored value.
    pub fn check(&self, dim: usize) -> crate::error::Result<()> {
        let vectors = [&self.mean, &self.deviation, &self.scale, &self.size, &self.center];
        let least = vectors[1..4].iter().copied().flatten().copied().fold(self.rows, f64::min);
        require(least >= 0.0, "scales", least, "must not be negative")?;
        for &value in vectors.into_iter().flatten().chain([&self.rows]) {
            require(value.is_finite(), "scales", value, "must be finite")?;
        }
        [&self.mean, &self.deviation, &self.scale, &self.center]
            .iter()
            .try_for_each(|v| crate::error::require_len("scales", v.len(), dim))?;
        if self.size.is_empty() {
            return Ok(());
        }
        crate::error::require_len("scales", self.size.len(), dim)
    }

    /// Prior variances at `p`, those of unseen features provisional.
    pub fn variances(&self, p: f64, basis: Basis) -> Vec<f64> {
        let scales = if basis.is_centered() { &self.scale } else { &self.size };
        scales.iter().map(|&scale| variance(p, scale)).collect()
    }

    /// A row less its centers, in units of the scales; 0 for features that no row had.
    pub fn scaled_row(&self, x: &[f64], scaled: &mut Vec<f64>) {
        let constant = if self.intercept { x.first().copied().unwrap_or(0.0) } else { 0.0 };
        let places = self.scale.iter().zip(&self.center);
        scaled.clear();
        scaled.extend(x.iter().zip(places).map(|(x, (scale, center))| match *scale {
            0.0 => 0.0,
            scale => (x - center * constant) / scale,
        }));
    }

    /// The coefficient of feature `i` as it comes, as a sum over the coefficients of scaled
    /// features: their indices and factors.
    pub fn scaled_coefficient(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
        let factor = |j: usize| if self.scale[j] == 0.0 { 1.0 } else { 1.0 / self.scale[j] };
        let level = if i == 0 && self.intercept { self.center.len() } else { 0 };
        let centers = (1..level).filter(|&j| self.center[j] != 0.0);
        let shifts = centers.map(move |j| (j, -self.center[j] * factor(j)));
        std::iter::once((i, factor(i))).chain(shifts)
    }

    /// The scale of feature `j`; 0 while it has been zero in every row.
    pub fn scale(&self, j: usize) -> f64 {
        self.scale[j]
    }

    pub fn centers(&self) -> &[f64] {
        &self.center
    }
}

/// $p/r^2$.
pub(in crate::learner) fn variance(p: f64, scale: f64) -> f64 {
    if scale == 0.0 { p } else { (p / (scale * scale)).clamp(1e-280, 1e280) }
}
