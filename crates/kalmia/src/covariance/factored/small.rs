//! Row kernel of small factored matrices: the vectors of a row stay in SIMD registers, and only a
//! few operations of the next row wait for the current decision.
//!
//! With $f = U^\top x$ of the current row, $f^0 = U^\top x'$ of the next row under the same $U$,
//! and Bierman's $u_j \mathrel{+}= \lambda_j\sum_{i<j} v_iu_i$, the next row's projection after the
//! update is $f_j' = f_j^0 + \lambda_j\sum_{i<j} v_if_i^0$.

use super::Factored;
use super::small_factor::{Factor, Packed, Pending};
use crate::covariance::{Learn, LearnTwo, next_variance};
use crate::error::Result;
use crate::linalg::lanes::Lanes;
use crate::linalg::vector;
use crate::rule::Step;
use pulp::Simd;

/// Largest dimension of this kernel.
pub(super) const MAX_DIM: usize = 32;

/// As [`super::row`], for a dimension of at most `N` registers.
#[inline(always)]
pub(super) fn learn<S: Simd, const N: usize>(
    simd: S,
    learn: Learn<'_, '_, Factored>,
) -> Result<()> {
    let Learn { p, theta, x, first, decide, .. } = learn;
    let dim = p.dim;
    if x.is_empty() {
        return Ok(());
    }
    let mut rest = x;
    let mut packed = Packed::EMPTY;
    let mut belief = BeliefInFlight::<S, N>::start(simd, p, theta, &mut packed, rest);
    let mut outcome = Ok(());
    for i in first.. {
        match decide(i, belief.m, belief.row.s) {
            Ok(step) => {
                rest = &rest[dim..];
                belief.advance(step, rest);
            }
            Err(error) => outcome = Err(error),
        }
        if outcome.is_err() || rest.is_empty() {
            break;
        }
    }
    belief.finish();
    outcome
}

/// A single row, on the stored matrix.
#[inline(always)]
pub(super) fn learn_one<S: Simd, const N: usize>(
    simd: S,
    learn: Learn<'_, '_, Factored>,
) -> Result<()> {
    let Learn { p, theta: coefficients, x, first, decide, .. } = learn;
    let Factored { dim, stride, u, d: diagonal, .. } = p;
    let lanes = Lanes::new(simd);
    let mut theta: [S::f64s; N] = vector::registers(simd, coefficients);
    let mut d: [S::f64s; N] = vector::registers(simd, diagonal);
    let columns = S::as_mut_simd_f64s(u).0;
    let column_stride = *stride / S::F64_LANES;
    let mut factor = Factor::<S, false> { simd, lanes, columns, column_stride, dim: *dim };
    let x = vector::head(simd, x, *dim);
    let mut pending = Pending::NONE;
    let (_, f) = factor.sweep::<N, false, true>(&pending, x);
    let mut row = CurrentRow::new(simd, f);
    row.project(simd, lanes, &d);
    let step = decide(first, vector::dot_registers(simd, theta, x), row.s)?;
    row.take_step(simd, lanes, &mut d, step, &mut pending);
    let (k, _) = factor.sweep::<N, true, false>(&pending, x);
    vector::axpy_registers(simd, step.gain, k, &mut theta);
    vector::write_registers(theta, S::as_mut_simd_f64s(coefficients).0);
    vector::write_registers(d, S::as_mut_simd_f64s(diagonal).0);
    Ok(())
}

/// Two beliefs learn the same rows in turn: one computes while the other waits for its decision.
#[inline(always)]
pub(super) fn learn_two<S: Simd, const N: usize>(
    simd: S,
    learn: LearnTwo<'_, '_, Factored>,
) -> Result<()> {
    let LearnTwo { beliefs: [(p, theta), (other_p, other_theta)], x, decide } = learn;
    let dim = p.dim;
    if x.is_empty() {
        return Ok(());
    }
    let mut rest = x;
    let mut packed = Packed::EMPTY;
    let mut other_packed = Packed::EMPTY;
    let mut belief = BeliefInFlight::<S, N>::start(simd, p, theta, &mut packed, rest);
    let mut other =
        BeliefInFlight::<S, N>::start(simd, other_p, other_theta, &mut other_packed, rest);
    let mut outcome = Ok(());
    for i in 0.. {
        match (decide(0, i, belief.m, belief.row.s), decide(1, i, other.m, other.row.s)) {
            (Ok(step), Ok(other_step)) => {
                rest = &rest[dim..];
                belief.advance(step, rest);
                other.advance(other_step, rest);
            }
            (Err(error), _) | (_, Err(error)) => outcome = Err(error),
        }
        if outcome.is_err() || rest.is_empty() {
            break;
        }
    }
    belief.finish();
    other.finish();
    outcome
}

