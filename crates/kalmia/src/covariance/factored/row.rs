//! Rows on the factored form: Bierman's update of two rows fused with the projection of the next two, one pass over `U` a pair.

use super::{Factored, small};
use crate::covariance::pairs::{self, Pairs};
use crate::covariance::{Learn, LearnTwo};
use crate::error::Result;
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::{Simd, WithSimd};

/// Columns handled together, so that a loaded line of `k` and `x` serves all of them.
const GROUP: usize = 4;

/// Scratch of the row pass: two rows at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    rows: [Row; 2],
    /// Sums of $d_if_i^2$ below each coefficient, and their terms.
    below: Buffer,
    terms: Buffer,
    inverse: Buffer,
}

/// What a row needs on its way.
#[derive(Debug, Clone, Default)]
struct Row {
    x: Buffer,
    /// $f = U^\top x$.
    f: Buffer,
    /// $v = Df$.
    v: Buffer,
    lambda: Buffer,
    /// $k = Px$, built up column by column.
    k: Buffer,
}

impl Work {
    pub fn new(stride: usize) -> Self {
        let line = Buffer::zeros(stride);
        let row = Row { x: line.clone(), f: line.clone(), v: line.clone(), lambda: line.clone(), k: line.clone() };
        Self { rows: [row.clone(), row], below: line.clone(), terms: line.clone(), inverse: line }
    }

    /// A vector that the row pass fills before it reads it.
    pub fn scratch(&mut self) -> &mut Buffer {
        &mut self.rows[0].k
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
        let mut rows = OnTheWay { dim: *dim, stride: *stride, u, d, work };
        pairs::learn(simd, &mut rows, *dim, theta, x, first, decide)
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

/// A pair of rows on its way into the factors. The second row's projection follows from the first row's step, $f_j \mathrel{+}= \lambda_j\sum_{i<j} v_if_i$.
struct OnTheWay<'a> {
    dim: usize,
    stride: usize,
    u: &'a mut [f64],
    d: &'a mut [f64],
    work: &'a mut Work,
}

impl Pairs for OnTheWay<'_> {
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, pair: &[f64]) {
        for (row, x) in self.work.rows.iter_mut().zip(pair.chunks_exact(self.dim)) {
            vector::load(simd, x, &mut row.x);
        }
    }

    #[inline(always)]
    fn x(&self, row: usize) -> &[f64] {
        &self.work.rows[row].x
    }

    #[inline(always)]
    fn pass<S: Simd, const PAY: bool, const PREPARE: bool>(&mut self, simd: S, rows: usize) {
        let shape = (self.dim, self.stride);
        if rows == 1 {
            pass_one::<S, PAY, PREPARE>(simd, self.u, shape, &mut self.work.rows[0]);
        } else {
            pass_two::<S, PAY, PREPARE>(simd, self.u, shape, &mut self.work.rows);
        }
    }

    /// $v = Df$ and the sums of $v_if_i$ below each coefficient, whose total is $s$.
    #[inline(always)]
    fn variance<S: Simd>(&mut self, _simd: S, row: usize, _i: usize) -> Result<f64> {
        let (dim, work) = (self.dim, &mut *self.work);
        let Row { f, v, .. } = &mut work.rows[row];
        let (f, v, terms, d) = (&f[..dim], &mut v[..dim], &mut work.terms[..dim], &self.d[..dim]);
        for j in 0..dim {
            v[j] = d[j] * f[j];
            terms[j] = v[j] * f[j];
        }
        Ok(running(terms, &mut work.below[..dim]))
    }

    /// The scalars of Bierman's recursion: $a_j = 1 + \alpha\sum_{i\le j} d_if_i^2$, $\lambda_j = -\alpha f_j/a_{j-1}$, $d_j \leftarrow d_j a_{j-1}/a_j$.
    #[inline(always)]
    fn settle<S: Simd>(&mut self, _simd: S, row: usize, _i: usize, _s: f64, step: Step) -> Result<()> {
        let (dim, work, alpha) = (self.dim, &mut *self.work, step.curvature);
        let Row { f, lambda, .. } = &mut work.rows[row];
        let (f, lambda, d) = (&f[..dim], &mut lambda[..dim], &mut self.d[..dim]);
        let (below, terms, inverse) = (&work.below[..dim], &work.terms[..dim], &mut work.inverse[..dim]);
        for j in 0..dim {
            inverse[j] = 1.0 / (1.0 + alpha * (below[j] + terms[j]));
            d[j] *= (1.0 + alpha * below[j]) * inverse[j];
        }
        lambda[0] = -alpha * f[0];
        for j in 1..dim {
            lambda[j] = -alpha * f[j] * inverse[j - 1];
        }
        Ok(())
    }

    #[inline(always)]
    fn carry<S: Simd>(&mut self, _simd: S, _step: Step) -> f64 {
        let (dim, work) = (self.dim, &mut *self.work);
        let [first, second] = &mut work.rows;
        let (v, lambda, f) = (&first.v[..dim], &first.lambda[..dim], &mut second.f[..dim]);
        let (terms, below) = (&mut work.terms[..dim], &mut work.below[..dim]);
        for j in 0..dim {
            terms[j] = v[j] * f[j];
        }
        let overlap = running(terms, below);
        for j in 0..dim {
            f[j] += lambda[j] * below[j];
        }
        overlap
    }

    #[inline(always)]
    fn direction(&self, row: usize) -> &[f64] {
        &self.work.rows[row].k
    }
}

