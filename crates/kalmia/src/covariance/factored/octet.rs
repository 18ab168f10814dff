//! Kernels on eight rows at a time. Their projections lie side by side: entry `j` of row `t` is at
//! `8 j + t`.
//!
//! Bierman's step of a row changes column $j$ of $U$ by $u_j \leftarrow u_j + \lambda_j k$, $k
//! \leftarrow k + v_ju_j^{\mathrm{old}}$. Each row of $U$ does so on its own, and so does
//! $x^\top U$ of any other row $x$. One kernel, [`sweep`], therefore moves the matrix and the
//! projections of rows to come, and holds $k$ of eight steps in registers while it passes the
//! columns.

use crate::linalg::Buffer;
use pulp::Simd;
use std::ops::Range;

/// Rows of an octet.
pub(super) const OCTET: usize = Buffer::LINE;
/// Octets of the largest block.
pub(super) const OCTETS: usize = 4;
/// Rows of the largest block.
pub(super) const MAX_BLOCK: usize = OCTET * OCTETS;
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
            for tile in tiles.chunks_exact_mut(OCTET * OCTET) {
                tile[t * OCTET..].fill(0.0);
            }
        }
        self.gain[t..].fill(0.0);
    }

    /// Writes the step of row `t`; the vectors are padded to whole cache lines.
    #[inline(always)]
    pub fn set(&mut self, t: usize, v: &[f64], lambda: &[f64], gain: f64) {
        self.gain[t] = gain;
        for (tiles, line) in [(&mut self.v, v), (&mut self.lambda, lambda)] {
            let tiles = tiles.chunks_exact_mut(OCTET * OCTET);
            for (tile, line) in tiles.zip(line.chunks_exact(OCTET)) {
                tile[t * OCTET..][..OCTET].copy_from_slice(line);
            }
        }
    }
}

/// $\sum_j d_jf_j^2$ of eight rows.
#[inline(always)]
pub(super) fn squares<S: Simd>(simd: S, d: &[f64], f: &[f64], out: &mut [f64]) {
    let (out, _) = S::as_mut_simd_f64s(out);
    let width = out.len();
    let fs = S::as_simd_f64s(f).0;
    for (n, out) in out.iter_mut().enumerate() {
        let mut sums = [simd.splat_f64s(0.0); 4];
        for (d, f) in d.chunks(4).zip(fs.chunks(4 * width)) {
            for (i, d) in d.iter().enumerate() {
                let f = f[i * width + n];
                sums[i] = simd.mul_add_f64s(simd.mul_f64s(simd.splat_f64s(*d), f), f, sums[i]);
            }
        }
        let [a, b, c, d] = sums;
        *out = simd.add_f64s(simd.add_f64s(a, b), simd.add_f64s(c, d));
    }
}

/// Corrects the projections of eight rows for one step; adds its gain times $x^\top Px'$ to their
/// linear predictors `m`. Rows up to that of the step get values without a meaning. The vectors are
/// padded to whole cache lines.
#[inline(always)]
pub(super) fn correct<S: Simd>(
    simd: S,
    v: &[f64],
    lambda: &[f64],
    gain: f64,
    f: &mut [f64],
    m: &mut [f64],
) {
    let (m, _) = S::as_mut_simd_f64s(m);
    match m.len() {
        1 => correct_registers::<S, 1>(simd, v, lambda, gain, f, m),
        2 => correct_registers::<S, 2>(simd, v, lambda, gain, f, m),
        4 => correct_registers::<S, 4>(simd, v, lambda, gain, f, m),
        _ => correct_registers::<S, 8>(simd, v, lambda, gain, f, m),
    }
}

#[inline(always)]
fn correct_registers<S: Simd, const N: usize>(
    simd: S,
    v: &[f64],
    lambda: &[f64],
    gain: f64,
    f: &mut [f64],
    m: &mut [S::f64s],
) {
    let mut k = [simd.splat_f64s(0.0); N];
    let groups = S::as_mut_simd_f64s(f).0.chunks_exact_mut(N * CORRECTED);
    let steps = v.chunks_exact(CORRECTED).zip(lambda.chunks_exact(CORRECTED));
    for (f, (v, lambda)) in groups.zip(steps) {
        for n in 0..N {
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
    let gain = simd.splat_f64s(gain);
    for (m, k) in m.iter_mut().zip(k) {
        *m = simd.mul_add_f64s(gain, k, *m);
    }
}

/// Applies the steps to a matrix whose columns, `dim` in whole cache lines, are `stride` apart, and
/// adds $\sum_t g_tk_t$ to `target`. If the matrix is `TRIANGULAR`, only the entries up to `j` of
/// column `j` matter: the others are 0 or 1 and stay so.
#[inline(always)]
pub(super) fn sweep<S: Simd, const TRIANGULAR: bool>(
    simd: S,
    matrix: &mut [f64],
    stride: usize,
    dim: usize,
    steps: &Steps,
    target: &mut [f64],
) {
    let registers = target.len() / S::F64_LANES;
    let mut register = 0;
    while register < registers {
        let at = register * S::F64_LANES;
        let tiles = if TRIANGULAR { at / OCTET } else { 0 }..dim.div_ceil(OCTET);
        if S::F64_LANES == 8 && register + 2 <= registers {
            sweep_tiles::<S, 2>(simd, matrix, stride, at, tiles, steps, target);
            register += 2;
        } else {
            sweep_tiles::<S, 1>(simd, matrix, stride, at, tiles, steps, target);
            register += 1;
        }
    }
}

/// The `N` registers of each column from entry `at` on.
#[inline(always)]
fn sweep_tiles<S: Simd, const N: usize>(
    simd: S,
    matrix: &mut [f64],
    stride: usize,
    at: usize,
    tiles: Range<usize>,
    steps: &Steps,
    target: &mut [f64],
) {
    const TILE: usize = OCTET * OCTET;
    let mut k = [[simd.splat_f64s(0.0); N]; OCTET];
    let range = TILE * tiles.start..TILE * tiles.end;
    let vs = steps.v[range.clone()].chunks_exact(TILE);
    let lambdas = steps.lambda[range].chunks_exact(TILE);
    let groups = matrix[OCTET * tiles.start * stride..].chunks_exact_mut(OCTET * stride);
    for ((columns, v), lambda) in groups.zip(vs).zip(lambdas) {
        let v: &[f64; TILE] = v.try_into().expect("a tile");
        let lambda: &[f64; TILE] = lambda.try_into().expect("a tile");
        for (j, column) in columns.chunks_exact_mut(stride).enumerate().take(OCTET) {
            let column = &mut S::as_mut_simd_f64s(&mut column[at..]).0[..N];
            let mut entries = [simd.splat_f64s(0.0); N];
            entries.copy_from_slice(column);
            for t in 0..OCTET {
                let lambda = simd.splat_f64s(lambda[t * OCTET + j]);
                let v = simd.splat_f64s(v[t * OCTET + j]);
                for n in 0..N {
                    let old = entries[n];
                    entries[n] = simd.mul_add_f64s(lambda, k[t][n], old);
                    k[t][n] = simd.mul_add_f64s(v, old, k[t][n]);
                }
            }
            column.copy_from_slice(&entries);
        }
    }
    let target = &mut S::as_mut_simd_f64s(&mut target[at..]).0[..N];
    for (n, target) in target.iter_mut().enumerate() {
        for (gain, k) in steps.gain.iter().zip(&k) {
            *target = simd.mul_add_f64s(simd.splat_f64s(*gain), k[n], *target);
        }
    }
}