/// A belief while it learns a batch.
struct BeliefInFlight<'a, S: Simd, const N: usize> {
    simd: S,
    factor: Factor<'a, S, true>,
    theta: [S::f64s; N],
    d: [S::f64s; N],
    pending: Pending,
    row: CurrentRow<S, N>,
    /// $\theta^\top x$ of the current row.
    m: f64,
    u: &'a mut [f64],
    stride: usize,
    coefficients: &'a mut [f64],
    diagonal: &'a mut [f64],
}

impl<'a, S: Simd, const N: usize> BeliefInFlight<'a, S, N> {
    /// Prepares the first of `rows`.
    #[inline(always)]
    fn start(
        simd: S,
        p: &'a mut Factored,
        coefficients: &'a mut [f64],
        packed: &'a mut Packed,
        rows: &[f64],
    ) -> Self {
        let Factored { dim, stride, u, d: diagonal, .. } = p;
        let dim = *dim;
        let stride = *stride;
        let lanes = Lanes::new(simd);
        let columns = S::as_mut_simd_f64s(&mut packed.0.0).0;
        for j in 0..dim {
            let column = Factor::<S, true>::place(j);
            let height = column.len();
            columns[column].copy_from_slice(&S::as_simd_f64s(&u[j * stride..]).0[..height]);
        }
        let mut factor = Factor { simd, lanes, columns, column_stride: 0, dim };
        let theta = vector::registers(simd, coefficients);
        let d = vector::registers(simd, diagonal);
        let pending = Pending::NONE;
        let x = vector::head(simd, rows, dim);
        let (_, f) = factor.sweep::<N, false, true>(&pending, x);
        let mut row = CurrentRow::new(simd, f);
        row.project(simd, lanes, &d);
        Self {
            simd,
            factor,
            theta,
            d,
            pending,
            row,
            m: vector::dot_registers(simd, theta, x),
            u,
            stride,
            coefficients,
            diagonal,
        }
    }

    /// Takes the step of the current row and prepares the first of `rows`, if there is one.
    #[inline(always)]
    fn advance(&mut self, step: Step, rows: &[f64]) {
        let simd = self.simd;
        let x = if rows.is_empty() {
            [simd.splat_f64s(0.0); N]
        } else {
            vector::head(simd, rows, self.factor.dim)
        };
        let (k, f0) = self.factor.sweep::<N, true, true>(&self.pending, x);
        vector::axpy_registers(simd, self.pending.gain, k, &mut self.theta);
        let m = vector::dot_registers(simd, self.theta, x);
        let lanes = self.factor.lanes;
        let overlap = self.row.advance(simd, lanes, &mut self.d, step, f0, &mut self.pending);
        self.m = m + step.gain * overlap;
    }

    /// Applies the pending step and writes the belief back.
    #[inline(always)]
    fn finish(mut self) {
        let (k, _) =
            self.factor.sweep::<N, true, false>(&self.pending, [self.simd.splat_f64s(0.0); N]);
        vector::axpy_registers(self.simd, self.pending.gain, k, &mut self.theta);
        for j in 0..self.factor.dim {
            let column = &self.factor.columns[Factor::<S, true>::place(j)];
            S::as_mut_simd_f64s(&mut self.u[j * self.stride..]).0[..column.len()]
                .copy_from_slice(column);
        }
        vector::write_registers(self.theta, S::as_mut_simd_f64s(self.coefficients).0);
        vector::write_registers(self.d, S::as_mut_simd_f64s(self.diagonal).0);
    }
}

