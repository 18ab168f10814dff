//! Rows one by one on the factored form: Bierman's update fused with the next row's projection, one pass over `U` a row.

use super::{Factored, small};
use crate::covariance::{Learn, LearnTwo};
use crate::error::Result;
use crate::linalg::{Buffer, vector};
use pulp::{Simd, WithSimd};

/// Columns handled together, so that a loaded line of `k` and `x` serves all of them.
const GROUP: usize = 4;

/// Scratch of the row pass.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    x: Buffer,
    /// $f = U^\top x$.
    f: Buffer,
    /// $v = Df$.
    v: Buffer,
    lambda: Buffer,
    /// Running sums of $d_jf_j^2$, from 0.
    sums: Buffer,
    /// $k = Px$, built up column by column.
    k: Buffer,
}

impl Work {
    pub fn new(stride: usize) -> Self {
        let line = Buffer::zeros(stride);
        let sums = Buffer::zeros(stride + 1);
        Self { x: line.clone(), f: line.clone(), v: line.clone(), lambda: line.clone(), sums, k: line }
    }
}

impl Work {
    /// A vector that the row pass fills before it reads it.
    pub fn scratch(&mut self) -> &mut Buffer {
        &mut self.k
    }
}

impl WithSimd for Learn<'_, '_, Factored> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        if self.x.is_empty() {
            return Ok(());
        }
        // looking ahead takes one pass more a call
        match (S::F64_LANES, self.p.dim, self.x.len() > self.p.dim) {
            (8, 1..=16, true) => return small::learn::<S, 2>(simd, self),
            (8, 17..=small::UP_TO, true) => return small::learn::<S, 4>(simd, self),
            (4, 1..=16, true) => return small::learn::<S, 4>(simd, self),
            (4, 17..=small::UP_TO, true) => return small::learn::<S, 8>(simd, self),
            (8, 1..=16, false) => return small::learn_one::<S, 2>(simd, self),
            (8, 17..=small::UP_TO, false) => return small::learn_one::<S, 4>(simd, self),
            (4, 1..=16, false) => return small::learn_one::<S, 4>(simd, self),
            (4, 17..=small::UP_TO, false) => return small::learn_one::<S, 8>(simd, self),
            _ => {}
        }
        let Learn { p: Factored { dim, stride, u, d, work, .. }, theta, x, first, decide, .. } = self;
        let (dim, stride) = (*dim, *stride);
        let (row, rest) = x.split_at(dim);
        let mut rows = rest.chunks_exact(dim);
        vector::load(simd, row, &mut work.x);
        pass::<S, false, true>(simd, u, dim, stride, work);
        for i in first.. {
            let m = vector::dot(simd, theta, &work.x);
            let s = accumulate(d, dim, work);
            let step = decide(i, m, s)?;
            prepare(d, dim, step.curvature, work);
            let next = rows.next();
            match next {
                Some(row) => {
                    vector::load(simd, row, &mut work.x);
                    pass::<S, true, true>(simd, u, dim, stride, work);
                }
                None => pass::<S, true, false>(simd, u, dim, stride, work),
            }
            vector::axpy(simd, step.gain, &work.k, theta);
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl WithSimd for LearnTwo<'_, '_, Factored> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        match (S::F64_LANES, self.beliefs[0].0.dim) {
            (8, 1..=16) => small::learn_two::<S, 2>(simd, self),
            (8, _) => small::learn_two::<S, 4>(simd, self),
            (4, 1..=16) => small::learn_two::<S, 4>(simd, self),
            (4, _) => small::learn_two::<S, 8>(simd, self),
            _ => {
                let Self { beliefs, x, decide } = self;
                for (k, (p, theta)) in beliefs.into_iter().enumerate() {
                    Learn { p, theta, x, first: 0, decide: &mut |i, m, s| decide(k, i, m, s), walk: &[] }.with_simd(simd)?;
                }
                Ok(())
            }
        }
    }
}

