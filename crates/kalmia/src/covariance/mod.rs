//! How `P` is kept and moved: dense symmetric or in factors, row by row or in exact blocks.

mod block;
mod dense;
mod factored;
pub(crate) mod packed;
mod pairs;
#[cfg(test)]
mod simd_tests;

pub use dense::Dense;
pub use factored::Factored;

use crate::error::Result;
use crate::linalg::{Buffer, Threads};
use crate::rule::Step;
use block::Outcome;
use std::fmt::Debug;

/// `decide(i, m, s)`: the step of row `i`, whose linear predictor is `m` with variance `s`. Behind
/// a pointer, so that one copy of the kernels serves every family and rule; the call costs about a
/// nanosecond a row.
pub type Decide<'a> = dyn FnMut(usize, f64, f64) -> Result<Step> + 'a;

/// `decide(k, i, m, s)`: the same for two beliefs, `k` being 0 or 1.
pub type DecideTwo<'a> = dyn FnMut(usize, usize, f64, f64) -> Result<Step> + 'a;

/// A positive definite matrix that learns rows: the linear algebra of the recursion.
///
/// `theta` is always a [`Buffer`] of [`Buffer::padded`]`(dim)` entries with zeros behind the last
/// coefficient.
pub trait Covariance: Clone + Debug + Send + Sync {
    /// Name in messages and files.
    const NAME: &'static str;

    /// Whether rounding can end the recursion with [`crate::Error::PrecisionLost`].
    const CAN_LOSE_PRECISION: bool;

    /// From a dense symmetric positive definite matrix, `dim * dim` numbers.
    fn from_matrix(matrix: &[f64], dim: usize) -> Result<Self>;

    /// From a diagonal of positive variances.
    fn from_diagonal(variances: &[f64]) -> Result<Self>;

    /// Number of coefficients.
    fn dim(&self) -> usize;

    /// Learns the rows of `x` in order; `decide(i, m, s)` is called once a row with $m=\theta^\top
    /// x_i$ and $s=x_i^\top Px_i$, both before the row. An error of `decide` stops at that row: the
    /// belief then holds the rows before it, or, in a block, the rows before the block.
    fn learn(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()>;

    /// Two beliefs learn the same rows, as [`Covariance::learn`] would teach them one after the
    /// other; side by side where that hides the wait for a decision. An error leaves both somewhere
    /// on the way.
    fn learn_two(
        beliefs: [(&mut Self, &mut Buffer); 2],
        x: &[f64],
        decide: &mut DecideTwo<'_>,
        threads: Threads,
    ) -> Result<()> {
        one_after_the_other(beliefs, x, decide, threads)
    }

    /// As [`Covariance::learn`], with $P \mathrel{+}= \mathrm{diag}(q)$ before each row.
    fn learn_walking(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        q: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        for (i, x) in x.chunks_exact(self.dim().max(1)).enumerate() {
            self.add_diagonal(q);
            self.learn(theta, x, &mut |_, m, s| decide(i, m, s), threads)?;
        }
        Ok(())
    }

    /// $s = x^\top Px$.
    fn variance(&self, x: &[f64]) -> f64;

    /// Entry $(i,j)$ of $P$.
    fn entry(&self, i: usize, j: usize) -> f64;

    /// The matrix, dense and symmetric.
    fn matrix(&self) -> Vec<f64> {
        let dim = self.dim();
        let mut matrix = vec![0.0; dim * dim];
        for j in 0..dim {
            for i in 0..=j {
                let value = self.entry(i, j);
                matrix[i * dim + j] = value;
                matrix[j * dim + i] = value;
            }
        }
        matrix
    }

    /// $\ln\det P$.
    fn log_det(&self) -> Result<f64>;

    /// Appends a coefficient with the given variance, independent of the others.
    fn grow(&mut self, variance: f64);

    /// Sets the variance of coefficient `j`, which no row has touched yet (it is independent of the
    /// others).
    fn set_untouched(&mut self, j: usize, variance: f64);

    /// $P \leftarrow aP$.
    fn scale(&mut self, a: f64);

    /// $P \mathrel{+}= \mathrm{diag}(q)$.
    fn add_diagonal(&mut self, q: &[f64]);

    /// What has to be kept to go on: named numbers in a fixed order.
    fn parts(&self) -> Vec<f64>;

    /// The inverse of [`Covariance::parts`].
    fn from_parts(parts: &[f64], dim: usize) -> Result<Self>;
}

/// [`Covariance::learn_two`] where nothing is gained side by side.
fn one_after_the_other<C: Covariance>(
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

/// The two ways through the rows that both forms have.
trait Blocks: Covariance {
    /// Rows in order, each by itself; `first` is the index that `decide` sees for the first of
    /// them.
    fn rows_one_by_one(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        first: usize,
        decide: &mut Decide<'_>,
    ) -> Result<()>;

    /// Rows as one block.
    fn rows_in_block(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<Outcome>;
}

/// From this dimension on rows are learned in blocks, which several cores can share: below it the
/// matrix stays in the second cache from one pair of rows to the next, and a second core would cost
/// more than it gives.
const BLOCK_FROM: usize = 640;

/// Rows to be learned one by one, fusing the update of one with what the next one needs; each form
/// is a `WithSimd` of its own.
struct Learn<'a, 'd, P> {
    p: &'a mut P,
    theta: &'a mut Buffer,
    x: &'a [f64],
    /// The index that `decide` sees for the first row.
    first: usize,
    decide: &'a mut Decide<'d>,
    /// What is added to the diagonal before each row: nothing, or, in a dense matrix, a number a
    /// coefficient.
    walk: &'a [f64],
}

/// Rows to be learned by two beliefs side by side.
struct LearnTwo<'a, 'd, P> {
    beliefs: [(&'a mut P, &'a mut Buffer); 2],
    x: &'a [f64],
    decide: &'a mut DecideTwo<'d>,
}

/// Fewer rows than this are not worth a block.
const SMALLEST_BLOCK: usize = 16;

/// Cuts the rows into blocks where the dimension is large enough; what a block leaves, for want of
/// digits, goes row by row.
fn learn_in_blocks<C: Blocks>(
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
    if dim < BLOCK_FROM {
        return p.rows_one_by_one(theta, x, 0, decide);
    }
    let size = block::rows(dim);
    for (b, x) in x.chunks(size * dim).enumerate() {
        let first = b * size;
        let rows = x.len() / dim;
        if rows < SMALLEST_BLOCK {
            p.rows_one_by_one(theta, x, first, decide)?;
            continue;
        }
        let outcome = p.rows_in_block(theta, x, &mut |i, m, s| decide(first + i, m, s), threads)?;
        if let Outcome::Short { rows: done, next } = outcome {
            let mut decided = next;
            let mut once = |i: usize, m: f64, s: f64| match decided.take() {
                Some(step) => Ok(Step::new(step.gain, step.curvature, s)),
                None => decide(i, m, s),
            };
            p.rows_one_by_one(theta, &x[done * dim..], first + done, &mut once)?;
        }
    }
    Ok(())
}

/// Below this share of its value before the row at hand, the next row's $s$ is summed anew.
const SMALLEST_SHARE: f64 = 1e-4;

/// $s' = s - c\,o^2$ of the next row, from $s = x^\top Px$ before the row at hand and their overlap
/// $o$: two operations after the decision in place of a sum, as the next decision waits for nothing
/// else. `None` where most of it cancels.
#[inline(always)]
fn next_variance(before: f64, c: f64, overlap: f64) -> Option<f64> {
    let s = before - c * overlap * overlap;
    if s >= SMALLEST_SHARE * before { Some(s) } else { None }
}
