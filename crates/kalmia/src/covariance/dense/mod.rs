//! `P` as a dense symmetric matrix: the fastest form, exact to rounding while `P` is well
//! conditioned.

mod block;
mod row;
mod small;

use super::{Covariance, Decide, Learn};
use crate::error::{Error, Result, require, require_len};
use crate::linalg::{Buffer, Threads, cholesky_lower};
use pulp::Arch;

/// Side of the tiles in which the upper triangle is kept: tiles on the diagonal are stored in full.
const TILE: usize = Buffer::LINE;

/// Up to this dimension both triangles are stored, in columns of 16 or 32: more arithmetic, but no
/// sums across a SIMD register.
const FULL_UP_TO: usize = 32;

/// The upper triangle of $P$ by tiles of 8 x 8, column-major with padded columns (both triangles
/// where the dimension is small).
///
/// Each row is checked for digits lost to cancellation in $x^\top Px$, before the row and by it; a
/// loss is reported as [`Error::PrecisionLost`], never returned silently. [`super::Factored`] does
/// not have that limit.
#[derive(Debug)]
pub struct Dense {
    dim: usize,
    /// Distance between columns: `dim` rounded up to whole cache lines.
    stride: usize,
    p: Buffer,
    work: row::Work,
    block: block::Work,
}

/// Scratch is not copied: a clone makes its own, and `clone_from` keeps what it has and allocates
/// nothing when the dimensions agree.
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
    fn empty(dim: usize) -> Self {
        let stride = if dim <= FULL_UP_TO {
            dim.max(1).next_multiple_of(FULL_UP_TO / 2)
        } else {
            Buffer::apart(dim)
        };
        Self::with_stride(dim, stride)
    }

    fn with_stride(dim: usize, stride: usize) -> Self {
        let p = Buffer::zeros(stride * stride);
        Self { dim, stride, p, work: row::Work::new(stride), block: block::Work::default() }
    }

    /// Entries of column `j` that are kept: whole tiles, and saved as such because two mirrored
    /// entries may differ in the last bit.
    fn kept(&self, j: usize) -> usize {
        if self.stride <= FULL_UP_TO { self.dim } else { ((j / TILE + 1) * TILE).min(self.dim) }
    }

    fn set(&mut self, i: usize, j: usize, value: f64) {
        let (i, j) = (i.min(j), i.max(j));
        self.p[j * self.stride + i] = value;
        if j < self.kept(i) {
            self.p[i * self.stride + j] = value;
        }
    }
}

impl Covariance for Dense {
    const NAME: &'static str = "dense";
    const CAN_LOSE_PRECISION: bool = true;

    fn from_matrix(matrix: &[f64], dim: usize) -> Result<Self> {
        check_matrix(matrix, dim)?;
        cholesky_lower(&mut matrix.to_vec(), dim, "covariance")?;
        let mut dense = Self::empty(dim);
        for j in 0..dim {
            for i in 0..=j {
                dense.set(i, j, matrix[j * dim + i]);
            }
        }
        Ok(dense)
    }

    fn from_diagonal(variances: &[f64]) -> Result<Self> {
        check_variances(variances)?;
        let mut dense = Self::empty(variances.len());
        for (j, &v) in variances.iter().enumerate() {
            dense.set(j, j, v);
        }
        Ok(dense)
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn learn(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        super::learn_in_blocks(self, theta, x, decide, threads)
    }

    fn learn_walking(
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
        Arch::new().dispatch(Learn { p: self, theta, x, first: 0, decide, walk: q })
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

    fn grow(&mut self, variance: f64) {
        let dim = self.dim + 1;
        if dim > self.stride || dim <= FULL_UP_TO + 1 {
            // some room, so that many features in a row do not copy the matrix each
            let mut grown = if dim <= FULL_UP_TO {
                Self::empty(dim)
            } else {
                Self::with_stride(dim, Buffer::apart(dim + dim / 4))
            };
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
        // A difference between mirrored entries is never contracted by a row: scaled up each time,
        // it would grow without bound.
        for j in 0..self.dim {
            for i in j + 1..self.kept(j) {
                self.p[j * self.stride + i] = self.p[i * self.stride + j];
            }
        }
    }

    fn add_diagonal(&mut self, q: &[f64]) {
        for (j, q) in q.iter().enumerate() {
            self.p[j * self.stride + j] += q;
        }
    }

    fn parts(&self) -> Vec<f64> {
        (0..self.dim).flat_map(|j| &self.p[j * self.stride..][..self.kept(j)]).copied().collect()
    }

    fn from_parts(parts: &[f64], dim: usize) -> Result<Self> {
        let mut dense = Self::empty(dim);
        require_len("covariance", parts.len(), (0..dim).map(|j| dense.kept(j)).sum())?;
        let mut rest = parts;
        for j in 0..dim {
            let (column, after) = rest.split_at(dense.kept(j));
            dense.p[j * dense.stride..][..column.len()].copy_from_slice(column);
            rest = after;
        }
        check_variances(&(0..dim).map(|j| dense.entry(j, j)).collect::<Vec<_>>())?;
        Ok(dense)
    }
}

impl super::Blocks for Dense {
    fn rows_one_by_one(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        first: usize,
        decide: &mut Decide<'_>,
    ) -> Result<()> {
        self.block.mirrored = false;
        Arch::new().dispatch(Learn { p: self, theta, x, first, decide, walk: &[] })
    }

    fn rows_in_block(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<super::block::Outcome> {
        block::learn(self, theta, x, decide, threads)
    }
}

/// Checks the length, finiteness and symmetry of a matrix given by the user.
pub(super) fn check_matrix(matrix: &[f64], dim: usize) -> Result<()> {
    require_len("covariance", matrix.len(), dim * dim)?;
    for j in 0..dim {
        for i in 0..=j {
            let (upper, lower) = (matrix[j * dim + i], matrix[i * dim + j]);
            let largest = upper.abs().max(lower.abs());
            require(
                upper.is_finite() && lower.is_finite(),
                "covariance",
                upper,
                "must have finite entries",
            )?;
            require(
                (upper - lower).abs() <= 1e-12 * largest,
                "covariance",
                upper - lower,
                "must be symmetric",
            )?;
        }
    }
    Ok(())
}

/// Checks that variances given by the user are finite and positive.
pub(super) fn check_variances(variances: &[f64]) -> Result<()> {
    match variances.iter().position(|v| !(*v > 0.0 && v.is_finite())) {
        Some(pivot) => {
            Err(Error::NotPositiveDefinite { name: "covariance", pivot, value: variances[pivot] })
        }
        None => Ok(()),
    }
}
