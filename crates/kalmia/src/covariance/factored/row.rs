//! Row kernels of the factored form: rows in pairs, by Bierman's recursion.

use super::sweep::{Row, RowSlices, sweep};
use super::{Factored, small};
use crate::covariance::pairs::{self, GROUP, NARROW_GROUP, Pairs};
use crate::covariance::{Learn, LearnTwo};
use crate::error::Result;
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::{Simd, WithSimd};

/// Scratch of the row kernels: two rows at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    rows: [Row; 2],
    /// Sums of $d_if_i^2$ below each coefficient, and their terms.
    below: Buffer,
    terms: Buffer,
    inverse: Buffer,
}

impl Scratch {
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

    /// A vector for other uses: the row kernels write it before they read it.
    pub fn spare(&mut self) -> &mut Buffer {
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
        // preparing the next row costs one more sweep per call, so a single row does without
        macro_rules! small {
            ($registers:literal) => {
                if self.x.len() > self.p.dim {
                    return small::learn::<S, $registers>(simd, self);
                } else {
                    return small::learn_one::<S, $registers>(simd, self);
                }
            };
        }
        match (S::F64_LANES, self.p.dim) {
            (8, 1..=16) => small!(2),
            (8, 17..=small::MAX_DIM) => small!(4),
            (4, 1..=8) => small!(2),
            (4, 9..=12) => small!(3),
            (4, 13..=16) => small!(4),
            (4, 17..=24) => small!(6),
            (4, 25..=28) => small!(7),
            (4, 29..=small::MAX_DIM) => small!(8),
            _ => {}
        }
        let Learn { p, theta, x, first, decide, .. } = self;
        let dim = p.dim;
        pairs::learn(simd, &mut PairInFlight::of(p), dim, theta, x, first, decide)
    }
}

impl WithSimd for LearnTwo<'_, '_, Factored> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        match (S::F64_LANES, self.beliefs[0].0.dim) {
            (8, 1..=16) => small::learn_two::<S, 2>(simd, self),
            (8, _) => small::learn_two::<S, 4>(simd, self),
            (4, 1..=8) => small::learn_two::<S, 2>(simd, self),
            (4, 9..=12) => small::learn_two::<S, 3>(simd, self),
            (4, 13..=16) => small::learn_two::<S, 4>(simd, self),
            (4, 17..=24) => small::learn_two::<S, 6>(simd, self),
            (4, 25..=28) => small::learn_two::<S, 7>(simd, self),
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
                        noise: &[],
                    }
                    .with_simd(simd)?;
                }
                Ok(())
            }
        }
    }
}

/// A pair of rows that the factors are learning. The second row's projection is corrected for the
/// first row's step: $f_j \mathrel{+}= \lambda_j\sum_{i<j} v_if_i$.
pub(super) struct PairInFlight<'a> {
    dim: usize,
    stride: usize,
    u: &'a mut [f64],
    d: &'a mut [f64],
    scratch: &'a mut Scratch,
}

impl<'a> PairInFlight<'a> {
    #[inline(always)]
    pub fn of(p: &'a mut Factored) -> Self {
        let Factored { dim, stride, u, d, scratch, .. } = p;
        Self { dim: *dim, stride: *stride, u, d, scratch }
    }
}

