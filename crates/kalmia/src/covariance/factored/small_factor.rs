//! The factor `U` of small dimensions: its packed copy on the stack, and the sweep over it.

use super::small::MAX_DIM;
use crate::linalg::Lines;
use crate::linalg::lanes::{Lanes, MAX_LANES};
use pulp::Simd;
use std::ops::Range;

/// The step of a decided row that is not yet applied to `U`: $\lambda$, $v$ and the gain along
/// $k = \sum_j v_ju_j$.
pub(super) struct Pending {
    pub lambda: [f64; MAX_DIM],
    pub v: [f64; MAX_DIM],
    pub gain: f64,
}

impl Pending {
    pub const NONE: Self = Self { lambda: [0.0; MAX_DIM], v: [0.0; MAX_DIM], gain: 0.0 };
}

/// $U$ on the stack for the duration of a batch: the registers of each column down to the diagonal.
/// Kept within 4 KiB (d <= 28) to avoid 4K aliasing: a load stalls on an earlier store whose
/// address matches modulo 4096.
pub(super) struct Packed(pub Lines<{ MAX_DIM * (MAX_DIM + MAX_LANES) / 2 }>);

impl Packed {
    pub const EMPTY: Self = Self(Lines([0.0; MAX_DIM * (MAX_DIM + MAX_LANES) / 2]));
}

/// $U$ as the kernel sees it, packed or as stored.
pub(super) struct Factor<'a, S: Simd, const PACKED: bool> {
    pub simd: S,
    pub lanes: Lanes<S>,
    pub columns: &'a mut [S::f64s],
    /// Registers from one column to the next if not packed.
    pub column_stride: usize,
    pub dim: usize,
}

impl<S: Simd, const PACKED: bool> Factor<'_, S, PACKED> {
    /// The registers of column `j` in the packed form.
    #[inline(always)]
    pub fn place(j: usize) -> Range<usize> {
        let group = j / S::F64_LANES;
        let lane = j % S::F64_LANES;
        let start = S::F64_LANES * group * (group + 1) / 2 + lane * (group + 1);
        start..start + group + 1
    }

    /// With `APPLY` applies the pending step, $u_j \leftarrow u_j + \lambda_j k$, $k \leftarrow k +
    /// v_j u_j^{\mathrm{old}}$; with `PROJECT` projects `x` by the new $U$. Returns $k$ and the
    /// projection.
    #[inline(always)]
    pub fn sweep<const N: usize, const APPLY: bool, const PROJECT: bool>(
        &mut self,
        pending: &Pending,
        x: [S::f64s; N],
    ) -> ([S::f64s; N], [S::f64s; N]) {
        let zero = [self.simd.splat_f64s(0.0); N];
        let mut k = zero;
        let mut f = zero;
        macro_rules! groups {
            ($($height:literal)*) => {$(
                if $height <= N {
                    f[$height - 1] = self.group::<N, $height, APPLY, PROJECT>(pending, &x, &mut k);
                }
            )*};
        }
        groups!(1 2 3 4 5 6 7 8);
        (k, f)
    }

    /// The columns whose diagonal stands in register `B - 1`.
    #[inline(always)]
    fn group<const N: usize, const B: usize, const APPLY: bool, const PROJECT: bool>(
        &mut self,
        pending: &Pending,
        x: &[S::f64s; N],
        k: &mut [S::f64s; N],
    ) -> S::f64s {
        let simd = self.simd;
        let start = (B - 1) * S::F64_LANES;
        // Columns after the last one add nothing: their steps and variances are zero. With few
        // lanes they cost less than a loop of unknown length.
        let full = B * S::F64_LANES;
        let end = if S::F64_LANES == 8 { full.min(self.dim) } else { full }.min(MAX_DIM);
        let mut sums = [simd.splat_f64s(0.0); MAX_LANES];
        for j in start..end {
            let from = if PACKED {
                S::F64_LANES * B * (B - 1) / 2 + (j - start) * B
            } else {
                j * self.column_stride
            };
            let column = &mut self.columns[from..][..B];
            let lambda = simd.splat_f64s(pending.lambda[j]);
            let v = simd.splat_f64s(pending.v[j]);
            let mut sum = simd.splat_f64s(0.0);
            for r in 0..B {
                let mut entries = column[r];
                if APPLY {
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
