//! Matrix products on strided views, by the `gemm` kernels chosen at run time.

use super::gemm_kernel::{self, GemmKernel};
use gemm_common::Parallelism;
use std::marker::PhantomData;
use std::ops::Range;

/// A read-only matrix with element `(i, j)` at `data[i * row + j * col]`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    data: *const f64,
    rows: usize,
    cols: usize,
    row: usize,
    col: usize,
    life: PhantomData<&'a [f64]>,
}

/// A column-major matrix to be written, with columns `col` apart. Unlike a slice, it can be split
/// by rows.
pub(crate) struct ViewMut<'a> {
    data: *mut f64,
    rows: usize,
    cols: usize,
    col: usize,
    life: PhantomData<&'a mut [f64]>,
}

// SAFETY: shared and read-only, like `&[f64]`.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}
// SAFETY: exclusive, like `&mut [f64]`.
unsafe impl Send for ViewMut<'_> {}

/// Whether columns of `rows` numbers, `col` apart, lie within `len` numbers.
fn fits(rows: usize, cols: usize, col: usize, len: usize) -> bool {
    rows == 0 || cols == 0 || rows - 1 + (cols - 1) * col < len
}

impl<'a> View<'a> {
    /// Column-major, columns `col` apart.
    #[inline]
    pub fn columns(data: &'a [f64], rows: usize, cols: usize, col: usize) -> Self {
        assert!(fits(rows, cols, col, data.len()), "bounds of a matrix");
        Self { data: data.as_ptr(), rows, cols, row: 1, col, life: PhantomData }
    }

    /// The columns of a range.
    #[inline]
    pub fn cols(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.cols, "columns of a matrix");
        let offset = if range.is_empty() { 0 } else { range.start * self.col };
        // SAFETY: the first element of a part that is not empty lies within the view; an empty part
        // is never read.
        Self { data: unsafe { self.data.add(offset) }, cols: range.len(), ..self }
    }

    /// The transpose.
    #[inline]
    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row: self.col, col: self.row, ..self }
    }
}

impl<'a> ViewMut<'a> {
    /// Column-major, columns `col` apart.
    #[inline]
    pub fn columns(data: &'a mut [f64], rows: usize, cols: usize, col: usize) -> Self {
        assert!(
            fits(rows, cols, col, data.len()) && (rows <= col || cols <= 1),
            "bounds of a matrix"
        );
        Self { data: data.as_mut_ptr(), rows, cols, col, life: PhantomData }
    }

    /// The rows and columns of two ranges.
    #[inline]
    pub fn part(&mut self, rows: Range<usize>, cols: Range<usize>) -> ViewMut<'_> {
        assert!(
            rows.start <= rows.end
                && rows.end <= self.rows
                && cols.start <= cols.end
                && cols.end <= self.cols,
            "part of a matrix"
        );
        let offset =
            if rows.is_empty() || cols.is_empty() { 0 } else { rows.start + cols.start * self.col };
        // SAFETY: the first element of a part that is not empty lies within the view; an empty part
        // is never read or written.
        let data = unsafe { self.data.add(offset) };
        ViewMut { data, rows: rows.len(), cols: cols.len(), col: self.col, life: PhantomData }
    }

    /// The first `at` rows, and the others.
    pub fn split_rows(self, at: usize) -> (Self, Self) {
        assert!(at <= self.rows, "rows of a matrix");
        let offset = if at == self.rows { 0 } else { at };
        // SAFETY: within the view as in `part`; the two sides share no element, because they have
        // different rows and columns do not overlap.
        let below = unsafe { self.data.add(offset) };
        (
            Self { rows: at, ..self },
            Self {
                data: below,
                rows: self.rows - at,
                cols: self.cols,
                col: self.col,
                life: PhantomData,
            },
        )
    }

    /// The rows of column `j`.
    #[inline]
    pub fn column(&mut self, j: usize) -> &mut [f64] {
        assert!(j < self.cols, "column of a matrix");
        // SAFETY: the rows of a column are contiguous within the view, which is borrowed
        // exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(j * self.col), self.rows) }
    }

    /// The same matrix, read-only.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            row: 1,
            col: self.col,
            life: PhantomData,
        }
    }
}

