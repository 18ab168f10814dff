//! The covariance of a quantile's coefficients, whatever the law of the targets.
//!
//! With the density $f_i$ of target $i$ at its quantile, the coefficients have the covariance
//! $H^{-1}MH^{-1}$ with $H = \sum_i w_if_i\,xx^\top$ and $M = \tau(1-\tau)\sum_i w_i\,xx^\top$
//! (Koenker and Bassett, 1982). The belief has one number for both, which is right only if all
//! densities are equal. So both sums are kept, and the density is counted around the predictions
//! made before each row:
//!
//! - its level in the narrow window of Hall and Sheather, because a wide one would flatten it;
//! - its course along the features in a window of fixed width, because a matrix needs more rows.
//!
//! A prediction is off by its own variance $s$. A normal window of the variance $h^2 - s$ around it
//! is, on average, one of $h^2$ around the quantile itself. Later rows count more, because their
//! predictions are better. Features are centered and in units of their scale.

mod matrix;
mod window;

use super::Auto;
use super::dispersion::is_zero;
use super::scale::Scales;
use crate::error::{Result, require, require_len};
use crate::family::{Family, FastPaths};
use crate::linalg::ScaledCholesky;
use crate::math::dot;
use crate::rows::Observation;
use matrix::{add_square, resized, symmetric_product};
use serde::{Deserialize, Serialize};
use window::{Window, bandwidth};

/// Largest standard deviation of a prediction whose row counts, and width of the fixed window, in
/// lengths over which the family's law falls.
const MAX_DEVIATION: f64 = 0.5;
const FIXED_WIDTH: f64 = 0.1;
/// Rows that the family's own density counts as.
const PRIOR_ROWS: f64 = 20.0;
/// $1/(2\sqrt\pi)$: by how much the smoothing of the loss by the belief lowers the variance of its
/// slope, per $f\sqrt s$.
const SMOOTHING: f64 = 0.282_094_791_773_878_1;
/// Least share of that variance that is left.
const MIN_SHARE: f64 = 0.5;
/// Rows from which the sandwich replaces the belief, at least.
const MIN_ROWS: f64 = 100.0;
/// Growth of the rows between two refreshes.
const MIN_GROWTH: f64 = 0.1;
/// Fewest degrees of freedom of the density's level.
const MIN_DEGREES: f64 = 6.0;

/// What the rows say of the covariance, and the covariance of the last refresh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sandwich {
    dim: usize,
    /// Weight of the rows.
    rows: f64,
    /// $\sum w\,xx^\top$.
    #[serde(with = "crate::covariance::packed")]
    gram: Vec<f64>,
    /// The same with the heights of the fixed window, and with the weights of later rows larger.
    #[serde(with = "crate::covariance::packed")]
    curvature: Vec<f64>,
    level: Window,
    course: Window,
    /// Sum of $f\sqrt s/(\tau(1-\tau))$, and the weight of its rows.
    smoothed: [f64; 2],
    /// Of the last refresh; empty before.
    #[serde(with = "crate::covariance::packed", default, skip_serializing_if = "Vec::is_empty")]
    covariance: Vec<f64>,
    /// Rows of the learner at that time, and of this value.
    #[serde(default, skip_serializing_if = "is_zero")]
    refreshed_at: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    refreshed_rows: f64,
    /// The features of a row in units of their scale. Scratch.
    #[serde(skip)]
    scaled: Scratch,
}

/// Numbers that are no part of the state.
#[derive(Debug, Clone, Default)]
struct Scratch(Vec<f64>);

impl PartialEq for Scratch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What a refresh needs beside the sums.
pub(super) struct Belief {
    /// Variance of each coefficient before the first row.
    pub prior: Vec<f64>,
    /// Weight of all rows of the learner.
    pub rows: f64,
}

impl Sandwich {
    /// Whether a family has one: the belief itself suffices if the loss is smooth.
    pub fn is_for<F: Family>(family: &F) -> bool {
        let fast = family.fast();
        fast.location_level().is_some() && !fast.smooth()
    }

