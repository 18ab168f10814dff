//! `P` as a dense symmetric matrix: the fastest form, exact up to rounding while `P` is well
//! conditioned.

mod block;
mod row;
mod small;
mod sweep;

use super::kernel::{Blocks, learn_in_blocks};
use super::variances;
use super::{Covariance, Decide, Kernel, Learn, check_matrix, check_variances};
use crate::error::{Result, require_len};
use crate::linalg::{Buffer, Threads, cholesky_lower, require_memory};
use crate::math::arch;

/// Side of the tiles in which the upper triangle is stored. Tiles on the diagonal are stored in
/// full.
const TILE: usize = Buffer::LINE;

/// Largest dimension for which both triangles are stored, in columns of 16 or 32 numbers: more
/// arithmetic, but no sums across a SIMD register.
const MAX_FULL_DIM: usize = 32;

/// The upper triangle of $P$ by tiles of 8 x 8, column-major with padded columns (both triangles
/// where the dimension is small).
///
/// Each row is checked for precision lost to cancellation in $x^\top Px$, before the row and by it.
/// A loss is reported as [`Error::PrecisionLost`](crate::Error::PrecisionLost).
/// [`Factored`](super::Factored) does not have that limit.
#[derive(Debug)]
pub struct Dense {
    dim: usize,
    /// Distance between columns: `dim` rounded up to whole cache lines.
    stride: usize,
    p: Buffer,
    scratch: row::Scratch,
    block: block::Scratch,
}

/// A clone gets scratch of its own. `clone_from` keeps its scratch and allocates nothing if the
/// dimensions agree.
impl Clone for Dense {
    fn clone(&self) -> Self {
        Self { p: self.p.clone(), ..Self::with_stride(self.dim, self.stride) }
    }

    fn clone_from(&mut self, source: &Self) {
        if (self.dim, self.stride) != (source.dim, source.stride) {
            *self = Self::with_stride(source.dim, source.stride);
        }
        self.p.clone_from(&source.p);
    }
}

impl PartialEq for Dense {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim && self.parts() == other.parts()
    }
}

impl Dense {
    fn empty(dim: usize) -> Result<Self> {
        require_memory(Self::bytes(dim))?;
        Ok(Self::with_stride(dim, Self::stride(dim)))
    }

    /// Distance between columns of a matrix of `dim` coefficients.
    fn stride(dim: usize) -> usize {
        if dim <= MAX_FULL_DIM {
            dim.max(1).next_multiple_of(MAX_FULL_DIM / 2)
        } else {
            Buffer::column_stride(dim)
        }
    }

    /// The same of a matrix that grows to `dim`, with spare room: a series of new features does not
    /// copy the matrix each time.
    fn grown_stride(dim: usize) -> usize {
        if dim <= MAX_FULL_DIM { Self::stride(dim) } else { Buffer::column_stride(dim + dim / 4) }
    }

    /// Whether one more coefficient needs another matrix.
    fn is_full(&self) -> bool {
        let dim = self.dim + 1;
        dim > self.stride || dim <= MAX_FULL_DIM + 1
    }

    fn with_stride(dim: usize, stride: usize) -> Self {
        let p = Buffer::zeros(stride * stride);
        Self {
            dim,
            stride,
            p,
            scratch: row::Scratch::new(stride),
            block: block::Scratch::default(),
        }
    }

    /// Number of stored entries of column `j`: whole tiles. A saved state has them all, because two
    /// mirrored entries may differ in the last bit.
    fn stored(&self, j: usize) -> usize {
        if self.stride <= MAX_FULL_DIM { self.dim } else { ((j / TILE + 1) * TILE).min(self.dim) }
    }

    fn set(&mut self, i: usize, j: usize, value: f64) {
        let (i, j) = (i.min(j), i.max(j));
        self.p[j * self.stride + i] = value;
        if j < self.stored(i) {
            self.p[i * self.stride + j] = value;
        }
    }
}

impl Covariance for Dense {
    const NAME: &'static str = "dense";

    fn dim(&self) -> usize {
        self.dim
    }

    fn variance(&self, x: &[f64]) -> f64 {
        let mut s = 0.0;
        for (j, &xj) in x.iter().enumerate() {
            let column = &self.p[j * self.stride..][..=j];
            let above: f64 = column[..j].iter().zip(x).map(|(p, x)| p * x).sum();
            s += xj * (2.0 * above + column[j] * xj);
        }
        s.max(0.0)
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        self.p[i.max(j) * self.stride + i.min(j)]
    }

