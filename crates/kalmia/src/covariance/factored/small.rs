//! Rows one by one on a small factored matrix: the vectors of a row held in SIMD registers, and
//! nothing of the next row waits for the decision at hand but a few operations.
//!
//! With $f = U^\top x$ of the row at hand, $f^0 = U^\top x'$ of the next row under the same $U$,
//! and Bierman's $u_j \mathrel{+}= \lambda_j\sum_{i<j} v_iu_i$, the next row's projection after the
//! update is $f_j' = f_j^0 + \lambda_j\sum_{i<j} v_if_i^0$.

use super::Factored;
use crate::covariance::{Learn, LearnTwo, next_variance};
use crate::error::Result;
use crate::linalg::lanes::{Lanes, MOST};
use crate::linalg::{Lines, vector};
use crate::rule::Step;
use pulp::Simd;
use std::ops::Range;

/// Largest dimension of this path.
pub(super) const UP_TO: usize = 32;

/// As [`super::row`], for a dimension of at most `N` registers.
#[inline(always)]
pub(super) fn learn<S: Simd, const N: usize>(
    simd: S,
    learn: Learn<'_, '_, Factored>,
) -> Result<()> {
    let Learn { p: Factored { dim, stride, u, d, .. }, theta, x, first, decide, .. } = learn;
    let (shape, dim) = ((*dim, *stride), *dim);
    if x.is_empty() {
        return Ok(());
    }
    let mut rest = x;
    let mut packed = Packed::EMPTY;
    let mut run = Run::<S, N>::start(simd, shape, (u, &mut packed), d, theta, rest);
    let mut outcome = Ok(());
    for i in first.. {
        match decide(i, run.m, run.at.s) {
            Ok(step) => {
                rest = &rest[dim..];
                run.advance(step, rest);
            }
            Err(error) => outcome = Err(error),
        }
        if outcome.is_err() || rest.is_empty() {
            break;
        }
    }
    run.finish();
    outcome
}

/// A single row, on the matrix where it is stored.
#[inline(always)]
pub(super) fn learn_one<S: Simd, const N: usize>(
    simd: S,
    learn: Learn<'_, '_, Factored>,
) -> Result<()> {
    let Learn {
        p: Factored { dim, stride, u, d: diagonal, .. },
        theta: coefficients,
        x,
        first,
        decide,
        ..
    } = learn;
    let (lanes, zero) = (Lanes::new(simd), [simd.splat_f64s(0.0); N]);
    let (mut theta, mut d): ([S::f64s; N], _) =
        (vector::registers(simd, coefficients), vector::registers(simd, diagonal));
    let columns = S::as_mut_simd_f64s(u).0;
    let mut factor =
        Factor::<S, false> { simd, lanes, columns, apart: *stride / S::F64_LANES, dim: *dim };
    let (x, mut owed) = (vector::head(simd, x, *dim), Owed::NOTHING);
    let mut at = At { f: factor.pass::<N, false, true>(&owed, x).1, v: zero, below: zero, s: 0.0 };
    at.project(simd, lanes, &d);
    let step = decide(first, vector::dot_registers(simd, theta, x), at.s)?;
    at.advance(simd, lanes, &mut d, step, zero, &mut owed);
    let (k, _) = factor.pass::<N, true, false>(&owed, x);
    vector::axpy_registers(simd, step.gain, k, &mut theta);
    vector::write_registers(theta, S::as_mut_simd_f64s(coefficients).0);
    vector::write_registers(d, S::as_mut_simd_f64s(diagonal).0);
    Ok(())
}

/// Two beliefs about the same rows, row by row in turn: while one waits for its decision the other
/// goes on.
#[inline(always)]
pub(super) fn learn_two<S: Simd, const N: usize>(
    simd: S,
    learn: LearnTwo<'_, '_, Factored>,
) -> Result<()> {
    let LearnTwo { beliefs: [(p, theta), (other, other_theta)], x, decide } = learn;
    let (shape, dim) = ((p.dim, p.stride), p.dim);
    if x.is_empty() {
        return Ok(());
    }
    let mut rest = x;
    let (mut packed, mut other_packed) = (Packed::EMPTY, Packed::EMPTY);
    let mut run = Run::<S, N>::start(simd, shape, (&mut p.u, &mut packed), &mut p.d, theta, rest);
    let mut other_run = Run::<S, N>::start(
        simd,
        shape,
        (&mut other.u, &mut other_packed),
        &mut other.d,
        other_theta,
        rest,
    );
    let mut outcome = Ok(());
    for i in 0.. {
        match (decide(0, i, run.m, run.at.s), decide(1, i, other_run.m, other_run.at.s)) {
            (Ok(step), Ok(other_step)) => {
                rest = &rest[dim..];
                run.advance(step, rest);
                other_run.advance(other_step, rest);
            }
            (Err(error), _) | (_, Err(error)) => outcome = Err(error),
        }
        if outcome.is_err() || rest.is_empty() {
            break;
        }
    }
    run.finish();
    other_run.finish();
    outcome
}