/// The current row under the belief before it.
struct CurrentRow<S: Simd, const N: usize> {
    f: [S::f64s; N],
    /// $v = Df$.
    v: [S::f64s; N],
    /// $\sum_{i<j} v_if_i$.
    below: [S::f64s; N],
    /// $s = x^\top Px$.
    s: f64,
}

impl<S: Simd, const N: usize> CurrentRow<S, N> {
    /// A row with its projection; [`CurrentRow::project`] computes the rest.
    #[inline(always)]
    fn new(simd: S, f: [S::f64s; N]) -> Self {
        let zero = [simd.splat_f64s(0.0); N];
        Self { f, v: zero, below: zero, s: 0.0 }
    }

    /// $v$ and the running sums from $f$; their total goes to `s`.
    #[inline(always)]
    fn project(&mut self, simd: S, lanes: Lanes<S>, d: &[S::f64s; N]) {
        let mut sum = 0.0;
        for (r, &d) in d.iter().enumerate() {
            self.v[r] = simd.mul_f64s(d, self.f[r]);
            let terms = simd.mul_f64s(self.v[r], self.f[r]);
            self.below[r] = simd.add_f64s(lanes.below(terms), simd.splat_f64s(sum));
            sum += simd.reduce_sum_f64s(terms);
        }
        self.s = sum;
    }

    /// Bierman's scalars, $a_j = 1 + \alpha\sum_{i\le j} v_if_i$, $\lambda_j = -\alpha
    /// f_j/a_{j-1}$, $d_j \leftarrow d_j a_{j-1}/a_j$; returns $\lambda$.
    #[inline(always)]
    fn take_step(
        &self,
        simd: S,
        lanes: Lanes<S>,
        d: &mut [S::f64s; N],
        step: Step,
        pending: &mut Pending,
    ) -> [S::f64s; N] {
        let one = simd.splat_f64s(1.0);
        let alpha = simd.splat_f64s(step.curvature);
        let mut last = one;
        let mut lambda = [one; N];
        for r in 0..N {
            let upto = simd.mul_add_f64s(self.v[r], self.f[r], self.below[r]);
            let inverse = simd.div_f64s(one, simd.mul_add_f64s(alpha, upto, one));
            let (earlier, rotated) = lanes.push(inverse, last);
            last = rotated;
            lambda[r] = simd.neg_f64s(simd.mul_f64s(simd.mul_f64s(alpha, self.f[r]), earlier));
            let ratio = simd.mul_f64s(simd.mul_add_f64s(alpha, self.below[r], one), inverse);
            d[r] = simd.mul_f64s(d[r], ratio);
        }
        pending.gain = step.gain;
        vector::store_registers::<S, N>(self.v, &mut pending.v);
        vector::store_registers::<S, N>(lambda, &mut pending.lambda);
        lambda
    }

    /// Takes the step and computes from $f^0$ what the next row needs; returns $x^\top Px'$.
    #[inline(always)]
    fn advance(
        &mut self,
        simd: S,
        lanes: Lanes<S>,
        d: &mut [S::f64s; N],
        step: Step,
        f0: [S::f64s; N],
        pending: &mut Pending,
    ) -> f64 {
        let mut before = simd.splat_f64s(0.0);
        for r in 0..N {
            before = simd.mul_add_f64s(simd.mul_f64s(d[r], f0[r]), f0[r], before);
        }
        let lambda = self.take_step(simd, lanes, d, step, pending);
        let mut overlap = 0.0;
        for r in 0..N {
            let shared = simd.mul_f64s(self.v[r], f0[r]);
            let shared_below = simd.add_f64s(lanes.below(shared), simd.splat_f64s(overlap));
            overlap += simd.reduce_sum_f64s(shared);
            self.f[r] = simd.mul_add_f64s(lambda[r], shared_below, f0[r]);
        }
        self.project(simd, lanes, d);
        self.s = match next_variance(simd.reduce_sum_f64s(before), step.contraction, overlap) {
            Some(s) => s,
            // Summed here: a sum computed beforehand would become a conditional move, and the next
            // decision would wait for it.
            None => vector::dot_registers(simd, self.v, self.f),
        };
        overlap
    }
}
