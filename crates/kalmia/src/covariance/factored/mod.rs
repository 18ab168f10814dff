//! `P` in factors, $P = UDU^\top$ (Bierman): positive definite despite rounding, about as fast as
//! the dense form.

mod block;
mod octet;
mod octet_block;
mod row;
mod side_by_side;
mod small;
mod small_factor;
mod sweep;
mod together;
mod together_block;
#[cfg(test)]
mod together_tests;

pub(crate) use together::{FactoredBelief, learn_together};
pub(crate) use together_block::TogetherScratch;

use super::kernel::{Blocks, learn_in_blocks, learn_in_turn};
use super::variances;
use super::{
    Covariance, Decide, DecideTwo, Kernel, Learn, LearnTwo, check_matrix, check_variances,
};
use crate::error::{Error, Result, require_len};
use crate::linalg::{Buffer, Threads, require_memory};
use crate::math::arch;

/// $U$ unit upper triangular (column-major, padded columns, the diagonal stored as ones, zeros
/// below) and $D$ a positive diagonal.
#[derive(Debug)]
pub struct Factored {
    dim: usize,
    /// Distance between columns: `dim` rounded up to whole cache lines.
    stride: usize,
    u: Buffer,
    d: Buffer,
    scratch: row::Scratch,
    block: block::Scratch,
}

/// A clone gets scratch of its own. `clone_from` keeps its scratch and allocates nothing if the
/// dimensions agree.
impl Clone for Factored {
    fn clone(&self) -> Self {
        Self { u: self.u.clone(), d: self.d.clone(), ..Self::with_stride(self.dim, self.stride) }
    }

    fn clone_from(&mut self, source: &Self) {
        if (self.dim, self.stride) != (source.dim, source.stride) {
            *self = Self::with_stride(source.dim, source.stride);
        }
        self.u.clone_from(&source.u);
        self.d.clone_from(&source.d);
    }
}

impl PartialEq for Factored {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim && self.parts() == other.parts()
    }
}

impl Factored {
    fn empty(dim: usize) -> Result<Self> {
        require_memory(Self::bytes(dim))?;
        Ok(Self::with_stride(dim, Buffer::column_stride(dim)))
    }

    /// Distance between columns of a matrix that grows to `dim`, with spare room: a series of new
    /// features does not copy the matrix each time.
    fn grown_stride(dim: usize) -> usize {
        Buffer::column_stride(dim + dim / 4)
    }

    fn with_stride(dim: usize, stride: usize) -> Self {
        let mut u = Buffer::zeros(stride * stride);
        for j in 0..dim {
            u[j * stride + j] = 1.0;
        }
        Self {
            dim,
            stride,
            u,
            d: Buffer::zeros(stride),
            scratch: row::Scratch::new(stride),
            block: block::Scratch::default(),
        }
    }

    fn column(&self, j: usize) -> &[f64] {
        &self.u[j * self.stride..][..=j]
    }

    /// The prior of coefficients that are independent, with the given variances, after features are
    /// centered: $\theta_0 = \theta_0' - \sum_j \mu_j\theta_j$.
    pub(crate) fn centered(variances: &[f64], centers: &[f64]) -> Result<Self> {
        let mut factored = Self::from_diagonal(variances)?;
        factored.set_centers(centers);
        Ok(factored)
    }

    /// Makes it what [`centered`](Self::centered) returns, in the memory that it has; the number of
    /// coefficients must be the same.
    pub(crate) fn reset_centered(&mut self, variances: &[f64], centers: &[f64]) -> Result<()> {
        require_len("covariance", variances.len(), self.dim)?;
        check_variances(variances)?;
        for j in 0..self.dim {
            self.u[j * self.stride..][..j].fill(0.0);
        }
        self.d[..self.dim].copy_from_slice(variances);
        self.set_centers(centers);
        Ok(())
    }

    fn set_centers(&mut self, centers: &[f64]) {
        for (j, center) in centers.iter().enumerate().skip(1) {
            self.u[j * self.stride] = -center;
        }
    }

