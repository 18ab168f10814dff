//! Kernels on eight rows at a time. Their projections lie side by side: entry `j` of row `t` is at
//! `8 j + t`.
//!
//! Bierman's step of a row changes column $j$ of $U$ by $u_j \leftarrow u_j + \lambda_j k$, $k
//! \leftarrow k + v_ju_j^{\mathrm{old}}$. Each row of $U$ does so on its own, and so does
//! $x^\top U$ of any other row $x$. One kernel, [`sweep`], therefore moves the matrix and the
//! projections of rows to come, and holds $k$ of eight steps in registers while it passes the
//! columns.

use crate::linalg::lanes::{Lanes, Scan};
use crate::linalg::{Buffer, prefetch};
use pulp::Simd;
use std::ops::Range;

/// Rows of an octet.
pub(super) const OCTET: usize = Buffer::LINE;
/// Octets of the largest block.
pub(super) const OCTETS: usize = 4;
/// Rows of the largest block.
pub(super) const MAX_BLOCK: usize = OCTET * OCTETS;
/// Numbers of eight rows and eight columns.
pub(super) const TILE: usize = OCTET * OCTET;
/// Columns that [`correct`] takes at a time.
const CORRECTED: usize = 4;

/// The steps of up to eight rows; the others are 0. Entry `j` of row `t` is at
/// `64 (j / 8) + 8 t + j % 8`: rows are written in whole cache lines and read by columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    /// $v = Df$.
    v: Buffer,
    lambda: Buffer,
    gain: [f64; OCTET],
}

impl Steps {
    pub fn reserve(&mut self, stride: usize) {
        self.v.reserve(OCTET * stride);
        self.lambda.reserve(OCTET * stride);
    }

    /// Clears the steps of the rows from `t` on.
    pub fn clear_from(&mut self, t: usize) {
        for tiles in [&mut self.v, &mut self.lambda] {
            for tile in tiles.chunks_exact_mut(TILE) {
                tile[t * OCTET..].fill(0.0);
            }
        }
        self.gain[t..].fill(0.0);
    }

    /// Computes the step of row `t` from its projection: Bierman's $a_j = 1 + \alpha\sum_{i\le j}
    /// d_if_i^2$, $\lambda_j = -\alpha f_j/a_{j-1}$ and $d_j \leftarrow d_j a_{j-1}/a_j$. Vectors
    /// are padded to whole cache lines.
    #[inline(always)]
    pub fn take<S: Simd>(&mut self, simd: S, t: usize, f: &[f64], step: Decision, d: &mut [f64]) {
        self.gain[t] = step.gain;
        let alpha = step.curvature;
        if ![4, 8].contains(&S::F64_LANES) {
            return self.take_scalars(t, f, alpha, d);
        }
        let lanes = Lanes::new(simd);
        let one = simd.splat_f64s(1.0);
        let alpha = simd.splat_f64s(alpha);
        let mut sum = simd.splat_f64s(0.0);
        let mut last = one;
        let tiles = self.v.chunks_exact_mut(TILE).zip(self.lambda.chunks_exact_mut(TILE));
        let lines = f.chunks_exact(OCTET).zip(d.chunks_exact_mut(OCTET));
        for ((v, lambda), (f, d)) in tiles.zip(lines) {
            let v = S::as_mut_simd_f64s(&mut v[t * OCTET..][..OCTET]).0;
            let lambda = S::as_mut_simd_f64s(&mut lambda[t * OCTET..][..OCTET]).0;
            let steps = v.iter_mut().zip(lambda);
            let registers = S::as_simd_f64s(f).0.iter().zip(S::as_mut_simd_f64s(d).0);
            for ((v, lambda), (&f, d)) in steps.zip(registers) {
                *v = simd.mul_f64s(*d, f);
                let terms = simd.mul_f64s(*v, f);
                let Scan { below, total } = lanes.scan(terms);
                let below = simd.add_f64s(below, sum);
                sum = simd.add_f64s(sum, total);
                let upto = simd.add_f64s(below, terms);
                let inverse = simd.div_f64s(one, simd.mul_add_f64s(alpha, upto, one));
                let (earlier, rotated) = lanes.push(inverse, last);
                last = rotated;
                *lambda = simd.neg_f64s(simd.mul_f64s(simd.mul_f64s(alpha, f), earlier));
                let ratio = simd.mul_f64s(simd.mul_add_f64s(alpha, below, one), inverse);
                *d = simd.mul_f64s(*d, ratio);
            }
        }
    }

    /// The same for registers without sums across lanes.
    fn take_scalars(&mut self, t: usize, f: &[f64], alpha: f64, d: &mut [f64]) {
        let mut below = 0.0;
        for (j, (f, d)) in f.iter().zip(d).enumerate() {
            let at = TILE * (j / OCTET) + OCTET * t + j % OCTET;
            let v = *d * f;
            let before = 1.0 + alpha * below;
            below += v * f;
            self.v[at] = v;
            self.lambda[at] = -alpha * f / before;
            *d *= before / (1.0 + alpha * below);
        }
    }
}

