//! What each row adds to the sums: slope, curvature and deviance; and the sums of one core.

use super::totals::{Scalars, Totals};
use super::triangle::{PIECE_ROWS, Triangle};
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::linalg::{Buffer, View, ViewMut, multiply, row_products};
use crate::math::arch;
use crate::rows::{MAX_FEATURE, MAX_MODERATE, Rows};
use std::ops::Range;

/// Largest term of a sum: $10^{18}$ rows of it do not overflow.
pub(super) const MAX_TERM: f64 = 1e290;

/// Whether and how the dispersion is estimated, as the default learner does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Labels: it is 1.
    None,
    /// The noise variance.
    Normal,
    /// A parameter of the family, by Pearson's statistic.
    Pearson,
    /// Counts: Pearson's statistic, at least 1.
    Quasi,
}

impl Kind {
    pub fn of<F: Family>(family: &F) -> Self {
        match (family.dispersion(), family.normal_noise()) {
            // the family holds it
            _ if family.fast().shape().is_some() => Self::None,
            (None, _) if family.fast().overdispersed() => Self::Quasi,
            (None, _) => Self::None,
            (Some(_), Some(_)) => Self::Normal,
            (Some(_), None) => Self::Pearson,
        }
    }
}

/// Scratch for the rows of a call.
#[derive(Debug, Clone, Default)]
pub(super) struct RowTerms {
    /// $w\ell'$.
    slope: Vec<f64>,
    /// $\sqrt{w\ell''}$, so that the information is a product of one matrix with itself.
    curvature_root: Vec<f64>,
}

/// The terms of the rows of a range.
pub(super) struct TermsShare<'a> {
    pub range: Range<usize>,
    slope: &'a mut [f64],
    curvature_root: &'a mut [f64],
}

impl RowTerms {
    pub fn reserve(&mut self, rows: usize) {
        if self.slope.len() < rows {
            self.slope.resize(rows, 0.0);
            self.curvature_root.resize(rows, 0.0);
        }
    }

    /// The terms in consecutive shares of `share_rows`.
    pub fn shares(
        &mut self,
        rows: usize,
        share_rows: usize,
    ) -> impl Iterator<Item = TermsShare<'_>> {
        let slopes = self.slope[..rows].chunks_mut(share_rows.max(1));
        let roots = self.curvature_root[..rows].chunks_mut(share_rows.max(1));
        slopes.zip(roots).enumerate().map(move |(k, (slope, curvature_root))| {
            let first = k * share_rows;
            TermsShare { range: first..first + slope.len(), slope, curvature_root }
        })
    }
}

