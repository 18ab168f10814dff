//! The sweep of the factored form: applies one or two rows to `U` and projects the next.

use crate::covariance::pairs::split_columns;
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
struct RowSlices<'a> {
    x: &'a [f64],
    f: &'a mut [f64],
    v: &'a [f64],
    lambda: &'a [f64],
    k: &'a mut [f64],
}

impl<'a> RowSlices<'a> {
    #[inline(always)]
    fn new(row: &'a mut Row) -> Self {
        let Row { x, f, v, lambda, k } = row;
        Self { x, f, v, lambda, k }
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
    rows: [&mut Row; R],
) {
    let mut rows = rows.into_iter();
    let mut rows: [RowSlices<'_>; R] =
        std::array::from_fn(|_| RowSlices::new(rows.next().expect("R rows")));
    if APPLY {
        for row in &mut rows {
            vector::clear(simd, row.k);
        }
    }
    let groups = u.chunks_exact_mut(G * stride).take(dim.div_ceil(G));
    for (index, columns) in groups.enumerate() {
        let j = index * G;
        let end = (j + G).div_ceil(S::F64_LANES);
        let columns = split_columns::<S, G>(columns, stride, end);
        let mut group = Group::<S, G, R>::new(simd, &rows, j);
        group.lines::<APPLY, PREPARE>(columns, &mut rows, end);
        if PREPARE {
            for (row, f) in rows.iter_mut().zip(group.f) {
                vector::reduce(simd, f, &mut row.f[j..]);
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

/// The first registers of a row's vectors.
struct RowLines<'a, S: Simd> {
    k: &'a mut [S::f64s],
    x: &'a [S::f64s],
}

impl<'a, S: Simd> RowLines<'a, S> {
    #[inline(always)]
    fn new(row: &'a mut RowSlices<'_>, end: usize) -> Self {
        Self { k: &mut S::as_mut_simd_f64s(row.k).0[..end], x: &S::as_simd_f64s(row.x).0[..end] }
    }
}

impl<S: Simd, const G: usize, const R: usize> Group<S, G, R> {
    #[inline(always)]
    fn new(simd: S, rows: &[RowSlices<'_>; R], j: usize) -> Self {
        let zeros = [[simd.splat_f64s(0.0); G]; R];
        let mut group = Self { simd, v: zeros, lambda: zeros, f: zeros };
        for (i, row) in rows.iter().enumerate() {
            group.v[i] = vector::splats(simd, 1.0, &row.v[j..]);
            group.lambda[i] = vector::splats(simd, 1.0, &row.lambda[j..]);
        }
        group
    }

    /// The first `end` registers of the columns.
    // one index runs over the slices of several rows and columns
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn lines<const APPLY: bool, const PREPARE: bool>(
        &mut self,
        columns: [&mut [S::f64s]; G],
        rows: &mut [RowSlices<'_>; R],
        end: usize,
    ) {
        // Slices of one length: bounds are checked once, not in every step of the loop.
        let mut rows = rows.iter_mut();
        let rows: [RowLines<'_, S>; R] =
            std::array::from_fn(|_| RowLines::new(rows.next().expect("R rows"), end));
        let mut columns = columns.into_iter();
        let columns: [&mut [S::f64s]; G] =
            std::array::from_fn(|_| &mut columns.next().expect("G columns")[..end]);
        for r in 0..end {
            let zero = [self.simd.splat_f64s(0.0); R];
            let mut line = Line { k: zero, x: zero };
            for i in 0..R {
                line.k[i] = rows[i].k[r];
                line.x[i] = rows[i].x[r];
            }
            for g in 0..G {
                self.entries::<APPLY, PREPARE>(g, &mut columns[g][r], &mut line);
            }
            if APPLY {
                for i in 0..R {
                    rows[i].k[r] = line.k[i];
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