/// The part of a [`Step`](crate::rule::Step) that moves a belief.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decision {
    pub gain: f64,
    pub curvature: f64,
}

/// $\sum_j d_jf_{tj}f_{ij}$ of the rows $t$ of one octet and $i$ of another, or of the same if it
/// is `DIAGONAL`. Those with $t$ are in row $t$ of `out`, [`MAX_BLOCK`] apart; in a diagonal tile
/// those with $i < t$ have no meaning.
#[inline(always)]
pub(super) fn gram<S: Simd, const DIAGONAL: bool>(
    simd: S,
    d: &[f64],
    f: &[f64],
    other: &[f64],
    out: &mut [f64],
) {
    match OCTET / S::F64_LANES {
        1 => gram_rows::<S, 1, 0, OCTET, 0>(simd, d, f, other, out),
        2 => {
            const HALF: usize = OCTET / 2;
            gram_rows::<S, 2, 0, HALF, 0>(simd, d, f, other, out);
            if DIAGONAL {
                gram_rows::<S, 2, HALF, HALF, 1>(simd, d, f, other, out);
            } else {
                gram_rows::<S, 2, HALF, HALF, 0>(simd, d, f, other, out);
            }
        }
        4 => gram_rows::<S, 4, 0, OCTET, 0>(simd, d, f, other, out),
        _ => gram_rows::<S, 8, 0, OCTET, 0>(simd, d, f, other, out),
    }
}

/// The rows from `FIRST` on, `T` of them, with the registers of the other octet, `N` of them, from
/// `SKIPPED` on.
// one index runs over registers and their sums
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn gram_rows<S: Simd, const N: usize, const FIRST: usize, const T: usize, const SKIPPED: usize>(
    simd: S,
    d: &[f64],
    f: &[f64],
    other: &[f64],
    out: &mut [f64],
) {
    let mut sums = [[simd.splat_f64s(0.0); N]; T];
    let rows = f.chunks_exact(OCTET).zip(other.chunks_exact(OCTET));
    for (d, (f, other)) in d.iter().zip(rows) {
        let d = simd.splat_f64s(*d);
        let other = &S::as_simd_f64s(other).0[..N];
        let f: &[f64; OCTET] = f.try_into().expect("an octet");
        for n in SKIPPED..N {
            let v = simd.mul_f64s(d, other[n]);
            for t in 0..T {
                sums[t][n] = simd.mul_add_f64s(simd.splat_f64s(f[FIRST + t]), v, sums[t][n]);
            }
        }
    }
    for (out, sums) in out.chunks_mut(MAX_BLOCK).skip(FIRST).zip(sums) {
        S::as_mut_simd_f64s(&mut out[..OCTET]).0.copy_from_slice(&sums);
    }
}

/// Corrects the projections of the rows after row `t` of an octet for its step. Those of the others
/// get values without a meaning.
#[inline(always)]
pub(super) fn correct<S: Simd>(simd: S, steps: &Steps, t: usize, f: &mut [f64]) {
    match (OCTET / S::F64_LANES, (t + 1) / S::F64_LANES) {
        (1, _) => correct_registers::<S, 1, 0>(simd, steps, t, f),
        (2, 0) => correct_registers::<S, 2, 0>(simd, steps, t, f),
        (2, _) => correct_registers::<S, 2, 1>(simd, steps, t, f),
        (4, _) => correct_registers::<S, 4, 0>(simd, steps, t, f),
        _ => correct_registers::<S, 8, 0>(simd, steps, t, f),
    }
}

/// The `N` registers of an octet from register `FIRST` on.
#[inline(always)]
fn correct_registers<S: Simd, const N: usize, const FIRST: usize>(
    simd: S,
    steps: &Steps,
    t: usize,
    f: &mut [f64],
) {
    let mut k = [simd.splat_f64s(0.0); N];
    let tiles = steps.v.chunks_exact(TILE).zip(steps.lambda.chunks_exact(TILE));
    for (f, (v, lambda)) in S::as_mut_simd_f64s(f).0.chunks_exact_mut(N * OCTET).zip(tiles) {
        let v = v[t * OCTET..][..OCTET].chunks_exact(CORRECTED);
        let lambda = lambda[t * OCTET..][..OCTET].chunks_exact(CORRECTED);
        for (f, (v, lambda)) in f.chunks_exact_mut(N * CORRECTED).zip(v.zip(lambda)) {
            for n in FIRST..N {
                // what the columns of the group add to k, without waiting for k
                let mut added = simd.splat_f64s(0.0);
                for c in 0..CORRECTED {
                    let old = f[c * N + n];
                    let k = simd.add_f64s(k[n], added);
                    f[c * N + n] = simd.mul_add_f64s(simd.splat_f64s(lambda[c]), k, old);
                    added = simd.mul_add_f64s(simd.splat_f64s(v[c]), old, added);
                }
                k[n] = simd.add_f64s(k[n], added);
            }
        }
    }
}

