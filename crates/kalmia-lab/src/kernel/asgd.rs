//! Averaged stochastic gradient descent with a fixed horizon (Bach), all horizons of a figure in
//! one pass over the rows.

use super::{exp_abs, residual};
use crate::lanes::{V, dispatch, dot};
use crate::world::{Block, D};
use std::ops::Range;

/// Gradient descent with horizon $N$: constant step $\gamma(N)$, average of
/// $\theta_1=0,\dots,\theta_N$.
#[derive(Debug, Clone)]
struct Descent {
    horizon: u64,
    gamma: V,
    theta: [V; D],
    sum: [V; D],
}

/// One descent per plotted $N$, each from the first row.
#[derive(Debug, Clone)]
pub struct Asgd {
    descents: Vec<Descent>,
    rows: u64,
    /// How many of the descents have reached their horizon.
    finished: usize,
}

impl Asgd {
    /// A descent for each of the ascending `horizons`, with step `gamma(N)`.
    pub fn new(horizons: &[u64], gamma: impl Fn(f64) -> f64) -> Self {
        let descent = |&horizon: &u64| Descent {
            horizon,
            gamma: V::splat(gamma(horizon as f64)),
            theta: [V::ZERO; D],
            sum: [V::ZERO; D],
        };
        Self { descents: horizons.iter().map(descent).collect(), rows: 0, finished: 0 }
    }

    /// The paper's step without knowledge of $\theta^*$: $1/(2d\sqrt N)$.
    pub fn plain(horizons: &[u64]) -> Self {
        Self::new(horizons, |n| 1.0 / (2.0 * D as f64 * n.sqrt()))
    }

    /// The paper's oracle step $\|\theta^*\|/\sqrt{dN}$.
    pub fn oracle(horizons: &[u64], norm: f64) -> Self {
        Self::new(horizons, |n| norm / (D as f64 * n).sqrt())
    }

    /// Learns the rows of a range of the block, in every descent that has not reached its horizon.
    pub fn learn(&mut self, block: &Block, rows: Range<usize>) {
        dispatch(
            #[inline(always)]
            || self.learn_rows(block, rows),
        );
    }

    #[inline(always)]
    fn learn_rows(&mut self, block: &Block, rows: Range<usize>) {
        for descent in &mut self.descents[self.finished..] {
            let left = descent.horizon.saturating_sub(self.rows).min(rows.len() as u64) as usize;
            for at in rows.start..rows.start + left {
                let x = &block.x[at];
                let m = dot(&descent.theta, x);
                let step = descent.gamma * residual(block.y[at], m, exp_abs(m));
                for ((theta, sum), xj) in descent.theta.iter_mut().zip(&mut descent.sum).zip(x) {
                    *sum += *theta;
                    *theta = step.mul_add(*xj, *theta);
                }
            }
        }
        self.rows += rows.len() as u64;
        while self.descents.get(self.finished).is_some_and(|d| d.horizon <= self.rows) {
            self.finished += 1;
        }
    }

    /// The average of the descent to horizon number `index`; complete once that horizon is reached.
    pub fn average(&self, index: usize) -> [V; D] {
        let descent = &self.descents[index];
        let scale = V::splat(1.0 / descent.horizon as f64);
        descent.sum.map(|s| s * scale)
    }
}
