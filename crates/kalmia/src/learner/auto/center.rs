//! Features less their centers, in units of feature 0.

/// $x_j \mathrel{-}= \mu_jx_0$.
pub(super) fn center(centers: &[f64], x: &mut [f64]) {
    let first = x.first().copied().unwrap_or(0.0);
    x.iter_mut().zip(centers).for_each(|(x, center)| *x -= center * first);
}

/// $\sum_j a_jb_j$ over the shorter of the two.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