/// A belief on its way through rows.
struct Run<'a, S: Simd, const N: usize> {
    simd: S,
    factor: Factor<'a, S, true>,
    theta: [S::f64s; N],
    d: [S::f64s; N],
    owed: Owed,
    at: At<S, N>,
    /// $\theta^\top x$ of the row at hand.
    m: f64,
    u: &'a mut [f64],
    stride: usize,
    coefficients: &'a mut [f64],
    diagonal: &'a mut [f64],
}

impl<'a, S: Simd, const N: usize> Run<'a, S, N> {
    /// At the first of `rows`.
    #[inline(always)]
    fn start(
        simd: S,
        (dim, stride): (usize, usize),
        (u, packed): (&'a mut [f64], &'a mut Packed),
        diagonal: &'a mut [f64],
        coefficients: &'a mut [f64],
        rows: &[f64],
    ) -> Self {
        let (zero, lanes) = ([simd.splat_f64s(0.0); N], Lanes::new(simd));
        let columns = S::as_mut_simd_f64s(&mut packed.0.0).0;
        for j in 0..dim {
            let column = Factor::<S, true>::place(j);
            let height = column.len();
            columns[column].copy_from_slice(&S::as_simd_f64s(&u[j * stride..]).0[..height]);
        }
        let mut factor = Factor { simd, lanes, columns, apart: 0, dim };
        let (theta, d) = (vector::registers(simd, coefficients), vector::registers(simd, diagonal));
        let owed = Owed::NOTHING;
        let x = vector::head(simd, rows, dim);
        let mut at =
            At { f: factor.pass::<N, false, true>(&owed, x).1, v: zero, below: zero, s: 0.0 };
        at.project(simd, lanes, &d);
        Self {
            simd,
            factor,
            theta,
            d,
            owed,
            at,
            m: vector::dot_registers(simd, theta, x),
            u,
            stride,
            coefficients,
            diagonal,
        }
    }

    /// Takes the step of the row at hand, and on to the first of `rows`, if there is one.
    #[inline(always)]
    fn advance(&mut self, step: Step, rows: &[f64]) {
        let simd = self.simd;
        let x = if rows.is_empty() {
            [simd.splat_f64s(0.0); N]
        } else {
            vector::head(simd, rows, self.factor.dim)
        };
        let (k, f0) = self.factor.pass::<N, true, true>(&self.owed, x);
        vector::axpy_registers(simd, self.owed.gain, k, &mut self.theta);
        let m = vector::dot_registers(simd, self.theta, x);
        self.m = m + step.gain
            * self.at.advance(simd, self.factor.lanes, &mut self.d, step, f0, &mut self.owed);
    }

    /// Pays what is owed and writes the belief back.
    #[inline(always)]
    fn finish(mut self) {
        let (k, _) = self.factor.pass::<N, true, false>(&self.owed, [self.simd.splat_f64s(0.0); N]);
        vector::axpy_registers(self.simd, self.owed.gain, k, &mut self.theta);
        for j in 0..self.factor.dim {
            let column = &self.factor.columns[Factor::<S, true>::place(j)];
            S::as_mut_simd_f64s(&mut self.u[j * self.stride..]).0[..column.len()]
                .copy_from_slice(column);
        }
        vector::write_registers(self.theta, S::as_mut_simd_f64s(self.coefficients).0);
        vector::write_registers(self.d, S::as_mut_simd_f64s(self.diagonal).0);
    }
}

/// A row that is decided but not yet in `U`: $\lambda$, $v$ and its gain along $k = \sum_j v_ju_j$.
struct Owed {
    lambda: [f64; UP_TO],
    v: [f64; UP_TO],
    gain: f64,
}

impl Owed {
    const NOTHING: Self = Self { lambda: [0.0; UP_TO], v: [0.0; UP_TO], gain: 0.0 };
}

/// The row at hand under the belief before it.
struct At<S: Simd, const N: usize> {
    f: [S::f64s; N],
    /// $v = Df$.
    v: [S::f64s; N],
    /// $\sum_{i<j} v_if_i$.
    below: [S::f64s; N],
    /// $s = x^\top Px$.
    s: f64,
}

