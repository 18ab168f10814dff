//! Algorithms 1 and 2 and the Kalman filter: one recursion, three scalar rules.

use super::{Belief, exp_abs, place};
use crate::lanes::{V, dispatch, dot};
use crate::world::{Block, D};
use std::ops::Range;

/// The scalar step of one row.
///
/// Chosen at run time: the branch costs little beside the work on eight replicates, and the long
/// straight-line code of the recursion is compiled once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Algorithm 1, $\alpha = \ell''(m)$.
    Ekf,
    /// Algorithm 2, $\alpha_t = \max(\ell''(m), c\,t^{-\beta})$.
    Truncated {
        /// $c$: 1 in the paper, $10^{-10}$ in Bercu, Godichon and Portier.
        scale: f64,
        /// $\beta$, 0.49 in both.
        beta: f64,
    },
    /// The Kalman filter, $\ell = (y-u)^2/2$.
    Kalman,
}

/// $\theta \mathrel{+}= \text{gain}\;Px$, $P \mathrel{-}= \text{contraction}\;(Px)(Px)^\top$.
struct Step {
    gain: V,
    contraction: V,
}

impl Rule {
    /// A threshold that is not below that of any row from time `t` on; 0 without truncation.
    fn threshold(self, t: u64) -> f64 {
        match self {
            Rule::Truncated { scale, beta } => scale * (t as f64).powf(-beta),
            _ => 0.0,
        }
    }

    /// The step for the row at time `t` (from 1); `ceiling` is the threshold at an earlier time, or
    /// at this one.
    #[inline(always)]
    fn step(self, y: V, m: V, s: V, t: u64, ceiling: V) -> Step {
        match self {
            // With e = exp(-|m|), alpha = e/(1+e)^2, so gain and contraction have the common
            // denominator (1+e)^2 + e s.
            Rule::Ekf => {
                let e = exp_abs(m);
                let one_e = V::ONE + e;
                let q = one_e.mul_add(one_e, e * s).recip();
                let gain = (y * m).select(e, V::ONE) * one_e * q * y;
                Step { gain, contraction: e * q }
            }
            Rule::Truncated { .. } => {
                let e = exp_abs(m);
                let r = (V::ONE + e).recip();
                let mut alpha = e * r * r;
                // Powers are slow; above the ceiling in every lane there is nothing to truncate.
                if (alpha - ceiling).0.iter().any(|&gap| gap < 0.0) {
                    alpha = alpha.max(V::splat(self.threshold(t)));
                }
                let q = alpha.mul_add(s, V::ONE).recip();
                let gain = (y * m).select(e * r, r) * q * y;
                Step { gain, contraction: alpha * q }
            }
            Rule::Kalman => {
                let q = (V::ONE + s).recip();
                Step { gain: (y - m) * q, contraction: q }
            }
        }
    }
}

/// Prediction and coefficients of a filter before each row that it learned.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// $m = \hat\theta_t^\top x_t$.
    pub predictions: Vec<V>,
    /// $\hat\theta_t$.
    pub theta: Vec<[V; D]>,
}

/// $\hat\theta_t$ and $P_t$ of eight replicates, from $\hat\theta_1 = 0$, $P_1 = p_1 I$.
#[derive(Debug, Clone)]
pub struct Filter {
    rule: Rule,
    theta: [V; D],
    sum: [V; D],
    belief: Belief,
    rows: u64,
}

impl Filter {
    /// From $\hat\theta_1 = 0$ and $P_1 = p_1 I$.
    pub fn new(rule: Rule, p1: f64) -> Self {
        Self { rule, theta: [V::ZERO; D], sum: [V::ZERO; D], belief: Belief::new(p1), rows: 0 }
    }

    /// Learns the rows of a range of the block.
    pub fn learn(&mut self, block: &Block, rows: Range<usize>) {
        self.learn_traced(block, rows, None);
    }

    /// Learns like [`Filter::learn`] and replaces the content of `trace`.
    pub fn learn_traced(&mut self, block: &Block, rows: Range<usize>, trace: Option<&mut Trace>) {
        dispatch(
            #[inline(always)]
            || self.learn_rows(block, rows, trace),
        );
    }

    #[inline(always)]
    fn learn_rows(&mut self, block: &Block, rows: Range<usize>, mut trace: Option<&mut Trace>) {
        if let Some(trace) = &mut trace {
            trace.predictions.clear();
            trace.theta.clear();
        }
        let ceiling = V::splat(self.rule.threshold(self.rows + 1));
        for (x, &y) in block.x[rows.clone()].iter().zip(&block.y[rows]) {
            self.rows += 1;
            let s = self.belief.multiply_row(x);
            let m = dot(&self.theta, x);
            if let Some(trace) = &mut trace {
                trace.predictions.push(m);
                trace.theta.push(self.theta);
            }
            let step = self.rule.step(y, m, s, self.rows, ceiling);
            self.belief.contract(step.contraction);
            for j in 0..D {
                self.sum[j] += self.theta[j];
                self.theta[j] = step.gain.mul_add(self.belief.u[j], self.theta[j]);
            }
        }
    }

    /// $\hat\theta_{n+1}$ after $n$ rows.
    pub fn last(&self) -> [V; D] {
        self.theta
    }

    /// $(\hat\theta_1+\dots+\hat\theta_n)/n$.
    pub fn average(&self) -> [V; D] {
        let scale = V::splat(1.0 / self.rows as f64);
        self.sum.map(|s| s * scale)
    }

    /// $P$ of one lane, as a full matrix.
    pub fn covariance(&self, lane: usize) -> [[f64; D]; D] {
        let p = self.belief.matrix();
        std::array::from_fn(|i| std::array::from_fn(|j| p[place(i.min(j), i.max(j))].0[lane]))
    }
}
