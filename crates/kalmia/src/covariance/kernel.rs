//! The internal side of a covariance: learning rows, one by one or in blocks, and changing shape.

use super::block::{self, Outcome};
use crate::error::Result;
use crate::linalg::{Buffer, Threads};
use crate::rule::Step;
use crate::sparse::{SparseMatrix, SparseRow};
use std::fmt::Debug;

/// `decide(i, m, s)`: the step of row `i`, whose linear predictor is `m` with variance `s`. A trait
/// object, so one copy of the kernels serves every family and rule; the call costs about a
/// nanosecond per row.
pub type Decide<'a> = dyn FnMut(usize, f64, f64) -> Result<Step> + 'a;

/// `decide(k, i, m, s)`: the same for two beliefs, `k` being 0 or 1.
pub type DecideTwo<'a> = dyn FnMut(usize, usize, f64, f64) -> Result<Step> + 'a;

/// What learners do with a covariance. Internal: it seals [`super::Covariance`].
///
/// `theta` is always a [`Buffer`] of [`Buffer::padded`]`(dim)` entries with zeros after the last
/// coefficient.
pub trait Kernel: Clone + Debug + Send + Sync {
    /// Whether rounding can end the recursion with [`crate::Error::PrecisionLost`].
    const CAN_LOSE_PRECISION: bool;

    /// From a dense symmetric positive definite matrix, `dim * dim` numbers.
    fn from_matrix(matrix: &[f64], dim: usize) -> Result<Self>;

    /// From a diagonal of positive variances.
    fn from_diagonal(variances: &[f64]) -> Result<Self>;