/// The sums of the terms below each term; returns the total. One addition in eight waits for the one before.
#[inline(always)]
fn running(terms: &[f64], below: &mut [f64]) -> f64 {
    let mut total = 0.0;
    for (terms, below) in terms.chunks(8).zip(below.chunks_mut(8)) {
        let mut sum = total;
        for (below, term) in below.iter_mut().zip(terms) {
            *below = sum;
            sum += term;
        }
        total += terms.iter().sum::<f64>();
    }
    total
}

/// Column by column, with `PAY` $u_j \leftarrow u_j + \lambda_j k$, $k \leftarrow k + v_j u_j^{\mathrm{old}}$, with `PROJECT` $f_j \leftarrow u_j^\top x$ for the row that comes next.
#[inline(always)]
fn pass_one<S: Simd, const PAY: bool, const PROJECT: bool>(simd: S, u: &mut [f64], (dim, stride): (usize, usize), row: &mut Row) {
    let Row { x, f, v, lambda, k } = row;
    if PAY {
        vector::clear(simd, k);
    }
    let (x, _) = S::as_simd_f64s(x);
    let (k, _) = S::as_mut_simd_f64s(k);
    for (group, columns) in u.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP)).enumerate() {
        let j = group * GROUP;
        let end = (j + GROUP).div_ceil(S::F64_LANES);
        let [c0, c1, c2, c3] = columns_of::<S>(columns, stride, end);
        let vj = vector::splat4(simd, 1.0, &v[j..]);
        let lj = vector::splat4(simd, 1.0, &lambda[j..]);
        let mut sums = [simd.splat_f64s(0.0); GROUP];
        let (x, k) = (&x[..end], &mut k[..end]);
        for r in 0..end {
            let mut kr = k[r];
            let xr = x[r];
            macro_rules! column {
                ($c:ident, $i:literal) => {
                    let mut entries = $c[r];
                    if PAY {
                        let old = entries;
                        entries = simd.mul_add_f64s(lj[$i], kr, old);
                        kr = simd.mul_add_f64s(vj[$i], old, kr);
                        $c[r] = entries;
                    }
                    if PROJECT {
                        sums[$i] = simd.mul_add_f64s(entries, xr, sums[$i]);
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

/// The same for two rows, which pay one after the other.
#[inline(always)]
fn pass_two<S: Simd, const PAY: bool, const PROJECT: bool>(
    simd: S,
    u: &mut [f64],
    (dim, stride): (usize, usize),
    rows: &mut [Row; 2],
) {
    let [Row { x: x0, f: f0, v: v0, lambda: l0, k: k0 }, Row { x: x1, f: f1, v: v1, lambda: l1, k: k1 }] = rows;
    if PAY {
        vector::clear(simd, k0);
        vector::clear(simd, k1);
    }
    let ((x0, _), (x1, _)) = (S::as_simd_f64s(x0), S::as_simd_f64s(x1));
    let ((k0, _), (k1, _)) = (S::as_mut_simd_f64s(k0), S::as_mut_simd_f64s(k1));
    for (group, columns) in u.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP)).enumerate() {
        let j = group * GROUP;
        let end = (j + GROUP).div_ceil(S::F64_LANES);
        let [c0, c1, c2, c3] = columns_of::<S>(columns, stride, end);
        let (va, vb) = (vector::splat4(simd, 1.0, &v0[j..]), vector::splat4(simd, 1.0, &v1[j..]));
        let (la, lb) = (vector::splat4(simd, 1.0, &l0[j..]), vector::splat4(simd, 1.0, &l1[j..]));
        let zero = simd.splat_f64s(0.0);
        let (mut sums, mut others) = ([zero; GROUP], [zero; GROUP]);
        let (x0, x1, k0, k1) = (&x0[..end], &x1[..end], &mut k0[..end], &mut k1[..end]);
        for r in 0..end {
            let (mut ka, mut kb) = (k0[r], k1[r]);
            let (xa, xb) = (x0[r], x1[r]);
            macro_rules! column {
                ($c:ident, $i:literal) => {
                    let mut entries = $c[r];
                    if PAY {
                        let old = entries;
                        let between = simd.mul_add_f64s(la[$i], ka, old);
                        ka = simd.mul_add_f64s(va[$i], old, ka);
                        entries = simd.mul_add_f64s(lb[$i], kb, between);
                        kb = simd.mul_add_f64s(vb[$i], between, kb);
                        $c[r] = entries;
                    }
                    if PROJECT {
                        sums[$i] = simd.mul_add_f64s(entries, xa, sums[$i]);
                        others[$i] = simd.mul_add_f64s(entries, xb, others[$i]);
                    }
                };
            }
            column!(c0, 0);
            column!(c1, 1);
            column!(c2, 2);
            column!(c3, 3);
            k0[r] = ka;
            k1[r] = kb;
        }
        if PROJECT {
            vector::reduce4(simd, sums, &mut f0[j..]);
            vector::reduce4(simd, others, &mut f1[j..]);
        }
    }
}

/// A group of columns, each down to the register of its last diagonal entry.
#[inline(always)]
fn columns_of<S: Simd>(columns: &mut [f64], stride: usize, end: usize) -> [&mut [S::f64s]; GROUP] {
    let (c0, rest) = columns.split_at_mut(stride);
    let (c1, rest) = rest.split_at_mut(stride);
    let (c2, c3) = rest.split_at_mut(stride);
    [
        &mut S::as_mut_simd_f64s(c0).0[..end],
        &mut S::as_mut_simd_f64s(c1).0[..end],
        &mut S::as_mut_simd_f64s(c2).0[..end],
        &mut S::as_mut_simd_f64s(c3).0[..end],
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_instruction_set_gives_the_same_answer() {
        crate::covariance::simd_tests::check::<super::Factored>(|_| &[]);
    }
}
