//! The batch maximum likelihood of logistic regression, by Newton's method.

use crate::lanes::dispatch;
use crate::matrix::{add_square, dot};
use kalmia::internals::{cholesky_lower, solve_cholesky};

/// $\arg\max_\theta \prod_t p_\theta(y_t\mid x_t)$ over rows with targets -1 and 1, from `start`;
/// `None` if a hyperplane separates the targets, because then no maximum exists.
pub fn maximum_likelihood(x: &[f64], y: &[f64], start: &[f64]) -> Option<Vec<f64>> {
    let d = start.len();
    let mut theta = start.to_vec();
    let mut here = Expansion::at(x, y, &theta);
    for _ in 0..100 {
        if here.smallest_margin > 0.0 {
            return None;
        }
        let mut factor = here.hessian.clone();
        cholesky_lower(&mut factor, d, "Hessian").ok()?;
        let mut step = here.gradient.clone();
        solve_cholesky(&factor, d, &mut step);
        let decrement = dot(&step, &here.gradient);
        if decrement < 1e-16 * y.len() as f64 {
            return Some(theta);
        }
        let mut scale = 1.0;
        loop {
            let trial: Vec<f64> = theta.iter().zip(&step).map(|(t, s)| t - scale * s).collect();
            let there = Expansion::at(x, y, &trial);
            // Near the maximum the gain is below the rounding of the sum: a shorter step would not
            // help.
            if there.loss <= here.loss * (1.0 + 1e-12) || scale < 1e-6 {
                (theta, here) = (trial, there);
                break;
            }
            scale *= 0.5;
        }
    }
    None
}

/// Total loss and its derivatives at $\theta$, with the smallest margin $y\,\theta^\top x$.
struct Expansion {
    loss: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    smallest_margin: f64,
}

impl Expansion {
    fn at(x: &[f64], y: &[f64], theta: &[f64]) -> Self {
        dispatch(
            #[inline(always)]
            || Self::over_rows(x, y, theta),
        )
    }

    #[inline(always)]
    fn over_rows(x: &[f64], y: &[f64], theta: &[f64]) -> Self {
        let d = theta.len();
        let mut sum = Expansion {
            loss: 0.0,
            gradient: vec![0.0; d],
            hessian: vec![0.0; d * d],
            smallest_margin: f64::INFINITY,
        };
        for (x, &y) in x.chunks_exact(d).zip(y) {
            let margin = y * dot(x, theta);
            let e = (-margin.abs()).exp();
            let r = 1.0 / (1.0 + e);
            sum.smallest_margin = sum.smallest_margin.min(margin);
            sum.loss += (-margin).max(0.0) + e.ln_1p();
            let first = -y * if margin >= 0.0 { e * r } else { r };
            let second = e * r * r;
            sum.gradient.iter_mut().zip(x).for_each(|(g, x)| *g += first * x);
            add_square(&mut sum.hessian, x, second);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Block, D, World};

    #[test]
    fn the_gradient_vanishes_at_the_maximum() {
        let mut block = Block::new(2000);
        block.fill(World::Weak, &mut World::Weak.streams(9, 0));
        let x: Vec<f64> = block.x.iter().flat_map(|x| x.map(|v| v.0[2])).collect();
        let y: Vec<f64> = block.y.iter().map(|y| y.0[2]).collect();
        let theta = maximum_likelihood(&x, &y, &[0.0; D]).unwrap();
        let expansion = Expansion::at(&x, &y, &theta);
        assert!(expansion.gradient.iter().all(|g| g.abs() < 1e-4), "{:?}", expansion.gradient);
        let again = maximum_likelihood(&x, &y, &[1.0; D]).unwrap();
        theta.iter().zip(again).for_each(|(a, b)| assert!((a - b).abs() < 1e-6));
        // The first rows can be separated by a hyperplane: more coordinates than rows.
        assert!(maximum_likelihood(&x[..8 * D], &y[..8], &[0.0; D]).is_none());
    }
}