impl<S: Simd, const N: usize> At<S, N> {
    /// $v$ and the running sums from $f$; leaves their total in `s`.
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
    /// f_j/a_{j-1}$, $d_j \leftarrow d_j a_{j-1}/a_j$, and from $f^0$ what the next row needs;
    /// returns $x^\top Px'$.
    #[inline(always)]
    fn advance(
        &mut self,
        simd: S,
        lanes: Lanes<S>,
        d: &mut [S::f64s; N],
        step: Step,
        f0: [S::f64s; N],
        owed: &mut Owed,
    ) -> f64 {
        let (one, alpha) = (simd.splat_f64s(1.0), simd.splat_f64s(step.curvature));
        let (mut overlap, mut before, mut last) = (0.0, simd.splat_f64s(0.0), one);
        vector::store_registers::<S, N>(self.v, &mut owed.v);
        for r in 0..N {
            before = simd.mul_add_f64s(simd.mul_f64s(d[r], f0[r]), f0[r], before);
            let shared = simd.mul_f64s(self.v[r], f0[r]);
            let shared_below = simd.add_f64s(lanes.below(shared), simd.splat_f64s(overlap));
            overlap += simd.reduce_sum_f64s(shared);
            let upto = simd.mul_add_f64s(self.v[r], self.f[r], self.below[r]);
            let inverse = simd.div_f64s(one, simd.mul_add_f64s(alpha, upto, one));
            let (earlier, rotated) = lanes.push(inverse, last);
            last = rotated;
            let lambda = simd.neg_f64s(simd.mul_f64s(simd.mul_f64s(alpha, self.f[r]), earlier));
            d[r] = simd.mul_f64s(
                d[r],
                simd.mul_f64s(simd.mul_add_f64s(alpha, self.below[r], one), inverse),
            );
            S::as_mut_simd_f64s(&mut owed.lambda).0[r] = lambda;
            self.f[r] = simd.mul_add_f64s(lambda, shared_below, f0[r]);
        }
        owed.gain = step.gain;
        self.project(simd, lanes, d);
        self.s = match next_variance(simd.reduce_sum_f64s(before), step.contraction, overlap) {
            Some(s) => s,
            // summed anew, as a value at hand would become a conditional move, and the next
            // decision wait for it
            None => vector::dot_registers(simd, self.v, self.f),
        };
        overlap
    }
}

/// $U$ for the time of a batch: of each column the registers that reach down to the diagonal, on
/// the stack. So close together no two of its addresses, nor those of what the compiler keeps
/// beside it, are 4096 bytes apart (up to dimension 28), which would let a load wait for a store
/// that it has nothing to do with.
struct Packed(Lines<{ UP_TO * (UP_TO + MOST) / 2 }>);

impl Packed {
    const EMPTY: Self = Self(Lines([0.0; UP_TO * (UP_TO + MOST) / 2]));
}

/// $U$ at work, packed or as it is stored.
struct Factor<'a, S: Simd, const PACKED: bool> {
    simd: S,
    lanes: Lanes<S>,
    columns: &'a mut [S::f64s],
    /// Registers from column to column where it is not packed.
    apart: usize,
    dim: usize,
}

impl<S: Simd, const PACKED: bool> Factor<'_, S, PACKED> {
    /// Where column `j` stands in the packed form.
    #[inline(always)]
    fn place(j: usize) -> Range<usize> {
        let (group, lane) = (j / S::F64_LANES, j % S::F64_LANES);
        let start = S::F64_LANES * group * (group + 1) / 2 + lane * (group + 1);
        start..start + group + 1
    }

    /// With `PAY` pays what is owed, $u_j \leftarrow u_j + \lambda_j k$, $k \leftarrow k + v_j
    /// u_j^{\mathrm{old}}$, with `PROJECT` projects `x` by the new $U$; returns both.
    #[inline(always)]
    fn pass<const N: usize, const PAY: bool, const PROJECT: bool>(
        &mut self,
        owed: &Owed,
        x: [S::f64s; N],
    ) -> ([S::f64s; N], [S::f64s; N]) {
        let zero = [self.simd.splat_f64s(0.0); N];
        let (mut k, mut f) = (zero, zero);
        macro_rules! groups {
            ($($height:literal)*) => {$(
                if $height <= N {
                    f[$height - 1] = self.group::<N, $height, PAY, PROJECT>(owed, &x, &mut k);
                }
            )*};
        }
        groups!(1 2 3 4 5 6 7 8);
        (k, f)
    }

    /// The columns whose diagonal stands in register `B - 1`.
    #[inline(always)]
    fn group<const N: usize, const B: usize, const PAY: bool, const PROJECT: bool>(
        &mut self,
        owed: &Owed,
        x: &[S::f64s; N],
        k: &mut [S::f64s; N],
    ) -> S::f64s {
        let simd = self.simd;
        let (start, end) = ((B - 1) * S::F64_LANES, (B * S::F64_LANES).min(self.dim).min(UP_TO));
        let mut sums = [simd.splat_f64s(0.0); MOST];
        for j in start..end {
            let from = if PACKED {
                S::F64_LANES * B * (B - 1) / 2 + (j - start) * B
            } else {
                j * self.apart
            };
            let column = &mut self.columns[from..][..B];
            let (lambda, v) = (simd.splat_f64s(owed.lambda[j]), simd.splat_f64s(owed.v[j]));
            let mut sum = simd.splat_f64s(0.0);
            for r in 0..B {
                let mut entries = column[r];
                if PAY {
                    let old = entries;
                    entries = simd.mul_add_f64s(lambda, k[r], old);
                    k[r] = simd.mul_add_f64s(v, old, k[r]);
                    column[r] = entries;
                }
                if PROJECT {
                    sum = simd.mul_add_f64s(entries, x[r], sum);
                }
            }
            sums[Lanes::<S>::slot(j - start)] = sum;
        }
        if PROJECT { self.lanes.totals(&sums) } else { sums[0] }
    }
}