    pub fn new(dim: usize) -> Self {
        Self {
            dim,
            rows: 0.0,
            gram: vec![0.0; dim * dim],
            curvature: vec![0.0; dim * dim],
            level: Window::default(),
            course: Window::default(),
            smoothed: [0.0; 2],
            covariance: Vec::new(),
            refreshed_at: 0.0,
            refreshed_rows: 0.0,
            scaled: Scratch::default(),
        }
    }

    /// Bytes of the matrices of `dim` features.
    pub fn bytes(dim: usize) -> usize {
        dim.saturating_mul(dim).saturating_mul(3 * size_of::<f64>())
    }

    /// Refuses a restored value that no rows can give.
    pub fn check(&self, dim: usize) -> Result<()> {
        require_len("sandwich", self.dim, dim)?;
        require_len("sandwich", self.gram.len(), dim * dim)?;
        require_len("sandwich", self.curvature.len(), dim * dim)?;
        if !self.covariance.is_empty() {
            require_len("sandwich", self.covariance.len(), dim * dim)?;
        }
        let windows = [self.level, self.course].map(<[f64; 3]>::from);
        let counts = [self.rows, self.refreshed_at, self.refreshed_rows];
        let sums = windows.into_iter().flatten().chain(counts).chain(self.smoothed);
        for value in sums {
            let legal = value.is_finite() && value >= 0.0;
            require(legal, "sandwich", value, "must be finite, 0 or more")?;
        }
        let matrices = self.gram.iter().chain(&self.curvature).chain(&self.covariance);
        for &value in matrices {
            require(value.is_finite(), "sandwich", value, "must be finite")?;
        }
        (0..dim).map(|j| j * dim + j).try_for_each(|jj| {
            let least = self.gram[jj].min(*self.covariance.get(jj).unwrap_or(&0.0));
            require(least >= 0.0, "sandwich", least, "must not be negative")
        })
    }

    /// Adds a row whose linear predictor without the offset was $N(m, s)$.
    pub fn add<F: Family>(
        &mut self,
        family: &F,
        scales: &Scales,
        row: (&[f64], &Observation),
        m: f64,
        s: f64,
    ) {
        let (x, &Observation { y, weight, offset }) = row;
        let fast = family.fast();
        let (Some(tau), Some(scale)) = (fast.location_level(), fast.shape()) else { return };
        if weight == 0.0 {
            return;
        }
        let spread = tau * (1.0 - tau);
        let length = scale / spread;
        self.rows += weight;
        scales.scaled_row(x, &mut self.scaled.0);
        add_square(&mut self.gram, &self.scaled.0, weight);
        if s.is_nan() || s > (MAX_DEVIATION * length).powi(2) {
            return;
        }
        let residual = y - offset - m;
        // later rows count more
        let counted = weight * self.rows;
        let density = self.level.density(1.0 / length, PRIOR_ROWS * self.rows.min(PRIOR_ROWS));
        let narrow = bandwidth(tau, self.rows) / density;
        self.level.add(counted, Window::height(residual, narrow * narrow, s));
        self.smoothed[0] += weight * density * s.sqrt() / spread;
        self.smoothed[1] += weight;
        let fixed = Window::height(residual, (FIXED_WIDTH * length).powi(2), s);
        self.course.add(counted, fixed);
        add_square(&mut self.curvature, &self.scaled.0, counted * fixed);
    }

