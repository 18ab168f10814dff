//! Row kernels of the dense form: rows in pairs, with the checks of their precision.

use super::sweep::{Row, RowSlices, Shape, sweep};
use super::{Dense, small};
use crate::covariance::pairs::{self, GROUP, NARROW_GROUP, Pairs};
use crate::covariance::{Decide, Kernel, Learn};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::{Simd, WithSimd};

/// Largest $\sum_i x_i^2P_{ii} / x^\top Px$: above it, cancellation leaves $x^\top Px$ fewer than
/// four significant digits.
pub(super) const MAX_CANCELLATION: f64 = 1e12;

/// Largest $\alpha s$ of a row: it leaves half of the precision to the rows that follow.
const MAX_ALPHA_S_DENSE: f64 = 1e8;

/// Scratch of the row kernels: two rows at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    rows: [Row; 2],
    /// The diagonal of $P$ after all decided rows.
    diagonal: Buffer,
}

impl Scratch {
    pub fn new(stride: usize) -> Self {
        let line = Buffer::zeros(stride);
        let row = Row {
            x: line.clone(),
            v: line.clone(),
            applied: line.clone(),
            dots: line.clone(),
            contraction: 0.0,
        };
        Self { rows: [row.clone(), row], diagonal: line }
    }
}

impl WithSimd for Learn<'_, '_, Dense> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        // small dimensions in registers of 8 or 4 lanes; everything else takes the general kernels
        macro_rules! small {
            ($registers:literal, $stride:literal) => {
                if self.noise.is_empty() {
                    return small::learn::<S, $registers, $stride, false>(simd, self);
                } else {
                    return small::learn::<S, $registers, $stride, true>(simd, self);
                }
            };
        }
        match (S::F64_LANES, self.p.stride, self.p.dim) {
            (8, 16, _) => small!(2, 2),
            (8, 32, _) => small!(4, 4),
            (4, 16, ..=12) => small!(3, 4),
            (4, 16, _) => small!(4, 4),
            (4, 32, ..=24) => small!(6, 8),
            (4, 32, 25..=28) => small!(7, 8),
            (4, 32, _) => small!(8, 8),
            _ if self.noise.is_empty() => two_by_two(simd, self),
            _ => row_by_row(simd, self),
        }
    }
}

#[inline(always)]
fn two_by_two<S: Simd>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p: Dense { dim, stride, p, scratch, .. }, theta, x, first, decide, .. } = learn;
    let shape = Shape { dim: *dim, stride: *stride };
    for (j, value) in scratch.diagonal[..shape.dim].iter_mut().enumerate() {
        *value = p[j * shape.stride + j];
    }
    pairs::learn(simd, &mut PairInFlight { shape, p, scratch }, shape.dim, theta, x, first, decide)
}

/// Process noise for the general kernels: added to the matrix before each row.
#[inline(always)]
fn row_by_row<S: Simd>(simd: S, learn: Learn<'_, '_, Dense>) -> Result<()> {
    let Learn { p, theta, x, first, decide, noise } = learn;
    for (i, x) in x.chunks_exact(p.dim).enumerate() {
        p.add_diagonal(noise);
        two_by_two(simd, Learn { p, theta, x, first: first + i, decide, noise: &[] })?;
    }
    Ok(())
}

/// The decision of row `i`; refused if $x^\top Px$ has lost its precision, or would lose it when
/// the row reduces it to $s/(1+\alpha s)$.
#[inline(always)]
pub(super) fn decide_checked<S: Simd>(
    simd: S,
    i: usize,
    m: f64,
    s: f64,
    x: &[S::f64s],
    diagonal: &[S::f64s],
    decide: &mut Decide<'_>,
) -> Result<Step> {
    check_precision(simd, i, s, x, diagonal)?;
    let step = decide(i, m, s)?;
    check_step(i, s, step)?;
    Ok(step)
}

