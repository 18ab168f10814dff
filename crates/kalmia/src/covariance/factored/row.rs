//! Rows on the factored form: Bierman's update of two rows fused with the projection of the next
//! two, one pass over `U` a pair.

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
        let row = Row {
            x: line.clone(),
            f: line.clone(),
            v: line.clone(),
            lambda: line.clone(),
            k: line.clone(),
        };
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
        let Learn { p: Factored { dim, stride, u, d, work, .. }, theta, x, first, decide, .. } =
            self;
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
                    Learn {
                        p,
                        theta,
                        x,
                        first: 0,
                        decide: &mut |i, m, s| decide(k, i, m, s),
                        walk: &[],
                    }
                    .with_simd(simd)?;
                }
                Ok(())
            }
        }
    }
}

/// A pair of rows on its way into the factors. The second row's projection follows from the first
/// row's step, $f_j \mathrel{+}= \lambda_j\sum_{i<j} v_if_i$.
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
        let (shape, [first, second]) = ((self.dim, self.stride), &mut self.work.rows);
        if rows == 1 {
            pass::<S, 1, PAY, PREPARE>(simd, self.u, shape, [first]);
        } else {
            pass::<S, 2, PAY, PREPARE>(simd, self.u, shape, [first, second]);
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

    /// The scalars of Bierman's recursion: $a_j = 1 + \alpha\sum_{i\le j} d_if_i^2$, $\lambda_j =
    /// -\alpha f_j/a_{j-1}$, $d_j \leftarrow d_j a_{j-1}/a_j$.
    #[inline(always)]
    fn settle<S: Simd>(
        &mut self,
        _simd: S,
        row: usize,
        _i: usize,
        _s: f64,
        step: Step,
    ) -> Result<()> {
        let (dim, work, alpha) = (self.dim, &mut *self.work, step.curvature);
        let Row { f, lambda, .. } = &mut work.rows[row];
        let (f, lambda, d) = (&f[..dim], &mut lambda[..dim], &mut self.d[..dim]);
        let (below, terms, inverse) =
            (&work.below[..dim], &work.terms[..dim], &mut work.inverse[..dim]);
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

/// The sums of the terms below each term; returns the total. One addition in eight waits for the
/// one before.
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

/// Column by column, for each of one or two rows $u_j \leftarrow u_j + \lambda_j k$, $k \leftarrow
/// k + v_j u_j^{\mathrm{old}}$ (with `PAY`), and then for each of those that come next $f_j
/// \leftarrow u_j^\top x$ (with `PROJECT`).
#[inline(always)]
fn pass<S: Simd, const R: usize, const PAY: bool, const PROJECT: bool>(
    simd: S,
    u: &mut [f64],
    (dim, stride): (usize, usize),
    mut rows: [&mut Row; R],
) {
    if PAY {
        for row in &mut rows {
            vector::clear(simd, &mut row.k);
        }
    }
    for (group, columns) in u.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP)).enumerate()
    {
        let j = group * GROUP;
        let end = (j + GROUP).div_ceil(S::F64_LANES);
        let (c0, rest) = columns.split_at_mut(stride);
        let (c1, rest) = rest.split_at_mut(stride);
        let (c2, c3) = rest.split_at_mut(stride);
        let (c0, c1) =
            (&mut S::as_mut_simd_f64s(c0).0[..end], &mut S::as_mut_simd_f64s(c1).0[..end]);
        let (c2, c3) =
            (&mut S::as_mut_simd_f64s(c2).0[..end], &mut S::as_mut_simd_f64s(c3).0[..end]);
        let zeros = [simd.splat_f64s(0.0); GROUP];
        let (mut vj, mut lj, mut sums) = ([zeros; R], [zeros; R], [zeros; R]);
        for i in 0..R {
            vj[i] = vector::splat4(simd, 1.0, &rows[i].v[j..]);
            lj[i] = vector::splat4(simd, 1.0, &rows[i].lambda[j..]);
        }
        for r in 0..end {
            let (mut k, mut x) = ([zeros[0]; R], [zeros[0]; R]);
            for i in 0..R {
                k[i] = S::as_simd_f64s(&rows[i].k).0[r];
                x[i] = S::as_simd_f64s(&rows[i].x).0[r];
            }
            macro_rules! column {
                ($c:ident, $g:literal) => {
                    let mut entries = $c[r];
                    if PAY {
                        for i in 0..R {
                            let old = entries;
                            entries = simd.mul_add_f64s(lj[i][$g], k[i], old);
                            k[i] = simd.mul_add_f64s(vj[i][$g], old, k[i]);
                        }
                        $c[r] = entries;
                    }
                    if PROJECT {
                        for i in 0..R {
                            sums[i][$g] = simd.mul_add_f64s(entries, x[i], sums[i][$g]);
                        }
                    }
                };
            }
            column!(c0, 0);
            column!(c1, 1);
            column!(c2, 2);
            column!(c3, 3);
            if PAY {
                for i in 0..R {
                    S::as_mut_simd_f64s(&mut rows[i].k).0[r] = k[i];
                }
            }
        }
        if PROJECT {
            for i in 0..R {
                vector::reduce4(simd, sums[i], &mut rows[i].f[j..]);
            }
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