    /// The covariance of the coefficients of centered features, $\theta_0' = \theta_0 + \sum_j
    /// \mu_j\theta_j$. In the factors the centers cancel without loss of precision.
    pub(crate) fn recentered(mut self, centers: &[f64]) -> Self {
        for j in 1..self.dim {
            let column = &mut self.u[j * self.stride..][..=j];
            column[0] += column.iter().zip(centers).skip(1).map(|(u, c)| u * c).sum::<f64>();
        }
        self
    }

    /// $x^\top Px$ of a row given feature by feature.
    pub(super) fn variance_of(&self, x: impl Fn(usize) -> f64) -> f64 {
        let project = |j| self.column(j).iter().enumerate().map(|(i, u)| u * x(i)).sum::<f64>();
        (0..self.dim).map(|j| self.d[j] * project(j).powi(2)).sum()
    }

    /// Removes coefficient `j`, which must be independent of the others.
    pub(super) fn remove(&mut self, j: usize) {
        let stride = self.stride;
        for k in j + 1..self.dim {
            let (to, from) = self.u.split_at_mut(k * stride);
            let to = &mut to[(k - 1) * stride..];
            to[..j].copy_from_slice(&from[..j]);
            to[j..k].copy_from_slice(&from[j + 1..=k]);
            self.d[k - 1] = self.d[k];
        }
        self.shrink();
    }

    /// Adds `q(j)` to the variance of each coefficient of centered features: $P \mathrel{+}=
    /// \sum_j q_j a_ja_j^\top$ with $a_j = e_j - \mu_je_0$. Costs $d^3/3$ operations.
    pub(crate) fn add_centered_diagonal(&mut self, q: impl Fn(usize) -> f64, centers: &[f64]) {
        let mut a = std::mem::take(self.scratch.spare());
        for (j, &center) in centers.iter().enumerate().take(self.dim) {
            let q = q(j);
            if q > 0.0 {
                a.fill(0.0);
                a[0] = -center;
                a[j] = 1.0;
                self.add_along(j, q, &mut a);
            }
        }
        *self.scratch.spare() = a;
    }

    /// $P \mathrel{+}= q\,e_je_j^\top$.
    fn add_to_coordinate(&mut self, j: usize, q: f64, a: &mut [f64]) {
        a.fill(0.0);
        a[j] = 1.0;
        self.add_along(j, q, a);
    }

    /// $P \mathrel{+}= q\,aa^\top$ (Agee and Turner), $j^2$ operations; `a` is 0 after `j`.
    fn add_along(&mut self, j: usize, q: f64, a: &mut [f64]) {
        let mut c = q;
        for k in (0..=j).rev() {
            let pivot = a[k];
            let new = self.d[k] + c * pivot * pivot;
            let gain = c * pivot / new;
            let column = &mut self.u[k * self.stride..][..k];
            for (u, a) in column.iter_mut().zip(a.iter_mut()) {
                *a -= pivot * *u;
                *u += gain * *a;
            }
            c *= self.d[k] / new;
            self.d[k] = new;
        }
    }
}

impl Covariance for Factored {
    const NAME: &'static str = "factored";

    fn dim(&self) -> usize {
        self.dim
    }

    fn variance(&self, x: &[f64]) -> f64 {
        self.variance_of(|i| x[i])
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.min(j), i.max(j));
        (j..self.dim)
            .map(|k| self.u[k * self.stride + i] * self.d[k] * self.u[k * self.stride + j])
            .sum()
    }

    fn square_root(&self) -> Result<Vec<f64>> {
        let mut factor = vec![0.0; self.dim * self.dim];
        for j in 0..self.dim {
            let root = self.d[j].sqrt();
            let column = factor[j * self.dim..].iter_mut();
            column.zip(self.column(j)).for_each(|(to, u)| *to = u * root);
        }
        Ok(factor)
    }

    fn log_det(&self) -> Result<f64> {
        Ok(self.d[..self.dim].iter().map(|d| d.ln()).sum())
    }
}

impl Kernel for Factored {
    const CAN_LOSE_PRECISION: bool = false;

