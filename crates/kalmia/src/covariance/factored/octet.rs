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
/// Columns of projections that are corrected at a time.
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

    /// Computes the step of row `t` from the projections `f` of its octet: Bierman's $a_j = 1 +
    /// \alpha\sum_{i\le j} d_if_i^2$, $\lambda_j = -\alpha f_j/a_{j-1}$ and $d_j \leftarrow d_j
    /// a_{j-1}/a_j$. Corrects the projections of the rows after it for the step; those of the
    /// others get values without a meaning. Vectors are padded to whole cache lines.
    #[inline(always)]
    pub fn take<S: Simd>(
        &mut self,
        simd: S,
        t: usize,
        f: &mut [f64],
        step: Decision,
        d: &mut [f64],
    ) {
        self.gain[t] = step.gain;
        let alpha = step.curvature;
        match (S::F64_LANES, (t + 1) / S::F64_LANES) {
            (8, 0) => self.take_registers::<S, 1, 0>(simd, t, f, alpha, d),
            (8, _) => self.take_registers::<S, 1, 1>(simd, t, f, alpha, d),
            (4, 0) => self.take_registers::<S, 2, 0>(simd, t, f, alpha, d),
            (4, 1) => self.take_registers::<S, 2, 1>(simd, t, f, alpha, d),
            (4, _) => self.take_registers::<S, 2, 2>(simd, t, f, alpha, d),
            _ => self.take_scalars(t, f, alpha, d),
        }
    }

    /// [`Steps::take`] for octets of `N` registers, of which those from `FIRST` on are corrected.
    #[inline(always)]
    fn take_registers<S: Simd, const N: usize, const FIRST: usize>(
        &mut self,
        simd: S,
        t: usize,
        f: &mut [f64],
        alpha: f64,
        d: &mut [f64],
    ) {
        let lanes = Lanes::new(simd);
        let one = simd.splat_f64s(1.0);
        let alpha = simd.splat_f64s(alpha);
        let mut sum = simd.splat_f64s(0.0);
        let mut last = one;
        let mut k = [simd.splat_f64s(0.0); N];
        let tiles = self.v.chunks_exact_mut(TILE).zip(self.lambda.chunks_exact_mut(TILE));
        let lines = f.chunks_exact_mut(TILE).zip(d.chunks_exact_mut(OCTET));
        for ((v, lambda), (f, d)) in tiles.zip(lines) {
            let v = &mut v[t * OCTET..][..OCTET];
            let lambda = &mut lambda[t * OCTET..][..OCTET];
            let mut row = [0.0; OCTET];
            for (row, f) in row.iter_mut().zip(f.chunks_exact(OCTET)) {
                *row = f[t];
            }
            let steps = S::as_mut_simd_f64s(v).0.iter_mut().zip(S::as_mut_simd_f64s(lambda).0);
            let registers = S::as_simd_f64s(&row).0.iter().zip(S::as_mut_simd_f64s(d).0);
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
            let f = S::as_mut_simd_f64s(f).0.chunks_exact_mut(N * CORRECTED);
            let steps = v.chunks_exact(CORRECTED).zip(lambda.chunks_exact(CORRECTED));
            for (f, (v, lambda)) in f.zip(steps) {
                correct::<S, N, FIRST>(simd, v, lambda, &mut k, f);
            }
        }
    }

    /// [`Steps::take`] for registers without sums across lanes.
    fn take_scalars(&mut self, t: usize, f: &mut [f64], alpha: f64, d: &mut [f64]) {
        let mut below = 0.0;
        let mut k = [0.0; OCTET];
        for (j, (f, d)) in f.chunks_exact_mut(OCTET).zip(d).enumerate() {
            let at = TILE * (j / OCTET) + OCTET * t + j % OCTET;
            let v = *d * f[t];
            let before = 1.0 + alpha * below;
            let lambda = -alpha * f[t] / before;
            below += v * f[t];
            self.v[at] = v;
            self.lambda[at] = lambda;
            *d *= before / (1.0 + alpha * below);
            for (f, k) in f.iter_mut().zip(&mut k) {
                let old = *f;
                *f += lambda * *k;
                *k += v * old;
            }
        }
    }
}