    /// Computes the covariance from the sums, unless few rows have come since the last time: it
    /// costs `dim^3`.
    pub fn refresh<F: Family>(&mut self, family: &F, belief: impl FnOnce() -> Belief) {
        let least = (MIN_GROWTH * self.refreshed_rows).max(self.dim as f64);
        let due = self.rows - self.refreshed_rows >= least;
        let fast = family.fast();
        let (Some(tau), Some(scale)) = (fast.location_level(), fast.shape()) else { return };
        if !due || self.rows < MIN_ROWS || self.level.sum <= 0.0 || self.course.sum <= 0.0 {
            return;
        }
        let belief = belief();
        if let Some(covariance) = self.covariance(tau, scale, &belief) {
            self.covariance = covariance;
            self.refreshed_at = belief.rows;
            self.refreshed_rows = self.rows;
        }
    }

    /// $(H/b + \Lambda)^{-1}(M/b^2 + \Lambda)(H/b + \Lambda)^{-1}$ with the precision $\Lambda$ of
    /// the prior; `None` if rounding leaves a matrix that is not positive definite.
    fn covariance(&self, tau: f64, scale: f64, belief: &Belief) -> Option<Vec<f64>> {
        let dim = self.dim;
        let spread = tau * (1.0 - tau);
        let rows = belief.rows.max(self.rows);
        let density = self.level.density(spread / scale, 0.0);
        let course = self.course.density(0.0, 0.0);
        // A matrix from few rows is noisy: it is drawn to that of equal densities, and its inverse
        // is too large on average, as that of Wishart's law is.
        let hits = self.course.hits().max(1.0);
        let even = dim as f64 / (hits + dim as f64);
        let noise = 3.0 * (dim as f64 - 1.0) * (1.0 - even).powi(2) / hits;
        let degrees = (0.5 * self.level.hits()).max(MIN_DEGREES);
        let smoothed = SMOOTHING * self.smoothed[0] / self.smoothed[1];
        let share = (1.0 - smoothed).max(MIN_SHARE);
        // Student's variance, because the density's level is an estimate
        let factor = share / (1.0 + noise) * degrees / (degrees - 2.0);
        let seen = rows * (1.0 - even) * density / (course * self.course.weight * scale);
        let same = rows * even * density / (self.rows * scale);
        let slopes = rows * spread * factor / (self.rows * scale * scale);
        let mut bread: Vec<f64> =
            self.curvature.iter().zip(&self.gram).map(|(c, g)| seen * c + same * g).collect();
        let mut meat: Vec<f64> = self.gram.iter().map(|g| slopes * g).collect();
        for (j, variance) in belief.prior.iter().enumerate() {
            bread[j * dim + j] += 1.0 / variance;
            meat[j * dim + j] += 1.0 / variance;
        }
        let inverse = ScaledCholesky::new(&bread, dim).ok()?.inverse();
        let found = symmetric_product(&inverse, &meat, dim);
        found.iter().all(|value| value.is_finite()).then_some(found)
    }

    /// Whether it rests on enough of the learner's rows.
    fn is_ready(&self) -> bool {
        !self.covariance.is_empty() && 2.0 * self.refreshed_rows >= self.refreshed_at
    }

    /// What the covariance of the last refresh has shrunk to since, if it can be reported.
    fn shrinkage(&self, rows: f64) -> Option<f64> {
        self.is_ready().then(|| self.refreshed_at / rows.max(self.refreshed_at))
    }

    /// The variance of the linear predictor at `x`, after so many rows of the learner.
    pub fn variance(
        &self,
        scales: &Scales,
        x: &[f64],
        rows: f64,
        scaled: &mut Vec<f64>,
    ) -> Option<f64> {
        let shrinkage = self.shrinkage(rows)?;
        scales.scaled_row(x, scaled);
        let columns = self.covariance.chunks_exact(self.dim);
        let square: f64 = columns.zip(&*scaled).map(|(column, x)| x * dot(column, scaled)).sum();
        Some(shrinkage * square.max(0.0))
    }

