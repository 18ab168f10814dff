//! The sweep of the factored form: applies one or two rows to `U` and projects the next.

// one index runs over the vectors of several rows and columns
#![allow(clippy::needless_range_loop)]

use crate::covariance::pairs::Columns;
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

/// A row as a sweep sees it. Slices taken once per sweep: through the row itself each step of the
/// inner loop would load their pointers anew.
pub(super) struct RowSlices<'a, S: Simd> {
    x: &'a [S::f64s],
    f: &'a mut [f64],
    v: &'a [f64],
    lambda: &'a [f64],
    k: &'a mut [S::f64s],
}

impl<'a, S: Simd> RowSlices<'a, S> {
    #[inline(always)]
    pub fn new(row: &'a mut Row) -> Self {
        let Row { x, f, v, lambda, k } = row;
        Self { x: S::as_simd_f64s(x).0, f, v, lambda, k: S::as_mut_simd_f64s(k).0 }
    }
}

/// Column by column, applies $u_j \leftarrow u_j + \lambda_j k$, $k \leftarrow k + v_j
/// u_j^{\mathrm{old}}$ for each of one or two rows (with `APPLY`), then projects $f_j \leftarrow
/// u_j^\top x$ for each of the next rows (with `PREPARE`).
#[inline(always)]
pub(super) fn sweep<
    S: Simd,
    const G: usize,
    const R: usize,
    const APPLY: bool,
    const PREPARE: bool,
>(
    simd: S,
    u: &mut [f64],
    dim: usize,
    stride: usize,
    mut rows: [RowSlices<'_, S>; R],
) {
    if APPLY {
        for row in &mut rows {
            row.k.fill(simd.splat_f64s(0.0));
        }
    }
    let groups = u.chunks_exact_mut(G * stride).take(dim.div_ceil(G));
    for (index, columns) in groups.enumerate() {
        let j = index * G;
        let end = (j + G).div_ceil(S::F64_LANES);
        let columns = Columns::new(columns, stride, G);
        let mut group = Group::<S, G, R>::new(simd, &rows, j);
        group.lines::<APPLY, PREPARE>(columns, &mut rows, end);
        if PREPARE {
            for i in 0..R {
                vector::reduce(simd, group.f[i], &mut rows[i].f[j..]);
            }
        }
    }
}

/// What a sweep holds for a group of columns $j$, per row.
struct Group<S: Simd, const G: usize, const R: usize> {
    simd: S,
    v: [[S::f64s; G]; R],
    lambda: [[S::f64s; G]; R],
    /// $u_j^\top x$ in partial sums.
    f: [[S::f64s; G]; R],
}

/// What a sweep holds for a register of lines, per row.
struct Line<S: Simd, const R: usize> {
    k: [S::f64s; R],
    x: [S::f64s; R],
}

impl<S: Simd, const G: usize, const R: usize> Group<S, G, R> {
    #[inline(always)]
    fn new(simd: S, rows: &[RowSlices<'_, S>; R], j: usize) -> Self {
        let zeros = [[simd.splat_f64s(0.0); G]; R];
        let mut group = Self { simd, v: zeros, lambda: zeros, f: zeros };
        for i in 0..R {
            group.v[i] = vector::splats(simd, 1.0, &rows[i].v[j..]);
            group.lambda[i] = vector::splats(simd, 1.0, &rows[i].lambda[j..]);
        }
        group
    }

    /// The first `end` registers of the columns.
    #[inline(always)]
    fn lines<const APPLY: bool, const PREPARE: bool>(
        &mut self,
        mut columns: Columns<'_, S>,
        rows: &mut [RowSlices<'_, S>; R],
        end: usize,
    ) {
        // checked here and not in each step of the loop
        assert!(columns.reach(end));
        for row in rows.iter() {
            assert!(end <= row.k.len() && end <= row.x.len());
        }
        for r in 0..end {
            let zero = [self.simd.splat_f64s(0.0); R];
            let mut line = Line { k: zero, x: zero };
            for i in 0..R {
                // SAFETY: the vectors of a row have `end` registers.
                unsafe {
                    line.k[i] = *rows[i].k.get_unchecked(r);
                    line.x[i] = *rows[i].x.get_unchecked(r);
                }
            }
            for g in 0..G {
                // SAFETY: there are `G` columns of `end` registers.
                let stored = unsafe { columns.register(g, r) };
                self.entries::<APPLY, PREPARE>(g, stored, &mut line);
            }
            if APPLY {
                for i in 0..R {
                    // SAFETY: as above.
                    unsafe { *rows[i].k.get_unchecked_mut(r) = line.k[i] };
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