/// $v = Df$ and the running sums $\sum_{i\le j} d_if_i^2$ in `sums[j+1]`; returns $s = x^\top Px$, their last. Nothing here waits for the rule.
#[inline(always)]
fn accumulate(d: &[f64], dim: usize, work: &mut Work) -> f64 {
    let (f, v, sums, d) = (&work.f[..dim], &mut work.v[..dim], &mut work.sums[1..=dim], &d[..dim]);
    let mut s = 0.0;
    for j in 0..dim {
        v[j] = d[j] * f[j];
        s += v[j] * f[j];
        sums[j] = s;
    }
    s
}

/// The scalars of Bierman's recursion: $a_j = 1 + \alpha\sum_{i\le j} d_if_i^2$, $\lambda_j = -\alpha f_j/a_{j-1}$, $d_j \leftarrow d_j a_{j-1}/a_j$.
#[inline(always)]
fn prepare(d: &mut [f64], dim: usize, alpha: f64, work: &mut Work) {
    let Work { f, lambda, sums, .. } = work;
    let (f, lambda, d) = (&f[..dim], &mut lambda[..dim], &mut d[..dim]);
    let (before, after) = (&sums[..dim], &sums[1..=dim]);
    for j in 0..dim {
        let (a, next) = (1.0 + alpha * before[j], 1.0 + alpha * after[j]);
        lambda[j] = -alpha * f[j] / a;
        d[j] *= a / next;
    }
}

/// Column by column: $u_j \leftarrow u_j + \lambda_j k$, $k \leftarrow k + v_j u_j^{\mathrm{old}}$ (with `PAY`), and $f_j \leftarrow u_j^\top x$ for the row that comes
/// next (with `PROJECT`).
#[inline(always)]
fn pass<S: Simd, const PAY: bool, const PROJECT: bool>(simd: S, u: &mut [f64], dim: usize, stride: usize, work: &mut Work) {
    let Work { x, f, v, lambda, k, .. } = work;
    vector::clear(simd, k);
    let (x, _) = S::as_simd_f64s(x);
    let (k, _) = S::as_mut_simd_f64s(k);
    for (group, columns) in u.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP)).enumerate() {
        let j = group * GROUP;
        let end = (j + GROUP).div_ceil(S::F64_LANES);
        let (c0, rest) = columns.split_at_mut(stride);
        let (c1, rest) = rest.split_at_mut(stride);
        let (c2, c3) = rest.split_at_mut(stride);
        let c0 = &mut S::as_mut_simd_f64s(c0).0[..end];
        let c1 = &mut S::as_mut_simd_f64s(c1).0[..end];
        let c2 = &mut S::as_mut_simd_f64s(c2).0[..end];
        let c3 = &mut S::as_mut_simd_f64s(c3).0[..end];
        let vj = vector::splat4(simd, 1.0, &v[j..]);
        let lj = vector::splat4(simd, 1.0, &lambda[j..]);
        let mut sums = [simd.splat_f64s(0.0); GROUP];
        let (x, k) = (&x[..end], &mut k[..end]);
        for r in 0..end {
            let mut kr = k[r];
            let xr = x[r];
            macro_rules! column {
                ($c:ident, $i:literal) => {
                    let old = $c[r];
                    let mut new = old;
                    if PAY {
                        new = simd.mul_add_f64s(lj[$i], kr, old);
                        kr = simd.mul_add_f64s(vj[$i], old, kr);
                        $c[r] = new;
                    }
                    if PROJECT {
                        sums[$i] = simd.mul_add_f64s(new, xr, sums[$i]);
                    }
                };
            }
            column!(c0, 0);
            column!(c1, 1);
            column!(c2, 2);
            column!(c3, 3);
            k[r] = kr;
        }
        if PROJECT {
            vector::reduce4(simd, sums, &mut f[j..]);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_instruction_set_gives_the_same_answer() {
        crate::covariance::simd_tests::check::<super::Factored>(|_| &[]);
    }
}