impl TermsShare<'_> {
    /// Computes the terms of the rows of this share. A refused row is counted from the start of the
    /// call.
    pub fn fill<F: Family>(
        mut self,
        family: &F,
        theta: &[f64],
        kind: Kind,
        with_scores: bool,
        rows: Rows<'_>,
    ) -> Result<Scalars> {
        let mut scalars = Scalars::default();
        for first in (0..rows.len()).step_by(PIECE_ROWS) {
            let range = first..rows.len().min(first + PIECE_ROWS);
            let piece = rows.slice(range.clone());
            self.fill_piece(family, theta, kind, with_scores, piece, range, &mut scalars)
                .map_err(|error| error.after_rows(self.range.start + first))?;
        }
        Ok(scalars)
    }

    // the loop needs all of it, and a struct for two callers would say no more
    #[allow(clippy::too_many_arguments)]
    fn fill_piece<F: Family>(
        &mut self,
        family: &F,
        theta: &[f64],
        kind: Kind,
        with_scores: bool,
        rows: Rows<'_>,
        range: Range<usize>,
        scalars: &mut Scalars,
    ) -> Result<()> {
        let moderate = rows.check(family, theta.len())?;
        let size = if moderate { MAX_MODERATE } else { MAX_FEATURE };
        let fast = family.fast();
        let unit = fast.with_dispersion_unchecked(1.0);
        let dispersion = family.dispersion().unwrap_or(1.0);
        let weight_is_size = fast.weight_is_trials();
        let slope = &mut self.slope[range.clone()];
        let curvature_root = &mut self.curvature_root[range];
        // the linear predictors, until the slopes replace them
        row_products(rows.features(), rows.dim(), theta, slope);
        let mut sums = [0.0; 4];
        for i in 0..rows.len() {
            let mut row = rows.observation(i);
            row.y = fast.code(row.y);
            let linear = slope[i];
            let (first, second) = row.derivatives(family, linear);
            let u = linear + row.offset;
            let excess = (family.loss(row.y, u) - fast.least_loss(row.y)).max(0.0);
            let deviance = 2.0 * dispersion * row.weight * excess;
            let pearson = match kind {
                Kind::None => 0.0,
                _ if row.weight == 0.0 => 0.0,
                _ => {
                    let residual = row.y - unit.mean(u);
                    row.weight * residual * residual / unit.variance(u).max(f64::MIN_POSITIVE)
                }
            };
            let score = if with_scores { first * size } else { 1.0 };
            for (quantity, term) in [
                ("the squared score", score * score),
                ("the slope of the loss times a feature", (first * size).abs()),
                ("the curvature of the loss times two features", second * size * size),
                ("the deviance", deviance),
            ] {
                if term.is_nan() || term > MAX_TERM {
                    return Err(Error::Overflow { row: i, quantity, value: term });
                }
            }
            slope[i] = first;
            // convex families have no negative one but by rounding
            curvature_root[i] = second.max(0.0).sqrt();
            let one = if weight_is_size && row.weight > 0.0 { 1.0 } else { row.weight };
            for (sum, term) in sums.iter_mut().zip([row.weight, one, deviance, pearson]) {
                *sum += term;
            }
        }
        scalars.add(&sums);
        scalars.rows += rows.len() as u64;
        Ok(())
    }
}

/// The sums of one core, with its scratch.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub totals: Totals,
    /// What the last call found; taken before the sums are moved.
    pub outcome: Result<Scalars>,
    scaled: Buffer,
    partial_gradient: Vec<f64>,
}

impl Worker {
    pub fn new(totals: Totals) -> Self {
        let dim = totals.dim();
        Self {
            totals,
            outcome: Ok(Scalars::default()),
            scaled: Buffer::zeros(Triangle::row_stride(dim) * PIECE_ROWS),
            partial_gradient: vec![0.0; dim],
        }
    }

    /// Adds the rows of a share.
    pub fn add(&mut self, rows: Rows<'_>, terms: &TermsShare<'_>) {
        let dim = rows.dim();
        let Totals { gradient, information, scores } = &mut self.totals;
        for first in (0..rows.len()).step_by(PIECE_ROWS) {
            let range = first..rows.len().min(first + PIECE_ROWS);
            let n = range.len();
            let x = rows.slice(range.clone()).features();
            let slope = &terms.slope[range.clone()];
            multiply(
                ViewMut::columns(&mut self.partial_gradient, dim, 1, dim),
                false,
                1.0,
                View::columns(x, dim, n, dim),
                View::columns(slope, n, 1, n),
            );
            gradient.add(0, &self.partial_gradient);
            let stride = Triangle::row_stride(dim);
            let scaled = &mut self.scaled[..n * stride];
            let factors = &terms.curvature_root[range];
            arch().dispatch(Scale { x, factors, scaled: &mut *scaled, stride });
            information.add(scaled, n);
            if let Some(scores) = scores {
                arch().dispatch(Scale { x, factors: slope, scaled: &mut *scaled, stride });
                scores.add(scaled, n);
            }
        }
    }
}

/// Each row times its factor.
struct Scale<'a> {
    x: &'a [f64],
    factors: &'a [f64],
    scaled: &'a mut [f64],
    stride: usize,
}

impl pulp::WithSimd for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let dim = self.x.len() / self.factors.len().max(1);
        if dim == 0 {
            return;
        }
        let rows = self.x.chunks_exact(dim).zip(self.scaled.chunks_exact_mut(self.stride));
        for ((x, scaled), &factor) in rows.zip(self.factors) {
            for (scaled, x) in scaled.iter_mut().zip(x) {
                *scaled = factor * x;
            }
        }
    }
}