    /// Entry $(i,j)$ of the covariance of the coefficients of features as they come.
    pub fn entry(&self, scales: &Scales, i: usize, j: usize, rows: f64) -> Option<f64> {
        let shrinkage = self.shrinkage(rows)?;
        let of = |i: usize| scales.scaled_coefficient(i);
        let pairs = of(i).flat_map(|a| of(j).map(move |b| (a, b)));
        let entry = |((a, left), (b, right)): ((usize, f64), (usize, f64))| {
            left * right * self.covariance[a * self.dim + b]
        };
        Some(shrinkage * pairs.map(entry).sum::<f64>())
    }

    /// A matrix $L$ with $LL^\top$ the covariance of the coefficients of features as they come,
    /// column by column.
    pub fn square_root(&self, scales: &Scales, rows: f64) -> Result<Option<Vec<f64>>> {
        let Some(shrinkage) = self.shrinkage(rows) else { return Ok(None) };
        let dim = self.dim;
        let mut factor: Vec<f64> = self.covariance.iter().map(|v| shrinkage * v).collect();
        crate::linalg::cholesky_lower(&mut factor, dim, "covariance")?;
        let mut root = vec![0.0; dim * dim];
        for j in 0..dim {
            let column = &mut factor[j * dim..][..dim];
            column[..j].fill(0.0);
            for (i, to) in root[j * dim..][..dim].iter_mut().enumerate() {
                *to = scales.scaled_coefficient(i).map(|(a, part)| part * column[a]).sum();
            }
        }
        Ok(Some(root))
    }

    /// One more feature, zero in every row; until the next refresh it has the variance of its
    /// prior.
    pub fn grow(&mut self, variance: f64) {
        self.resize(self.dim + 1);
        if let Some(last) = self.covariance.last_mut() {
            *last = variance;
        }
    }

    /// Without the last feature, which was zero in every row.
    pub fn shrink(&mut self) {
        self.resize(self.dim - 1);
    }

    fn resize(&mut self, dim: usize) {
        self.gram = resized(&self.gram, self.dim, dim);
        self.curvature = resized(&self.curvature, self.dim, dim);
        if !self.covariance.is_empty() {
            self.covariance = resized(&self.covariance, self.dim, dim);
        }
        self.dim = dim;
    }
}

impl<F: Family> Auto<F> {
    /// After the warm-up, whose scales are not final: counts rows from now on.
    pub(super) fn start_sandwich(&mut self) {
        if self.sandwich.is_none() && self.stage.is_static() && Sandwich::is_for(&self.family) {
            self.sandwich = Some(Box::new(Sandwich::new(self.dim)));
        }
    }

    /// At multiples of the chunk: computes the covariance of a quantile's coefficients anew.
    pub(super) fn refresh_sandwich(&mut self) {
        if !self.stage.is_static() {
            // the coefficients are those of the last rows, and so is the belief
            self.sandwich = None;
        }
        let Some(mut sandwich) = self.sandwich.take() else { return };
        sandwich.refresh(&self.family, || Belief {
            prior: self.scaled_prior_variances(),
            rows: self.dispersion.rows,
        });
        self.sandwich = Some(sandwich);
    }

    /// The heaviest member's prior variances of the coefficients of scaled features.
    fn scaled_prior_variances(&self) -> Vec<f64> {
        let (p, basis) = self.stage.best_prior();
        let variances = self.prior_variances(p, basis).into_iter().enumerate();
        let scaled = |(j, variance): (usize, f64)| {
            let scale = self.scales.scale(j);
            self.dispersion.unit * variance * if scale == 0.0 { 1.0 } else { scale * scale }
        };
        variances.map(scaled).collect()
    }

    /// The prior variance of the coefficient of a scaled feature that no row had.
    pub(super) fn unseen_variance(&self) -> f64 {
        self.dispersion.unit * self.stage.best_prior().0 * self.prior.scale.slopes
    }

    /// A root of the covariance that is reported in place of the members', if there is one.
    pub(super) fn reported_root(&self) -> Result<Option<Vec<f64>>> {
        match &self.sandwich {
            Some(sandwich) => sandwich.square_root(&self.scales, self.dispersion.rows),
            None => Ok(None),
        }
    }
}