/// Corrects a few columns of projections for a step of which `k` is known up to them; octets have
/// `N` registers, of which those from `FIRST` on are corrected.
#[inline(always)]
fn correct<S: Simd, const N: usize, const FIRST: usize>(
    simd: S,
    v: &[f64],
    lambda: &[f64],
    k: &mut [S::f64s; N],
    f: &mut [S::f64s],
) {
    for n in FIRST..N {
        // what the columns add to k, without waiting for k
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
    let parts = steps.len();
    let mut register = 0;
    while register < registers {
        let line = register * S::F64_LANES;
        let first = if TRIANGULAR { line / OCTET } else { 0 };
        let two = S::F64_LANES >= 4 && register + 2 <= registers;
        for (part, steps) in steps.iter().enumerate() {
            let tiles = first..dim.div_ceil(OCTET);
            let share = Share { part, parts };
            let mut strip = Strip { simd, matrix, stride, line, tiles, target, steps, share };
            match (two, S::F64_LANES) {
                (true, 4) => strip.sweep_halves::<2, TRIANGULAR>(),
                (true, _) => strip.sweep::<2, 0, OCTET, TRIANGULAR>(),
                (false, _) => strip.sweep::<1, 0, OCTET, false>(),
            }
        }
        register += if two { 2 } else { 1 };
    }
}

/// Begins to load the first strip of some columns of a matrix.
#[inline(always)]
pub(super) fn prefetch_strip(matrix: &[f64], stride: usize, columns: Range<usize>) {
    for j in columns {
        prefetch(matrix, j * stride);
        prefetch(matrix, j * stride + OCTET);
    }
}

/// A part of the tiles, every so many of them.
#[derive(Clone, Copy)]
struct Share {
    part: usize,
    parts: usize,
}

/// A few lines of a matrix, from `line` on, and the steps to apply to them.
struct Strip<'a, S: Simd> {
    simd: S,
    matrix: &'a mut [f64],
    stride: usize,
    line: usize,
    tiles: Range<usize>,
    target: &'a mut [f64],
    steps: &'a Steps,
    /// The tiles whose next strip these steps begin to load. All steps have a share of it, because
    /// a memory that is far away would let the first steps wait for all of it.
    share: Share,
}

impl<S: Simd> Strip<'_, S> {
    /// With few registers: four steps at a time, so that the lines of two registers fit beside
    /// their $k$.
    #[inline(always)]
    fn sweep_halves<const N: usize, const PREFETCH: bool>(&mut self) {
        let Share { part, parts } = self.share;
        self.share = Share { part: 2 * part, parts: 2 * parts };
        self.sweep::<N, 0, { OCTET / 2 }, PREFETCH>();
        self.share.part += 1;
        self.sweep::<N, { OCTET / 2 }, { OCTET / 2 }, PREFETCH>();
    }

    /// Takes the steps from `FIRST` on, `T` of them, over `N` registers of each column. With
    /// `PREFETCH` begins to load the next strip.
    #[inline(always)]
    fn sweep<const N: usize, const FIRST: usize, const T: usize, const PREFETCH: bool>(&mut self) {
        let simd = self.simd;
        let Self { stride, line, ref tiles, steps, share, .. } = *self;
        let mut k = [[simd.splat_f64s(0.0); N]; T];
        let range = TILE * tiles.start..TILE * tiles.end;
        let vs = steps.v[range.clone()].chunks_exact(TILE);
        let lambdas = steps.lambda[range].chunks_exact(TILE);
        let groups = self.matrix[OCTET * tiles.start * stride..].chunks_exact_mut(OCTET * stride);
        for (tile, ((columns, v), lambda)) in groups.zip(vs).zip(lambdas).enumerate() {
            let ahead = PREFETCH && tile % share.parts == share.part;
            let v: &[f64; TILE] = v.try_into().expect("a tile");
            let lambda: &[f64; TILE] = lambda.try_into().expect("a tile");
            for (j, column) in columns.chunks_exact_mut(stride).enumerate().take(OCTET) {
                if ahead {
                    let next = line + N * S::F64_LANES;
                    for step in (0..N * S::F64_LANES).step_by(OCTET) {
                        prefetch(column, next + step);
                    }
                }
                let column = &mut S::as_mut_simd_f64s(&mut column[line..]).0[..N];
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
        let target = &mut S::as_mut_simd_f64s(&mut self.target[line..]).0[..N];
        for (n, target) in target.iter_mut().enumerate() {
            for (gain, k) in steps.gain[FIRST..].iter().zip(&k) {
                *target = simd.mul_add_f64s(simd.splat_f64s(*gain), k[n], *target);
            }
        }
    }
}
