//! Averaged stochastic gradient descent with a fixed horizon (Bach), all horizons of a figure in
//! one pass over the rows.

use super::{exp_abs, residual};
use crate::lanes::{V, dispatch, dot};
use crate::world::{Block, D};
use std::ops::Range;

/// One run with horizon $N$: constant step $\gamma(N)$, average of $\theta_1=0,\dots,\theta_N$.
#[derive(Debug, Clone)]
struct Run {
    horizon: u64,
    gamma: V,
    theta: [V; D],
    sum: [V; D],
}

/// The runs for every plotted $N$, each from the first row.
#[derive(Debug, Clone)]
pub struct Asgd {
    runs: Vec<Run>,
    rows: u64,
    finished: usize,
}

impl Asgd {
    /// A run for each of the ascending `horizons`, with step `gamma(N)`.
    pub fn new(horizons: &[u64], gamma: impl Fn(f64) -> f64) -> Self {
        let run = |&horizon: &u64| Run {
            horizon,
            gamma: V::splat(gamma(horizon as f64)),
            theta: [V::ZERO; D],
            sum: [V::ZERO; D],
        };
        Self { runs: horizons.iter().map(run).collect(), rows: 0, finished: 0 }
    }

    /// The paper's step without knowledge of $\theta^*$: $1/(2d\sqrt N)$.
    pub fn plain(horizons: &[u64]) -> Self {
        Self::new(horizons, |n| 1.0 / (2.0 * D as f64 * n.sqrt()))
    }

    /// The paper's oracle step $\|\theta^*\|/\sqrt{dN}$.
    pub fn oracle(horizons: &[u64], norm: f64) -> Self {
        Self::new(horizons, |n| norm / (D as f64 * n).sqrt())
    }

    /// Learns the rows of a range of the block, in every run that has not reached its horizon.
    pub fn learn(&mut self, block: &Block, rows: Range<usize>) {
        dispatch(
            #[inline(always)]
            || self.run(block, rows),
        );
    }

    #[inline(always)]
    fn run(&mut self, block: &Block, rows: Range<usize>) {
        for run in &mut self.runs[self.finished..] {
            let left = run.horizon.saturating_sub(self.rows).min(rows.len() as u64) as usize;
            for at in rows.start..rows.start + left {
                let (x, y) = (&block.x[at], block.y[at]);
                let m = dot(&run.theta, x);
                let step = run.gamma * residual(y, m, exp_abs(m));
                for ((theta, sum), xj) in run.theta.iter_mut().zip(&mut run.sum).zip(x) {
                    *sum += *theta;
                    *theta = step.mul_add(*xj, *theta);
                }
            }
        }
        self.rows += rows.len() as u64;
        while self.runs.get(self.finished).is_some_and(|run| run.horizon <= self.rows) {
            self.finished += 1;
        }
    }

    /// The average of the run whose horizon is number `index`, once it is reached.
    pub fn average(&self, index: usize) -> [V; D] {
        let run = &self.runs[index];
        let scale = V::splat(1.0 / run.horizon as f64);
        run.sum.map(|s| s * scale)
    }
}
