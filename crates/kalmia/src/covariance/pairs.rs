//! Learns rows in pairs: one sweep over the matrix applies the steps of a pair and prepares the
//! next pair, which halves the loads and stores of the matrix.

use super::Decide;
use crate::error::Result;
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::Simd;

/// Columns that a sweep handles together: a loaded register of a row's vectors serves all of them.
pub(super) const GROUP: usize = 4;
/// The same for two rows in registers of 4 lanes: each column takes six registers then, and
/// instruction sets of that width have only 16.
pub(super) const NARROW_GROUP: usize = 2;

/// A matrix with the vectors of one or two rows.
pub(super) trait Pairs {
    /// Copies the features of the next one or two rows.
    fn load<S: Simd>(&mut self, simd: S, pair: &[f64]);

    /// The features of a row, padded.
    fn x(&self, row: usize) -> &[f64];

    /// One sweep over the matrix for the first `rows` rows. With `APPLY` it applies their steps,
    /// with `PREPARE` it computes what the loaded rows need.
    fn sweep<S: Simd, const APPLY: bool, const PREPARE: bool>(&mut self, simd: S, rows: usize);

    /// $s = x^\top Px$ of a row; `i` is its index for errors.
    fn variance<S: Simd>(&mut self, simd: S, row: usize, i: usize) -> Result<f64>;

    /// Prepares the vectors of a row for its step to be applied.
    fn take_step<S: Simd>(
        &mut self,
        simd: S,
        row: usize,
        i: usize,
        s: f64,
        step: Step,
    ) -> Result<()>;

    /// Corrects the second row for the first row's step; returns $x^\top Px'$ before the step.
    fn correct_second<S: Simd>(&mut self, simd: S, step: Step) -> f64;

    /// $Px$ of a row whose step the last sweep applied.
    fn direction(&self, row: usize) -> &[f64];
}

/// Largest $\alpha s$ of a first row. Above it the correction of the second row would lose
/// precision by cancellation, and the row is prepared anew.
const MAX_ALPHA_S_PAIR: f64 = 100.0;

/// Some neighboring columns, in registers.
///
/// One slice for all, not an array of slices: the library's functions that make an array with a
/// closure are not always inlined, and then the loops of a sweep keep pointers and sums in memory.
pub(super) struct Columns<'a, S: Simd> {
    registers: &'a mut [S::f64s],
    /// Registers from one column to the next.
    stride: usize,
    count: usize,
}

impl<'a, S: Simd> Columns<'a, S> {
    /// `count` columns that are `stride` numbers apart.
    #[inline(always)]
    pub fn new(columns: &'a mut [f64], stride: usize, count: usize) -> Self {
        let (registers, _) = S::as_mut_simd_f64s(columns);
        let stride = stride / S::F64_LANES;
        assert!(count * stride <= registers.len());
        Self { registers, stride, count }
    }

    /// Whether each column has `len` registers.
    #[inline(always)]
    pub fn reach(&self, len: usize) -> bool {
        len <= self.stride
    }

    /// Register `r` of column `g`.
    ///
    /// # Safety
    ///
    /// There must be a column `g`, and each column must have more than `r` registers.
    #[inline(always)]
    pub unsafe fn register(&mut self, g: usize, r: usize) -> &mut S::f64s {
        debug_assert!(g < self.count && r < self.stride);
        // SAFETY: the slice holds all registers of all columns.
        unsafe { self.registers.get_unchecked_mut(g * self.stride + r) }
    }
}

/// Learns the rows of `x`.
#[inline(always)]
pub(super) fn learn<S: Simd, P: Pairs>(
    simd: S,
    p: &mut P,
    dim: usize,
    theta: &mut Buffer,
    x: &[f64],
    first: usize,
    decide: &mut Decide<'_>,
) -> Result<()> {
    let mut pairs = x.chunks(2 * dim);
    let mut current = pairs.next();
    if let Some(pair) = current {
        p.load(simd, pair);
        p.sweep::<S, false, true>(simd, pair.len() / dim);
    }
    let mut i = first;
    while let Some(pair) = current {
        let rows = pair.len() / dim;
        let m = [vector::dot(simd, theta, p.x(0)), vector::dot(simd, theta, p.x(1))];
        let (step, s) = decide_row(simd, p, 0, i, m[0], decide)?;
        if rows == 2 && step.curvature * s > MAX_ALPHA_S_PAIR {
            let second = &pair[dim..];
            p.load(simd, second);
            p.sweep::<S, true, true>(simd, 1);
            vector::axpy(simd, step.gain, p.direction(0), theta);
            current = Some(second);
            i += 1;
            continue;
        }
        let mut gains = [step.gain, 0.0];
        let mut outcome = Ok(());
        if rows == 2 {
            let overlap = p.correct_second(simd, step);
            match decide_row(simd, p, 1, i + 1, m[1] + step.gain * overlap, decide) {
                Ok((step, _)) => gains[1] = step.gain,
                Err(error) => outcome = Err(error),
            }
        }
        // if the second row is refused, the first one is still learned
        let applied = rows - usize::from(outcome.is_err());
        current = if outcome.is_ok() { pairs.next() } else { None };
        let follows = current.filter(|_| applied == 2);
        match follows {
            Some(pair) => {
                p.load(simd, pair);
                p.sweep::<S, true, true>(simd, 2);
            }
            None => p.sweep::<S, true, false>(simd, applied),
        }
        for (row, gain) in gains.into_iter().enumerate().take(applied) {
            vector::axpy(simd, gain, p.direction(row), theta);
        }
        if let (Some(pair), None) = (current, follows) {
            // a pair that follows a single row
            p.load(simd, pair);
            p.sweep::<S, false, true>(simd, pair.len() / dim);
        }
        outcome?;
        i += rows;
    }
    Ok(())
}

#[inline(always)]
fn decide_row<S: Simd, P: Pairs>(
    simd: S,
    p: &mut P,
    row: usize,
    i: usize,
    m: f64,
    decide: &mut Decide<'_>,
) -> Result<(Step, f64)> {
    let s = p.variance(simd, row, i)?;
    let step = decide(i, m, s)?;
    p.take_step(simd, row, i, s, step)?;
    Ok((step, s))
}
