//! The sweep of the factored form: applies one or two rows to `U` and projects the next.

use crate::covariance::pairs::{GROUP, split_columns};
use crate::linalg::{Buffer, vector};
use pulp::Simd;

/// The vectors of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub x: Buffer,
    /// $f = U^\top x$.
    pub f: Buffer,
    /// $v = Df$.
    pub v: Buffer,
    pub lambda: Buffer,
    /// $k = Px$, built up column by column.
    pub k: Buffer,
}

/// Column by column, applies $u_j \leftarrow u_j + \lambda_j k$, $k \leftarrow k + v_j
/// u_j^{\mathrm{old}}$ for each of one or two rows (with `APPLY`), then projects $f_j \leftarrow
/// u_j^\top x$ for each of the next rows (with `PREPARE`).
#[inline(always)]
pub(super) fn sweep<S: Simd, const R: usize, const APPLY: bool, const PREPARE: bool>(
    simd: S,
    u: &mut [f64],
    dim: usize,
    stride: usize,
    mut rows: [&mut Row; R],
) {
    if APPLY {
        for row in &mut rows {
            vector::clear(simd, &mut row.k);
        }
    }
    let groups = u.chunks_exact_mut(GROUP * stride).take(dim.div_ceil(GROUP));
    for (index, columns) in groups.enumerate() {
        let j = index * GROUP;
        let end = (j + GROUP).div_ceil(S::F64_LANES);
        let columns = split_columns::<S>(columns, stride, end);
        let mut group = Group::<S, R>::new(simd, &rows, j);
        group.lines::<APPLY, PREPARE>(columns, &mut rows, end);
        if PREPARE {
            for (row, f) in rows.iter_mut().zip(group.f) {
                vector::reduce4(simd, f, &mut row.f[j..]);
            }
        }
    }
}

/// What a sweep holds for a group of columns $j$, per row.
struct Group<S: Simd, const R: usize> {
    simd: S,
    v: [[S::f64s; GROUP]; R],
    lambda: [[S::f64s; GROUP]; R],
    /// $u_j^\top x$ in partial sums.
    f: [[S::f64s; GROUP]; R],
}

/// What a sweep holds for a register of lines, per row.
struct Line<S: Simd, const R: usize> {
    k: [S::f64s; R],
    x: [S::f64s; R],
}

impl<S: Simd, const R: usize> Group<S, R> {
    #[inline(always)]
    fn new(simd: S, rows: &[&mut Row; R], j: usize) -> Self {
        let zeros = [[simd.splat_f64s(0.0); GROUP]; R];
        let mut group = Self { simd, v: zeros, lambda: zeros, f: zeros };
        for (i, row) in rows.iter().enumerate() {
            group.v[i] = vector::splat4(simd, 1.0, &row.v[j..]);
            group.lambda[i] = vector::splat4(simd, 1.0, &row.lambda[j..]);
        }
        group
    }

    /// The first `end` registers of the columns.
    #[inline(always)]
    fn lines<const APPLY: bool, const PREPARE: bool>(
        &mut self,
        [c0, c1, c2, c3]: [&mut [S::f64s]; GROUP],
        rows: &mut [&mut Row; R],
        end: usize,
    ) {
        for r in 0..end {
            let zero = [self.simd.splat_f64s(0.0); R];
            let mut line = Line { k: zero, x: zero };
            for (i, row) in rows.iter().enumerate() {
                line.k[i] = S::as_simd_f64s(&row.k).0[r];
                line.x[i] = S::as_simd_f64s(&row.x).0[r];
            }
            self.entries::<APPLY, PREPARE>(0, &mut c0[r], &mut line);
            self.entries::<APPLY, PREPARE>(1, &mut c1[r], &mut line);
            self.entries::<APPLY, PREPARE>(2, &mut c2[r], &mut line);
            self.entries::<APPLY, PREPARE>(3, &mut c3[r], &mut line);
            if APPLY {
                for (row, k) in rows.iter_mut().zip(line.k) {
                    S::as_mut_simd_f64s(&mut row.k).0[r] = k;
                }
            }
        }
    }

    /// One register of column `g` of the group.
    #[inline(always)]
    fn entries<const APPLY: bool, const PREPARE: bool>(
        &mut self,
        g: usize,
        stored: &mut S::f64s,
        line: &mut Line<S, R>,
    ) {
        let simd = self.simd;
        let mut entries = *stored;
        if APPLY {
            for i in 0..R {
                let old = entries;
                entries = simd.mul_add_f64s(self.lambda[i][g], line.k[i], old);
                line.k[i] = simd.mul_add_f64s(self.v[i][g], old, line.k[i]);
            }
            *stored = entries;
        }
        if PREPARE {
            for i in 0..R {
                self.f[i][g] = simd.mul_add_f64s(entries, line.x[i], self.f[i][g]);
            }
        }
    }
}