#[inline(always)]
fn check_precision<S: Simd>(
    simd: S,
    i: usize,
    s: f64,
    x: &[S::f64s],
    diagonal: &[S::f64s],
) -> Result<()> {
    let mut size = simd.splat_f64s(0.0);
    for (x, p) in x.iter().zip(diagonal) {
        size = simd.mul_add_f64s(simd.mul_f64s(*x, *p), *x, size);
    }
    let kept = simd.reduce_sum_f64s(size) <= MAX_CANCELLATION * s && s >= 0.0;
    if kept { Ok(()) } else { Err(Error::PrecisionLost { row: i, value: s }) }
}

#[inline(always)]
fn check_step(i: usize, s: f64, step: Step) -> Result<()> {
    if step.curvature * s > MAX_ALPHA_S_DENSE {
        return Err(Error::PrecisionLost { row: i, value: s - step.contraction * s * s });
    }
    Ok(())
}

/// A pair of rows that the matrix is learning.
struct PairInFlight<'a> {
    shape: Shape,
    p: &'a mut [f64],
    scratch: &'a mut Scratch,
}

impl Pairs for PairInFlight<'_> {
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, pair: &[f64]) {
        for (row, x) in self.scratch.rows.iter_mut().zip(pair.chunks_exact(self.shape.dim)) {
            vector::load(simd, x, &mut row.x);
        }
    }

    #[inline(always)]
    fn x(&self, row: usize) -> &[f64] {
        &self.scratch.rows[row].x
    }

    #[inline(always)]
    fn sweep<S: Simd, const APPLY: bool, const PREPARE: bool>(&mut self, simd: S, rows: usize) {
        for row in &mut self.scratch.rows {
            std::mem::swap(&mut row.v, &mut row.applied);
        }
        let [first, second] = &mut self.scratch.rows;
        let first = RowSlices::new(first);
        if rows == 1 {
            sweep::<S, GROUP, 1, APPLY, PREPARE>(simd, self.p, self.shape, [first]);
            return;
        }
        let rows = [first, RowSlices::new(second)];
        if S::F64_LANES == 4 {
            sweep::<S, NARROW_GROUP, 2, APPLY, PREPARE>(simd, self.p, self.shape, rows);
        } else {
            sweep::<S, GROUP, 2, APPLY, PREPARE>(simd, self.p, self.shape, rows);
        }
    }

    #[inline(always)]
    fn variance<S: Simd>(&mut self, simd: S, row: usize, i: usize) -> Result<f64> {
        let Row { x, v, .. } = &self.scratch.rows[row];
        let s = vector::dot(simd, v, x);
        let (x, _) = S::as_simd_f64s(x);
        let (diagonal, _) = S::as_simd_f64s(&self.scratch.diagonal);
        check_precision(simd, i, s, x, diagonal)?;
        Ok(s)
    }

    #[inline(always)]
    fn take_step<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        i: usize,
        s: f64,
        step: Step,
    ) -> Result<()> {
        check_step(i, s, step)?;
        let row = &mut self.scratch.rows[row];
        row.contraction = step.contraction;
        vector::add_squares(simd, -step.contraction, &row.v, &mut self.scratch.diagonal);
        Ok(())
    }

    #[inline(always)]
    fn correct_second<S: Simd>(&mut self, simd: S, step: Step) -> f64 {
        let [first, second] = &mut self.scratch.rows;
        let overlap = vector::dot(simd, &first.v, &second.x);
        vector::axpy(simd, -step.contraction * overlap, &first.v, &mut second.v);
        overlap
    }

    #[inline(always)]
    fn direction(&self, row: usize) -> &[f64] {
        &self.scratch.rows[row].applied
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_instruction_set_gives_the_same_answer() {
        crate::covariance::simd_tests::check::<super::Dense>(|_| &[]);
        crate::covariance::simd_tests::check::<super::Dense>(|dim| &[0.01; 50][..dim]);
    }
}
