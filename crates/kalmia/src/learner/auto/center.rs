//! Features less their centers, in units of feature 0.

/// $x_j \mathrel{-}= \mu_jx_0$.
pub(super) fn center(centers: &[f64], x: &mut [f64]) {
    let first = x.first().copied().unwrap_or(0.0);
    x.iter_mut().zip(centers).for_each(|(x, center)| *x -= center * first);
}