    fn log_det(&self) -> Result<f64> {
        let mut matrix = self.matrix();
        cholesky_lower(&mut matrix, self.dim, "covariance")?;
        Ok((0..self.dim).map(|j| 2.0 * matrix[j * self.dim + j].ln()).sum())
    }
}

impl Kernel for Dense {
    const CAN_LOSE_PRECISION: bool = true;

    fn from_matrix(matrix: &[f64], dim: usize) -> Result<Self> {
        check_matrix(matrix, dim)?;
        cholesky_lower(&mut matrix.to_vec(), dim, "covariance")?;
        let mut dense = Self::empty(dim)?;
        for j in 0..dim {
            for i in 0..=j {
                dense.set(i, j, matrix[j * dim + i]);
            }
        }
        Ok(dense)
    }

    fn from_diagonal(variances: &[f64]) -> Result<Self> {
        check_variances(variances)?;
        let mut dense = Self::empty(variances.len())?;
        for (j, &v) in variances.iter().enumerate() {
            dense.set(j, j, v);
        }
        Ok(dense)
    }

    fn learn(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        learn_in_blocks(self, theta, x, decide, threads)
    }

    fn variances(&self, x: &[f64], s: &mut [f64], threads: Threads) {
        variances::share(self, x, s, threads, |x, s| block::variances(self, x, s));
    }

    fn learn_with_process_noise(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        q: &[f64],
        decide: &mut Decide<'_>,
        _threads: Threads,
    ) -> Result<()> {
        if x.is_empty() {
            return Ok(());
        }
        self.block.mirrored = false;
        arch().dispatch(Learn { p: self, theta, x, first: 0, decide, noise: q })
    }

    fn bytes(dim: usize) -> usize {
        Buffer::square_bytes(Self::stride(dim))
    }

    fn growth_bytes(&self) -> usize {
        if self.is_full() { Buffer::square_bytes(Self::grown_stride(self.dim + 1)) } else { 0 }
    }

    fn grow(&mut self, variance: f64) {
        let dim = self.dim + 1;
        if self.is_full() {
            let mut grown = Self::with_stride(dim, Self::grown_stride(dim));
            for j in 0..self.dim {
                for i in 0..=j {
                    grown.set(i, j, self.entry(i, j));
                }
            }
            *self = grown;
        }
        self.dim = dim;
        self.block.mirrored = false;
        self.set(dim - 1, dim - 1, variance);
    }

    fn set_untouched(&mut self, j: usize, variance: f64) {
        self.set(j, j, variance);
    }

    fn scale(&mut self, a: f64) {
        self.p.iter_mut().for_each(|p| *p *= a);
        // Rows never reduce a difference between mirrored entries. Scaled up each time, it would
        // grow without bound.
        for j in 0..self.dim {
            for i in j + 1..self.stored(j) {
                self.p[j * self.stride + i] = self.p[i * self.stride + j];
            }
        }
    }

    fn shrink(&mut self) {
        let dim = self.dim - 1;
        if dim <= MAX_FULL_DIM {
            // small dimensions have a stride of their own
            let mut small = Self::with_stride(dim, Self::stride(dim));
            for j in 0..dim {
                for i in 0..=j {
                    small.set(i, j, self.entry(i, j));
                }
            }
            *self = small;
            return;
        }
        for i in 0..=dim {
            self.set(i, dim, 0.0);
        }
        self.dim = dim;
        self.block.mirrored = false;
    }

    fn add_diagonal(&mut self, q: &[f64]) {
        for (j, q) in q.iter().enumerate() {
            self.p[j * self.stride + j] += q;
        }
    }

    fn parts(&self) -> Vec<f64> {
        (0..self.dim).flat_map(|j| &self.p[j * self.stride..][..self.stored(j)]).copied().collect()
    }

    fn from_parts(parts: &[f64], dim: usize) -> Result<Self> {
        let mut dense = Self::empty(dim)?;
        require_len("covariance", parts.len(), (0..dim).map(|j| dense.stored(j)).sum())?;
        let mut rest = parts;
        for j in 0..dim {
            let (column, after) = rest.split_at(dense.stored(j));
            dense.p[j * dense.stride..][..column.len()].copy_from_slice(column);
            rest = after;
        }
        check_variances(&(0..dim).map(|j| dense.entry(j, j)).collect::<Vec<_>>())?;
        Ok(dense)
    }
}

impl Blocks for Dense {
    fn learn_rows(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        first: usize,
        decide: &mut Decide<'_>,
    ) -> Result<()> {
        self.block.mirrored = false;
        arch().dispatch(Learn { p: self, theta, x, first, decide, noise: &[] })
    }

    fn learn_block(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<super::block::Outcome> {
        block::learn(self, theta, x, decide, threads)
    }
}