impl Pairs for PairInFlight<'_> {
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, pair: &[f64]) {
        for (row, x) in self.scratch.rows.iter_mut().zip(pair.chunks_exact(self.dim)) {
            vector::load(simd, x, &mut row.x);
        }
    }

    #[inline(always)]
    fn x(&self, row: usize) -> &[f64] {
        &self.scratch.rows[row].x
    }

    #[inline(always)]
    fn sweep<S: Simd, const APPLY: bool, const PREPARE: bool>(&mut self, simd: S, rows: usize) {
        let Self { dim, stride, .. } = *self;
        let [first, second] = &mut self.scratch.rows;
        let first = RowSlices::new(first);
        if rows == 1 {
            sweep::<S, GROUP, 1, APPLY, PREPARE>(simd, self.u, dim, stride, [first]);
            return;
        }
        let rows = [first, RowSlices::new(second)];
        if S::F64_LANES == 4 {
            sweep::<S, NARROW_GROUP, 2, APPLY, PREPARE>(simd, self.u, dim, stride, rows);
        } else {
            sweep::<S, GROUP, 2, APPLY, PREPARE>(simd, self.u, dim, stride, rows);
        }
    }

    /// $v = Df$ and the sums of $v_if_i$ below each coefficient, whose total is $s$.
    #[inline(always)]
    fn variance<S: Simd>(&mut self, _simd: S, row: usize, _i: usize) -> Result<f64> {
        let dim = self.dim;
        let scratch = &mut *self.scratch;
        let Row { f, v, .. } = &mut scratch.rows[row];
        let f = &f[..dim];
        let v = &mut v[..dim];
        let terms = &mut scratch.terms[..dim];
        let d = &self.d[..dim];
        for j in 0..dim {
            v[j] = d[j] * f[j];
            terms[j] = v[j] * f[j];
        }
        Ok(running_sums(terms, &mut scratch.below[..dim]))
    }

    /// The scalars of Bierman's recursion: $a_j = 1 + \alpha\sum_{i\le j} d_if_i^2$, $\lambda_j =
    /// -\alpha f_j/a_{j-1}$, $d_j \leftarrow d_j a_{j-1}/a_j$.
    #[inline(always)]
    fn take_step<S: Simd>(
        &mut self,
        _simd: S,
        row: usize,
        _i: usize,
        _s: f64,
        step: Step,
    ) -> Result<()> {
        let dim = self.dim;
        let scratch = &mut *self.scratch;
        let alpha = step.curvature;
        let Row { f, lambda, .. } = &mut scratch.rows[row];
        let f = &f[..dim];
        let lambda = &mut lambda[..dim];
        let d = &mut self.d[..dim];
        let below = &scratch.below[..dim];
        let terms = &scratch.terms[..dim];
        let inverse = &mut scratch.inverse[..dim];
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
    fn correct_second<S: Simd>(&mut self, _simd: S, _step: Step) -> f64 {
        let dim = self.dim;
        let scratch = &mut *self.scratch;
        let [first, second] = &mut scratch.rows;
        let v = &first.v[..dim];
        let lambda = &first.lambda[..dim];
        let f = &mut second.f[..dim];
        let terms = &mut scratch.terms[..dim];
        let below = &mut scratch.below[..dim];
        for j in 0..dim {
            terms[j] = v[j] * f[j];
        }
        let overlap = running_sums(terms, below);
        for j in 0..dim {
            f[j] += lambda[j] * below[j];
        }
        overlap
    }

    #[inline(always)]
    fn direction(&self, row: usize) -> &[f64] {
        &self.scratch.rows[row].k
    }
}

/// For each term the sum of the terms before it; returns the total. In chunks of eight: only one
/// addition in eight waits for the previous chunk.
#[inline(always)]
fn running_sums(terms: &[f64], below: &mut [f64]) -> f64 {
    let (lines, rest) = terms.as_chunks::<{ Buffer::LINE }>();
    let (below_lines, below_rest) = below.as_chunks_mut::<{ Buffer::LINE }>();
    let mut total = 0.0;
    for (terms, below) in lines.iter().zip(below_lines) {
        let mut sum = total;
        for (below, term) in below.iter_mut().zip(terms) {
            *below = sum;
            sum += term;
        }
        total += terms.iter().sum::<f64>();
    }
    for (below, term) in below_rest.iter_mut().zip(rest) {
        *below = total;
        total += term;
    }
    total
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_instruction_set_gives_the_same_answer() {
        crate::covariance::simd_tests::check::<super::Factored>(|_| &[]);
    }
}