    fn from_matrix(matrix: &[f64], dim: usize) -> Result<Self> {
        check_matrix(matrix, dim)?;
        let mut factored = Self::empty(dim)?;
        let mut rest = matrix.to_vec();
        for j in (0..dim).rev() {
            let d = rest[j * dim + j];
            if !(d > 0.0 && d.is_finite()) {
                return Err(Error::NotPositiveDefinite { name: "covariance", pivot: j, value: d });
            }
            factored.d[j] = d;
            for i in 0..j {
                let u = rest[j * dim + i] / d;
                factored.u[j * factored.stride + i] = u;
                for k in 0..=i {
                    rest[i * dim + k] -= u * rest[j * dim + k];
                }
            }
        }
        Ok(factored)
    }

    fn from_diagonal(variances: &[f64]) -> Result<Self> {
        check_variances(variances)?;
        let mut factored = Self::empty(variances.len())?;
        factored.d[..variances.len()].copy_from_slice(variances);
        Ok(factored)
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

    fn learn_two(
        beliefs: [(&mut Self, &mut Buffer); 2],
        x: &[f64],
        decide: &mut DecideTwo<'_>,
        threads: Threads,
    ) -> Result<()> {
        let dim = beliefs[0].0.dim;
        if x.len() > dim && dim <= small::MAX_DIM && dim == beliefs[1].0.dim {
            return arch().dispatch(LearnTwo { beliefs, x, decide });
        }
        learn_in_turn(beliefs, x, decide, threads)
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
        threads: Threads,
    ) -> Result<()> {
        for (i, x) in x.chunks_exact(self.dim.max(1)).enumerate() {
            self.add_diagonal(q);
            self.learn(theta, x, &mut |_, m, s| decide(i, m, s), threads)?;
        }
        Ok(())
    }

    fn bytes(dim: usize) -> usize {
        Buffer::square_bytes(Buffer::column_stride(dim))
    }

    fn growth_bytes(&self) -> usize {
        let dim = self.dim + 1;
        if dim > self.stride { Buffer::square_bytes(Self::grown_stride(dim)) } else { 0 }
    }

    fn grow(&mut self, variance: f64) {
        let dim = self.dim + 1;
        if dim > self.stride {
            let mut grown = Self::with_stride(dim, Self::grown_stride(dim));
            for j in 0..self.dim {
                grown.u[j * grown.stride..][..=j].copy_from_slice(self.column(j));
            }
            grown.d[..self.dim].copy_from_slice(&self.d[..self.dim]);
            *self = grown;
        }
        self.dim = dim;
        self.u[(dim - 1) * self.stride + dim - 1] = 1.0;
        self.d[dim - 1] = variance;
    }

    fn set_untouched(&mut self, j: usize, variance: f64) {
        self.d[j] = variance;
    }

    fn scale(&mut self, a: f64) {
        self.d.iter_mut().for_each(|d| *d *= a);
    }

    fn shrink(&mut self) {
        let last = self.dim - 1;
        self.u[last * self.stride..][..self.dim].fill(0.0);
        self.d[last] = 0.0;
        self.dim = last;
    }

    /// Costs $d^3/3$ operations: prefer [`Dense`](super::Dense) for a learner with process noise.
    fn add_diagonal(&mut self, q: &[f64]) {
        let mut a = std::mem::take(self.scratch.spare());
        for (j, &q) in q.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            self.add_to_coordinate(j, q, &mut a);
        }
        *self.scratch.spare() = a;
    }

    fn parts(&self) -> Vec<f64> {
        let strict = (0..self.dim).flat_map(|j| &self.column(j)[..j]);
        self.d[..self.dim].iter().chain(strict).copied().collect()
    }

    fn from_parts(parts: &[f64], dim: usize) -> Result<Self> {
        require_len("covariance", parts.len(), dim * (dim + 1) / 2)?;
        let (d, mut rest) = parts.split_at(dim);
        let mut factored = Self::from_diagonal(d)?;
        for j in 0..dim {
            let (column, after) = rest.split_at(j);
            factored.u[j * factored.stride..][..j].copy_from_slice(column);
            rest = after;
        }
        Ok(factored)
    }
}

impl Blocks for Factored {
    fn learn_rows(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        first: usize,
        decide: &mut Decide<'_>,
    ) -> Result<()> {
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