/// `dst = keep * dst + scale * lhs * rhs`, with `keep` 0 or 1, on this core.
#[inline]
pub(crate) fn multiply(dst: ViewMut<'_>, keep: bool, scale: f64, lhs: View<'_>, rhs: View<'_>) {
    multiply_by(gemm_kernel::chosen(), dst, keep, scale, lhs, rhs);
}

#[inline]
fn multiply_by(
    kernel: GemmKernel,
    dst: ViewMut<'_>,
    keep: bool,
    scale: f64,
    lhs: View<'_>,
    rhs: View<'_>,
) {
    assert!(
        dst.rows == lhs.rows && dst.cols == rhs.cols && lhs.cols == rhs.rows,
        "shapes of a product"
    );
    if dst.rows == 0 || dst.cols == 0 {
        return;
    }
    // SAFETY: each view lies within the slice that it was made from, and `dst` is exclusive.
    unsafe {
        kernel(
            dst.rows,
            dst.cols,
            lhs.cols,
            dst.data,
            dst.col as isize,
            1,
            keep,
            lhs.data,
            lhs.col as isize,
            lhs.row as isize,
            rhs.data,
            rhs.col as isize,
            rhs.row as isize,
            1.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// `c = a * b` for square column-major matrices on one core. Benchmarks report speeds as a share of
/// this one.
pub fn square_product(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    multiply(
        ViewMut::columns(c, n, n, n),
        false,
        1.0,
        View::columns(a, n, n, n),
        View::columns(b, n, n, n),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_of_strided_views_is_the_plain_sum() {
        let a: Vec<f64> = (0..35).map(|i| (i * 7 % 11) as f64 - 5.0).collect();
        let b: Vec<f64> = (0..35).map(|i| (i * 5 % 13) as f64 - 6.0).collect();
        // a: 4 x 5 (columns 7 apart), b': 5 x 3 from 3 x 5 (columns 7 apart)
        let lhs = View::columns(&a, 4, 5, 7);
        let rhs = View::columns(&b, 3, 5, 7).t();
        for kernel in gemm_kernel::all() {
            let mut c = vec![1.0; 4 * 3];
            multiply_by(kernel, ViewMut::columns(&mut c, 4, 3, 4), true, -2.0, lhs, rhs);
            for i in 0..4 {
                for j in 0..3 {
                    let sum: f64 = (0..5).map(|k| a[i + 7 * k] * b[j + 7 * k]).sum();
                    assert_eq!(c[i + 4 * j], 1.0 - 2.0 * sum);
                }
            }
        }
    }

    #[test]
    fn parts_are_where_they_should_be() {
        let mut data: Vec<f64> = (0..20).map(f64::from).collect();
        // 4 x 4, columns 5 apart
        let (mut above, mut below) = ViewMut::columns(&mut data, 4, 4, 5).split_rows(1);
        assert_eq!(
            (above.column(3).to_vec(), below.column(1).to_vec()),
            (vec![15.0], vec![6.0, 7.0, 8.0])
        );
        below.part(1..3, 2..4).column(1).fill(-1.0);
        above.part(0..1, 0..1).column(0)[0] = -2.0;
        assert_eq!((data[0], data[17], data[18], data[16]), (-2.0, -1.0, -1.0, 16.0));
    }

    #[test]
    fn columns_of_a_view_are_where_they_should_be() {
        let data: Vec<f64> = (0..12).map(f64::from).collect();
        // rows 1 and 2 of 3 x 4 as columns, times one vector
        let rows = View::columns(&data, 3, 4, 3).t().cols(1..3);
        let mut sums = [0.0; 2];
        multiply(
            ViewMut::columns(&mut sums, 2, 1, 2),
            false,
            1.0,
            rows.t(),
            View::columns(&[1.0; 4], 4, 1, 4),
        );
        assert_eq!(sums, [1.0 + 4.0 + 7.0 + 10.0, 2.0 + 5.0 + 8.0 + 11.0]);
    }

    #[test]
    #[should_panic(expected = "bounds of a matrix")]
    fn a_view_beyond_its_numbers_is_refused() {
        ViewMut::columns(&mut [0.0; 7], 2, 3, 3);
    }
}
