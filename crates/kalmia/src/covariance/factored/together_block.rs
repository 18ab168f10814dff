//! Blocks of rows that several factored beliefs learn together.
//!
//! Each belief first projects all rows of the block. From the projections the rows are decided one
//! after another for all beliefs, without their matrices. Then each belief applies the block. So a
//! matrix is taken into the cache twice per block, not once per row.

use super::FactoredBelief;
use super::octet::{MAX_BLOCK, OCTET};
use super::octet_block::{BlockSteps, OctetBlock};
use super::side_by_side::SideBySide;
use super::together::DecideTogether;
use crate::error::Result;
use crate::math::arch;
use crate::rule::LinearRow;
use pulp::{Simd, WithSimd};

/// From these dimensions on blocks have two and four octets. A larger matrix is taken from further
/// away, so it pays to take it less often; but what a row does to the rows after it costs `2 d`
/// operations per row of the block, beside the `3 d^2 / 2` of the matrix.
const MIN_TWO_OCTETS_DIM: usize = 240;
const MIN_FOUR_OCTETS_DIM: usize = 400;

/// Rows of a block.
pub(super) fn block_rows(dim: usize) -> usize {
    match dim {
        ..MIN_TWO_OCTETS_DIM => OCTET,
        MIN_TWO_OCTETS_DIM..MIN_FOUR_OCTETS_DIM => 2 * OCTET,
        _ => MAX_BLOCK,
    }
}

/// Scratch of blocks, allocated at the first block and reused. A copy starts without it.
#[derive(Debug, Default)]
pub struct TogetherScratch {
    /// One per belief.
    octets: Vec<OctetBlock>,
    /// The rows of a block, side by side.
    x: SideBySide,
    steps: BlockSteps,
}

impl Clone for TogetherScratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// At most [`block_rows`] rows to learn as one block.
pub(super) struct TogetherBlock<'a, 'd> {
    pub beliefs: &'a mut [FactoredBelief],
    pub rows: &'a mut [LinearRow],
    pub x: &'a [f64],
    /// The index that `decide` receives for the first row.
    pub first: usize,
    pub decide: &'a mut DecideTogether<'d>,
}

impl TogetherBlock<'_, '_> {
    /// Learns the rows; returns how many were learned: a block ends early if it would lose
    /// precision. An error changes nothing.
    pub fn learn(self, scratch: &mut TogetherScratch) -> Result<usize> {
        let dim = self.beliefs[0].covariance.dim;
        let rows = block_rows(dim);
        let TogetherScratch { octets, x, steps } = scratch;
        octets.resize_with(octets.len().max(self.beliefs.len()), OctetBlock::default);
        for (belief, octets) in self.beliefs.iter().zip(&mut *octets) {
            octets.reserve(belief.covariance.stride, rows / OCTET);
            steps.reserve(belief.covariance.stride, rows / OCTET);
        }
        x.set(self.x, dim, rows);
        let octets = &mut octets[..self.beliefs.len()];
        arch().dispatch(LearnBlock { dim, block: self, octets, sides: x, steps })
    }
}

/// A block with its scratch, ready to be learned.
pub(super) struct LearnBlock<'a, 'b, 'd> {
    pub dim: usize,
    pub block: TogetherBlock<'b, 'd>,
    pub octets: &'a mut [OctetBlock],
    pub sides: &'a SideBySide,
    pub steps: &'a mut BlockSteps,
}

impl WithSimd for LearnBlock<'_, '_, '_> {
    type Output = Result<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<usize> {
        let Self { dim, block, octets, sides, steps } = self;
        let TogetherBlock { beliefs, rows, x, first, decide } = block;
        for (belief, octets) in beliefs.iter().zip(&mut *octets) {
            octets.open(simd, belief, sides);
        }
        let size = x.len() / dim;
        let mut done = 0;
        while done < size && read_row(octets, rows, done) {
            decide(first + done, rows)?;
            for (octets, row) in octets.iter_mut().zip(&*rows) {
                octets.decide(simd, size, done, row.step);
            }
            done += 1;
        }
        // backwards: the last matrices are still in the cache
        for (belief, octets) in beliefs.iter_mut().zip(octets).rev() {
            octets.apply(simd, belief, done, steps);
        }
        Ok(done)
    }
}

/// What each belief says of row `j`; whether all of it is precise.
#[inline(always)]
fn read_row(octets: &[OctetBlock], rows: &mut [LinearRow], j: usize) -> bool {
    for (octets, row) in octets.iter().zip(rows) {
        let Some(s) = octets.variance(j) else { return false };
        row.s = s;
        row.m = octets.predictor(j);
    }
    true
}
