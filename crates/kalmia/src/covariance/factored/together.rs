//! Several factored beliefs that learn the same rows together: the step of each may depend on what
//! all of them predict.
//!
//! One sweep per belief and row applies the step of the row before and projects the next row, so a
//! row costs as many passes over the matrices as there are beliefs. Large matrices would leave the
//! cache between two rows; they learn blocks of rows (`together_block.rs`).

use super::Factored;
use super::row::PairInFlight;
use super::together_block::{TogetherBlock, TogetherScratch, block_rows};
use crate::covariance::pairs::Pairs;
use crate::covariance::{Covariance, Kernel};
use crate::error::Result;
use crate::linalg::{Buffer, vector};
use crate::math::arch;
use crate::rule::LinearRow;
use pulp::{Simd, WithSimd};

/// Rows are learned in blocks from this dimension on; below it the matrices stay in the cache, and
/// rows are as fast one by one.
const MIN_BLOCK_DIM: usize = 40;
/// Share of a block's rows, one in so many, from which it pays; fewer are learned one by one.
const MIN_BLOCK_SHARE: usize = 2;

/// A belief $N(\theta, P)$ with $P$ in factors.
#[derive(Debug, Clone)]
pub struct FactoredBelief {
    /// $\theta$, padded.
    pub theta: Buffer,
    /// $P$.
    pub covariance: Factored,
}

impl FactoredBelief {
    /// The coefficients without padding.
    pub fn coefficients(&self) -> &[f64] {
        &self.theta[..self.covariance.dim()]
    }

    /// One more coefficient, independent of the others, of mean 0.
    pub fn grow(&mut self, variance: f64) {
        let dim = self.covariance.dim();
        self.covariance.grow(variance);
        let mut theta = Buffer::zeros(dim + 1);
        theta[..dim].copy_from_slice(&self.theta[..dim]);
        self.theta = theta;
    }
}

/// `decide(i, rows)`: sets the step of each belief for row `i`.
pub type DecideTogether<'a> = dyn FnMut(usize, &mut [LinearRow]) -> Result<()> + 'a;

/// Learns the rows of `x` in order; `rows` is scratch, one per belief. Blocks end where the count
/// of rows, of which there were `count` before, is a multiple of their size, so how rows are cut
/// into calls changes rounding only.
///
/// An error of `decide` stops at that row: the beliefs then hold the rows before it, or, in a
/// block, the rows before the block.
pub fn learn_together(
    beliefs: &mut [FactoredBelief],
    rows: &mut [LinearRow],
    x: &[f64],
    count: u64,
    scratch: &mut TogetherScratch,
    decide: &mut DecideTogether<'_>,
) -> Result<()> {
    debug_assert_eq!(beliefs.len(), rows.len());
    let dim = beliefs.first().map_or(0, |belief| belief.covariance.dim());
    if dim == 0 {
        return Ok(());
    }
    if dim < MIN_BLOCK_DIM {
        return learn_rows(beliefs, rows, x, 0, decide);
    }
    let size = block_rows(dim);
    let mut first = 0;
    for x in cut_at_multiples(x, dim, count, size) {
        let mut done = 0;
        if x.len() >= size / MIN_BLOCK_SHARE * dim {
            done = TogetherBlock { beliefs, rows, x, first, decide }.learn(scratch)?;
        }
        learn_rows(beliefs, rows, &x[done * dim..], first + done, decide)?;
        first += x.len() / dim;
    }
    Ok(())
}

/// Parts of `x` that end where the count of rows is a multiple of `size`.
fn cut_at_multiples(
    x: &[f64],
    dim: usize,
    count: u64,
    size: usize,
) -> impl Iterator<Item = &[f64]> {
    let missing = size - (count % size as u64) as usize;
    let (head, rest) = x.split_at(x.len().min(missing * dim));
    std::iter::once(head).chain(rest.chunks(size * dim))
}

/// Learns rows one by one; `first` is the index that `decide` receives for the first of them.
pub(super) fn learn_rows(
    beliefs: &mut [FactoredBelief],
    rows: &mut [LinearRow],
    x: &[f64],
    first: usize,
    decide: &mut DecideTogether<'_>,
) -> Result<()> {
    let dim = beliefs[0].covariance.dim();
    arch().dispatch(LearnTogether { dim, beliefs, rows, x, first, decide })
}

struct LearnTogether<'a, 'd> {
    dim: usize,
    beliefs: &'a mut [FactoredBelief],
    rows: &'a mut [LinearRow],
    x: &'a [f64],
    first: usize,
    decide: &'a mut DecideTogether<'d>,
}

impl WithSimd for LearnTogether<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        let Self { dim, beliefs, rows, x, first, decide } = self;
        let mut pending = false;
        for (i, x) in (first..).zip(x.chunks_exact(dim)) {
            for (belief, row) in beliefs.iter_mut().zip(&mut *rows) {
                prepare(simd, belief, row, x, i, pending)?;
            }
            decide(i, rows)?;
            for (belief, row) in beliefs.iter_mut().zip(&*rows) {
                PairInFlight::of(&mut belief.covariance).take_step(simd, 0, i, row.s, row.step)?;
            }
            pending = true;
        }
        if pending {
            for (belief, row) in beliefs.iter_mut().zip(&*rows) {
                let mut flight = PairInFlight::of(&mut belief.covariance);
                flight.sweep::<S, true, false>(simd, 1);
                vector::axpy(simd, row.step.gain, flight.direction(0), &mut belief.theta);
            }
        }
        Ok(())
    }
}

/// Applies the pending step of the row before, if there is one, and reads the next row.
#[inline(always)]
fn prepare<S: Simd>(
    simd: S,
    belief: &mut FactoredBelief,
    row: &mut LinearRow,
    x: &[f64],
    i: usize,
    pending: bool,
) -> Result<()> {
    let mut flight = PairInFlight::of(&mut belief.covariance);
    flight.load(simd, x);
    if pending {
        flight.sweep::<S, true, true>(simd, 1);
        vector::axpy(simd, row.step.gain, flight.direction(0), &mut belief.theta);
    } else {
        flight.sweep::<S, false, true>(simd, 1);
    }
    row.s = flight.variance(simd, 0, i)?;
    row.m = vector::dot(simd, &belief.theta, flight.x(0));
    Ok(())
}
