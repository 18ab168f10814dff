//! Matrix products on strided views, by the `gemm` kernels chosen at run time.

use gemm_common::Parallelism;

/// How many cores a product may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(pub usize);

impl Threads {
    /// One core.
    pub const ONE: Threads = Threads(1);

    fn parallelism(self) -> Parallelism {
        if self.0 <= 1 { Parallelism::None } else { Parallelism::Rayon(self.0) }
    }
}

/// A read-only matrix with element `(i, j)` at `data[i * row + j * col]`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub data: &'a [f64],
    pub rows: usize,
    pub cols: usize,
    pub row: usize,
    pub col: usize,
}

/// A column-major matrix to be written, with columns `col` apart.
pub(crate) struct ViewMut<'a> {
    pub data: &'a mut [f64],
    pub rows: usize,
    pub cols: usize,
    pub col: usize,
}

impl<'a> View<'a> {
    /// Column-major, columns `col` apart.
    #[inline]
    pub fn columns(data: &'a [f64], rows: usize, cols: usize, col: usize) -> Self {
        Self { data, rows, cols, row: 1, col }
    }

    /// The transpose.
    #[inline]
    pub fn t(self) -> Self {
        Self { data: self.data, rows: self.cols, cols: self.rows, row: self.col, col: self.row }
    }

    fn fits(&self) -> bool {
        self.rows == 0 || self.cols == 0 || (self.rows - 1) * self.row + (self.cols - 1) * self.col < self.data.len()
    }
}

impl<'a> ViewMut<'a> {
    /// Column-major, columns `col` apart.
    #[inline]
    pub fn columns(data: &'a mut [f64], rows: usize, cols: usize, col: usize) -> Self {
        Self { data, rows, cols, col }
    }
}

/// `dst = keep * dst + scale * lhs * rhs`, with `keep` 0 or 1.
#[inline]
pub(crate) fn multiply(dst: ViewMut<'_>, keep: bool, scale: f64, lhs: View<'_>, rhs: View<'_>, threads: Threads) {
    assert!(dst.rows == lhs.rows && dst.cols == rhs.cols && lhs.cols == rhs.rows, "shapes of a product");
    let written = View { data: dst.data, rows: dst.rows, cols: dst.cols, row: 1, col: dst.col };
    assert!(lhs.fits() && rhs.fits() && written.fits(), "bounds of a product");
    if dst.rows == 0 || dst.cols == 0 {
        return;
    }
    // SAFETY: the three views lie within their slices (asserted above), and `dst` is borrowed uniquely.
    unsafe {
        gemm_f64::gemm::f64::get_gemm_fn()(
            dst.rows,
            dst.cols,
            lhs.cols,
            dst.data.as_mut_ptr(),
            dst.col as isize,
            1,
            keep,
            lhs.data.as_ptr(),
            lhs.col as isize,
            lhs.row as isize,
            rhs.data.as_ptr(),
            rhs.col as isize,
            rhs.row as isize,
            1.0,
            scale,
            false,
            false,
            false,
            threads.parallelism(),
        );
    }
}

/// `c = a * b` for square column-major matrices on one core: the yardstick of the benchmarks.
pub fn square_product(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    multiply(ViewMut::columns(c, n, n, n), false, 1.0, View::columns(a, n, n, n), View::columns(b, n, n, n), Threads::ONE);
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
        let mut c = vec![1.0; 4 * 3];
        multiply(ViewMut::columns(&mut c, 4, 3, 4), true, -2.0, lhs, rhs, Threads::ONE);
        for i in 0..4 {
            for j in 0..3 {
                let sum: f64 = (0..5).map(|k| a[i + 7 * k] * b[j + 7 * k]).sum();
                assert_eq!(c[i + 4 * j], 1.0 - 2.0 * sum);
            }
        }
    }
}
