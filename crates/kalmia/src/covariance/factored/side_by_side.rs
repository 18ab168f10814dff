//! The rows of a block side by side, and their products with vectors and columns.

use super::octet::{OCTET, OCTETS};
use crate::linalg::{Buffer, prefetch};
use pulp::Simd;

/// The rows of a block side by side, entry `j` of row `t` at `block j + t`.
#[derive(Debug, Clone, Default)]
pub(super) struct SideBySide {
    x: Buffer,
    /// Rows that there is room for, whole octets; those that are missing are 0.
    block: usize,
}

impl SideBySide {
    pub fn set(&mut self, x: &[f64], dim: usize, block: usize) {
        self.block = block;
        self.x.reserve(block * dim);
        self.x[..block * dim].fill(0.0);
        for (t, x) in x.chunks_exact(dim).enumerate() {
            for (side, x) in self.x.chunks_exact_mut(block).zip(x) {
                side[t] = *x;
            }
        }
    }

    pub fn octets(&self) -> usize {
        self.block / OCTET
    }
}

/// $f_j = u_j^\top x$ of the rows of a block, for each octet.
#[inline(always)]
pub(super) fn project<S: Simd>(
    simd: S,
    u: &[f64],
    dim: usize,
    stride: usize,
    x: &SideBySide,
    f: &mut [Buffer],
) {
    let mut panel = Panel { u, dim, stride, x, f, done: 0 };
    match (S::F64_LANES, x.octets()) {
        (8, OCTETS) => panel.project::<S, 4, 4>(simd),
        (8, 2) => panel.project::<S, 8, 2>(simd),
        (8, _) => panel.project::<S, 8, 1>(simd),
        (4, _) => panel.project::<S, 6, 2>(simd),
        _ => panel.project::<S, 4, 2>(simd),
    }
    panel.project::<S, 2, 1>(simd);
}

/// The columns of a matrix that are to be projected, from column `done` on.
struct Panel<'a> {
    u: &'a [f64],
    dim: usize,
    stride: usize,
    x: &'a SideBySide,
    f: &'a mut [Buffer],
    done: usize,
}

impl Panel<'_> {
    /// Takes `C` columns at a time while there are so many in whole pairs; `N` registers of rows at
    /// a time go over them while they are in the cache, and the next columns are on their way.
    // one index runs over columns and their sums
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn project<S: Simd, const C: usize, const N: usize>(&mut self, simd: S) {
        let Self { u, dim, stride, x, .. } = *self;
        let block = x.block;
        let passes = block / (N * S::F64_LANES);
        while self.done + C <= dim.next_multiple_of(2) {
            let start = self.done;
            let rows = dim.min(start + C);
            let u = &u[start * stride..];
            // checked here and not for each entry
            assert!(rows <= stride && C * stride <= u.len());
            for (pass, first) in (0..block).step_by(N * S::F64_LANES).enumerate() {
                let mut sums = [[simd.splat_f64s(0.0); N]; C];
                for (line, x) in x.x[..block * rows].chunks(block * Buffer::LINE).enumerate() {
                    // each pass loads its share of what comes next
                    if line % passes == pass {
                        (C..2 * C).for_each(|c| prefetch(u, c * stride + line * Buffer::LINE));
                    }
                    for (i, x) in (line * Buffer::LINE..rows).zip(x.chunks_exact(block)) {
                        let x = &S::as_simd_f64s(&x[first..]).0[..N];
                        for c in 0..C {
                            // SAFETY: `C` columns of at least `rows` entries, and `i < rows`.
                            let entry = unsafe { *u.get_unchecked(c * stride + i) };
                            let entry = simd.splat_f64s(entry);
                            for n in 0..N {
                                sums[c][n] = simd.mul_add_f64s(entry, x[n], sums[c][n]);
                            }
                        }
                    }
                }
                for (c, sums) in sums.iter().enumerate() {
                    for (n, sum) in sums.iter().enumerate() {
                        let t = first + n * S::F64_LANES;
                        let at = (start + c) * OCTET + t % OCTET;
                        S::as_mut_simd_f64s(&mut self.f[t / OCTET][at..]).0[0] = *sum;
                    }
                }
            }
            self.done += C;
        }
    }
}

/// $\sum_j a_jx_j$ of the rows of a block.
#[inline(always)]
pub(super) fn products<S: Simd>(simd: S, a: &[f64], x: &SideBySide, out: &mut [f64]) {
    let (out, _) = S::as_mut_simd_f64s(&mut out[..x.block]);
    for (n, out) in out.iter_mut().enumerate() {
        // two sums: an addition does not wait for the previous one
        let mut sums = [simd.splat_f64s(0.0); 2];
        for (i, (a, x)) in a.iter().zip(x.x.chunks_exact(x.block)).enumerate() {
            let x = S::as_simd_f64s(x).0[n];
            sums[i % 2] = simd.mul_add_f64s(simd.splat_f64s(*a), x, sums[i % 2]);
        }
        *out = simd.add_f64s(sums[0], sums[1]);
    }
}