/// Applies the steps of some octets to a matrix whose columns, `dim` in whole cache lines, are
/// `stride` apart, and adds $\sum_t g_tk_t$ to `target`. If the matrix is `TRIANGULAR`, only the
/// entries up to `j` of column `j` matter: the others are 0 or 1 and stay so.
///
/// All steps go over a strip of a few lines before the next strip, so a large matrix is taken into
/// the cache once.
#[inline(always)]
pub(super) fn sweep<S: Simd, const TRIANGULAR: bool>(
    simd: S,
    matrix: &mut [f64],
    stride: usize,
    dim: usize,
    steps: &[Steps],
    target: &mut [f64],
) {
    let registers = target.len() / S::F64_LANES;
    let mut register = 0;
    while register < registers {
        let at = register * S::F64_LANES;
        let tiles = if TRIANGULAR { at / OCTET } else { 0 }..dim.div_ceil(OCTET);
        let two = S::F64_LANES >= 4 && register + 2 <= registers;
        for (i, steps) in steps.iter().enumerate() {
            let mut strip = Strip { simd, matrix, stride, at, tiles: tiles.clone(), target, steps };
            // the first steps begin to load the next strip, which has no other columns
            match (two, S::F64_LANES, TRIANGULAR && i == 0) {
                (true, 4, true) => strip.sweep_halves::<2, true>(),
                (true, 4, false) => strip.sweep_halves::<2, false>(),
                (true, _, true) => strip.sweep::<2, 0, OCTET, true>(),
                (true, _, false) => strip.sweep::<2, 0, OCTET, false>(),
                (false, ..) => strip.sweep::<1, 0, OCTET, false>(),
            }
        }
        register += if two { 2 } else { 1 };
    }
}

/// Begins to load the first strip of a matrix.
#[inline(always)]
pub(super) fn prefetch_strip(matrix: &[f64], stride: usize, dim: usize) {
    for j in 0..dim {
        prefetch(matrix, j * stride);
        prefetch(matrix, j * stride + OCTET);
    }
}

/// A few lines of a matrix, from line `at` on, and the steps to apply to them.
struct Strip<'a, S: Simd> {
    simd: S,
    matrix: &'a mut [f64],
    stride: usize,
    at: usize,
    tiles: Range<usize>,
    target: &'a mut [f64],
    steps: &'a Steps,
}

impl<S: Simd> Strip<'_, S> {
    /// With few registers: four steps at a time, so that the lines of two registers fit beside
    /// their $k$.
    #[inline(always)]
    fn sweep_halves<const N: usize, const PREFETCH: bool>(&mut self) {
        self.sweep::<N, 0, { OCTET / 2 }, PREFETCH>();
        self.sweep::<N, { OCTET / 2 }, { OCTET / 2 }, false>();
    }

    /// Takes the steps from `FIRST` on, `T` of them, over `N` registers of each column. With
    /// `PREFETCH` begins to load the next strip.
    #[inline(always)]
    fn sweep<const N: usize, const FIRST: usize, const T: usize, const PREFETCH: bool>(&mut self) {
        let simd = self.simd;
        let Self { stride, at, ref tiles, steps, .. } = *self;
        let mut k = [[simd.splat_f64s(0.0); N]; T];
        let range = TILE * tiles.start..TILE * tiles.end;
        let vs = steps.v[range.clone()].chunks_exact(TILE);
        let lambdas = steps.lambda[range].chunks_exact(TILE);
        let groups = self.matrix[OCTET * tiles.start * stride..].chunks_exact_mut(OCTET * stride);
        for ((columns, v), lambda) in groups.zip(vs).zip(lambdas) {
            let v: &[f64; TILE] = v.try_into().expect("a tile");
            let lambda: &[f64; TILE] = lambda.try_into().expect("a tile");
            for (j, column) in columns.chunks_exact_mut(stride).enumerate().take(OCTET) {
                if PREFETCH {
                    let next = at + N * S::F64_LANES;
                    for line in 0..(N * S::F64_LANES).div_ceil(OCTET) {
                        prefetch(column, next + line * OCTET);
                    }
                }
                let column = &mut S::as_mut_simd_f64s(&mut column[at..]).0[..N];
                let mut entries = [simd.splat_f64s(0.0); N];
                entries.copy_from_slice(column);
                for t in 0..T {
                    let lambda = simd.splat_f64s(lambda[(FIRST + t) * OCTET + j]);
                    let v = simd.splat_f64s(v[(FIRST + t) * OCTET + j]);
                    for n in 0..N {
                        let old = entries[n];
                        entries[n] = simd.mul_add_f64s(lambda, k[t][n], old);
                        k[t][n] = simd.mul_add_f64s(v, old, k[t][n]);
                    }
                }
                column.copy_from_slice(&entries);
            }
        }
        let target = &mut S::as_mut_simd_f64s(&mut self.target[at..]).0[..N];
        for (n, target) in target.iter_mut().enumerate() {
            for (gain, k) in steps.gain[FIRST..].iter().zip(&k) {
                *target = simd.mul_add_f64s(simd.splat_f64s(*gain), k[n], *target);
            }
        }
    }
}