    /// Learns the rows of `x` in order; `decide(i, m, s)` is called once per row with
    /// $m=\theta^\top x_i$ and $s=x_i^\top Px_i$, both before the row. An error of `decide` stops
    /// at that row: the belief then holds the rows before it, or, in a block, the rows before the
    /// block.
    fn learn(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()>;

    /// Two beliefs learn the same rows with the results of [`Kernel::learn`]. Small dimensions
    /// interleave them: one computes while the other waits for its decision. After an error both
    /// have learned an unspecified part of the rows.
    fn learn_two(
        beliefs: [(&mut Self, &mut Buffer); 2],
        x: &[f64],
        decide: &mut DecideTwo<'_>,
        threads: Threads,
    ) -> Result<()> {
        learn_in_turn(beliefs, x, decide, threads)
    }

    /// How sparse rows are predicted; `None` if they must be written out as dense rows.
    fn sparse(&self) -> Option<&dyn SparseKernel> {
        None
    }

    /// How sparse rows are learned; `None` if they must be written out as dense rows.
    fn sparse_mut(&mut self) -> Option<&mut dyn SparseKernel> {
        None
    }

    /// Refuses if not every covariance of `dim` coefficients can be held.
    fn require_any_matrix(_dim: usize) -> Result<()> {
        Ok(())
    }

    /// $x_i^\top Px_i$ of many rows, on several cores if they are worth it; never negative.
    fn variances(&self, x: &[f64], s: &mut [f64], threads: Threads);

    /// As [`Kernel::learn`], with $P \mathrel{+}= \mathrm{diag}(q)$ before each row.
    fn learn_with_process_noise(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        q: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()>;

    /// Bytes of a matrix of `dim` coefficients.
    fn bytes(dim: usize) -> usize;

    /// Bytes of the larger matrix that [`Kernel::grow`] would allocate; 0 while there is room.
    fn growth_bytes(&self) -> usize;

    /// Appends a coefficient with the given variance, independent of the others.
    fn grow(&mut self, variance: f64);

    /// Sets the variance of coefficient `j`, which must be independent of the others: no row has
    /// had a value for it yet.
    fn set_untouched(&mut self, j: usize, variance: f64);

    /// $P \leftarrow aP$.
    fn scale(&mut self, a: f64);

    /// Removes the last coefficient, which must be independent of the others.
    fn shrink(&mut self);

    /// $P \mathrel{+}= \mathrm{diag}(q)$.
    fn add_diagonal(&mut self, q: &[f64]);

    /// The numbers that a saved state needs, in a fixed order.
    fn parts(&self) -> Vec<f64>;

    /// The inverse of [`Kernel::parts`].
    fn from_parts(parts: &[f64], dim: usize) -> Result<Self>;
}

/// A form whose cost per sparse row depends on the features of the row alone.
pub trait SparseKernel {
    /// As [`Kernel::learn`]. If `guarded`, an error changes nothing, and a coefficient that is not
    /// finite afterwards is an error.
    fn learn_sparse(
        &mut self,
        theta: &mut Buffer,
        x: SparseMatrix<'_>,
        decide: &mut Decide<'_>,
        guarded: bool,
        threads: Threads,
    ) -> Result<()>;

    /// $x^\top Px$; `scratch` is kept from row to row.
    fn sparse_variance(&self, x: SparseRow<'_>, scratch: &mut Vec<f64>) -> f64;
}

/// [`Kernel::learn_two`] without interleaving.
pub(super) fn learn_in_turn<C: Kernel>(
    beliefs: [(&mut C, &mut Buffer); 2],
    x: &[f64],
    decide: &mut DecideTwo<'_>,
    threads: Threads,
) -> Result<()> {
    for (k, (p, theta)) in beliefs.into_iter().enumerate() {
        p.learn(theta, x, &mut |i, m, s| decide(k, i, m, s), threads)?;
    }
    Ok(())
}

/// The two ways to learn rows that both forms have.
pub(super) trait Blocks: super::Covariance {
    /// Learns rows in order, without a block; `first` is the index that `decide` receives for the
    /// first of them.
    fn learn_rows(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        first: usize,
        decide: &mut Decide<'_>,
    ) -> Result<()>;

    /// Learns rows as one block.
    fn learn_block(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<Outcome>;
}

/// A batch for the row kernels; each form implements `WithSimd` for it.
pub(super) struct Learn<'a, 'd, P> {
    pub p: &'a mut P,
    pub theta: &'a mut Buffer,
    pub x: &'a [f64],
    /// The index that `decide` receives for the first row.
    pub first: usize,
    pub decide: &'a mut Decide<'d>,
    /// Process noise, added to the diagonal before each row: empty, or (dense form only) one
    /// variance per coefficient.
    pub noise: &'a [f64],
}

/// A batch for two beliefs, interleaved.
pub(super) struct LearnTwo<'a, 'd, P> {
    pub beliefs: [(&'a mut P, &'a mut Buffer); 2],
    pub x: &'a [f64],
    pub decide: &'a mut DecideTwo<'d>,
}

/// Rows are learned in blocks from this dimension on. Below it the matrix stays in the second-level
/// cache between pairs of rows, and starting a second core would cost more than it saves.
const MIN_BLOCK_DIM: usize = 640;

/// Rows of the smallest block; fewer are learned row by row.
const MIN_BLOCK_ROWS: usize = 16;

/// Learns rows in blocks if the dimension is large enough. Rows that a block leaves, because it
/// would lose precision, are learned row by row.
pub(super) fn learn_in_blocks<C: Blocks>(
    p: &mut C,
    theta: &mut Buffer,
    x: &[f64],
    decide: &mut Decide<'_>,
    threads: Threads,
) -> Result<()> {
    let dim = p.dim();
    if dim == 0 {
        return Ok(());
    }
    if dim < MIN_BLOCK_DIM {
        return p.learn_rows(theta, x, 0, decide);
    }
    let size = block::rows(dim);
    for (b, x) in x.chunks(size * dim).enumerate() {
        let first = b * size;
        let rows = x.len() / dim;
        if rows < MIN_BLOCK_ROWS {
            p.learn_rows(theta, x, first, decide)?;
            continue;
        }
        let outcome = p.learn_block(theta, x, &mut |i, m, s| decide(first + i, m, s), threads)?;
        if let Outcome::Short { rows: done, next } = outcome {
            let mut decided = next;
            let mut once = |i: usize, m: f64, s: f64| match decided.take() {
                Some(step) => Ok(Step::new(step.gain, step.curvature, s)),
                None => decide(i, m, s),
            };
            p.learn_rows(theta, &x[done * dim..], first + done, &mut once)?;
        }
    }
    Ok(())
}

/// Smallest $s$ that may be computed by a difference, as a share of its value before. Below it,
/// cancellation has cost too much precision: row kernels sum $s$ anew, a block ends.
pub(super) const MIN_VARIANCE_SHARE: f64 = 1e-4;

/// $s' = s - c\,o^2$ of the next row, from $s = x^\top Px$ before the current row and their overlap
/// $o$; `None` if most of it cancels. The next decision waits for these two operations instead of a
/// sum.
#[inline(always)]
pub(super) fn next_variance(before: f64, c: f64, overlap: f64) -> Option<f64> {
    let s = before - c * overlap * overlap;
    if s >= MIN_VARIANCE_SHARE * before { Some(s) } else { None }
}
