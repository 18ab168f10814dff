//! Products of many rows with a vector.

use pulp::{Arch, Simd, WithSimd};

/// `sums[i] = x_i'theta` for rows of `dim` numbers that follow each other; `theta` has at least
/// `dim` numbers.
pub(crate) fn row_products(x: &[f64], dim: usize, theta: &[f64], sums: &mut [f64]) {
    debug_assert_eq!(x.len(), dim * sums.len());
    if dim == 0 {
        return sums.fill(0.0);
    }
    Arch::new().dispatch(RowProducts { x, theta: &theta[..dim], sums });
}

struct RowProducts<'a> {
    x: &'a [f64],
    theta: &'a [f64],
    sums: &'a mut [f64],
}

impl WithSimd for RowProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (theta, theta_tail) = S::as_simd_f64s(self.theta);
        for (row, sum) in self.x.chunks_exact(self.theta.len()).zip(self.sums) {
            let (row, row_tail) = S::as_simd_f64s(row);
            // four sums: an addition does not wait for the previous one
            let mut sums = [simd.splat_f64s(0.0); 4];
            let mut rows = row.chunks_exact(4);
            let mut thetas = theta.chunks_exact(4);
            for (row, theta) in (&mut rows).zip(&mut thetas) {
                for (sum, (row, theta)) in sums.iter_mut().zip(row.iter().zip(theta)) {
                    *sum = simd.mul_add_f64s(*row, *theta, *sum);
                }
            }
            for (row, theta) in rows.remainder().iter().zip(thetas.remainder()) {
                sums[0] = simd.mul_add_f64s(*row, *theta, sums[0]);
            }
            let [a, b, c, d] = sums;
            let whole = simd.add_f64s(simd.add_f64s(a, b), simd.add_f64s(c, d));
            let tail: f64 = row_tail.iter().zip(theta_tail).map(|(x, theta)| x * theta).sum();
            *sum = simd.reduce_sum_f64s(whole) + tail;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_the_plain_sums_at_every_length() {
        for dim in (1..40).chain([63, 64, 65, 200]) {
            let x: Vec<f64> = (0..3 * dim).map(|i| (i * 7 % 23) as f64 - 11.0).collect();
            let theta: Vec<f64> = (0..dim + 2).map(|i| (i * 5 % 17) as f64 - 8.0).collect();
            let mut sums = [f64::NAN; 3];
            row_products(&x, dim, &theta, &mut sums);
            for (row, sum) in x.chunks(dim).zip(sums) {
                assert_eq!(sum, row.iter().zip(&theta).map(|(x, t)| x * t).sum::<f64>());
            }
        }
    }
}
