//! Algorithms 1 and 2 and the Kalman filter: one recursion, three scalar rules.

use super::{PACKED, contract, contract_then_multiply, exp_abs, multiply, residual, scaled_identity};
use crate::lanes::{V, dispatch, dot};
use crate::world::{Block, D};
use std::ops::Range;

/// The scalar decision of one row.
pub trait Rule: Copy {
    /// $(g, c)$ of $\theta \mathrel{+}= g\,Px$, $P \mathrel{-}= c\,(Px)(Px)^\top$, for the row at time `t` (from 1).
    fn step(&self, y: V, m: V, s: V, t: u64) -> (V, V);
}

/// Algorithm 1, $\alpha = \ell''(m)$.
#[derive(Debug, Clone, Copy)]
pub struct Ekf;

impl Rule for Ekf {
    // With e = exp(-|m|), alpha = e/(1+e)^2: both g and c over the one denominator (1+e)^2 + e s.
    #[inline(always)]
    fn step(&self, y: V, m: V, s: V, _t: u64) -> (V, V) {
        let e = exp_abs(m);
        let one_e = V::ONE + e;
        let q = one_e.mul_add(one_e, e * s).recip();
        ((y * m).select(e, V::ONE) * one_e * q * y, e * q)
    }
}

/// Algorithm 2, $\alpha_t = \max(\ell''(m), c\,t^{-\beta})$.
#[derive(Debug, Clone, Copy)]
pub struct Truncated {
    /// $c$: 1 in the paper, $10^{-10}$ in Bercu, Godichon and Portier.
    pub scale: f64,
    /// $\beta$, 0.49 in both.
    pub beta: f64,
}

impl Rule for Truncated {
    #[inline(always)]
    fn step(&self, y: V, m: V, s: V, t: u64) -> (V, V) {
        let e = exp_abs(m);
        let r = (V::ONE + e).recip();
        let alpha = (e * r * r).max(V::splat(self.scale * (t as f64).powf(-self.beta)));
        let q = alpha.mul_add(s, V::ONE).recip();
        ((y * m).select(e * r, r) * q * y, alpha * q)
    }
}

/// The Kalman filter, $\ell = (y-u)^2/2$.
#[derive(Debug, Clone, Copy)]
pub struct Kalman;

impl Rule for Kalman {
    #[inline(always)]
    fn step(&self, y: V, m: V, s: V, _t: u64) -> (V, V) {
        let q = (V::ONE + s).recip();
        ((y - m) * q, q)
    }
}

/// $\hat\theta_t$ and $P_t$ of eight replicates, from $\hat\theta_1 = 0$, $P_1 = p_1 I$.
#[derive(Debug, Clone)]
pub struct Filter<R> {
    rule: R,
    theta: [V; D],
    sum: [V; D],
    p: [V; PACKED],
    rows: u64,
}

impl<R: Rule> Filter<R> {
    /// From $\hat\theta_1 = 0$ and $P_1 = p_1 I$.
    pub fn new(rule: R, p1: f64) -> Self {
        Self { rule, theta: [V::ZERO; D], sum: [V::ZERO; D], p: scaled_identity(p1), rows: 0 }
    }

    /// Learns the rows of a range of the block.
    pub fn learn(&mut self, block: &Block, rows: Range<usize>) {
        self.learn_watched(
            block,
            rows,
            #[inline(always)]
            |_, _, _| (),
        );
    }

    /// Learns, and shows each row's index, prediction $m = \hat\theta_t^\top x_t$ and $\hat\theta_t$ before the row is learned.
    pub fn learn_watched(&mut self, block: &Block, rows: Range<usize>, watch: impl FnMut(usize, V, &[V; D])) {
        dispatch(
            #[inline(always)]
            || self.run(block, rows, watch),
        );
    }

    #[inline(always)]
    fn run(&mut self, block: &Block, rows: Range<usize>, mut watch: impl FnMut(usize, V, &[V; D])) {
        if rows.is_empty() {
            return;
        }
        let (xs, ys) = (&block.x[rows.clone()], &block.y[rows.clone()]);
        let mut u = multiply(&self.p, &xs[0]);
        for (i, (x, &y)) in xs.iter().zip(ys).enumerate() {
            self.rows += 1;
            let m = dot(&self.theta, x);
            watch(rows.start + i, m, &self.theta);
            let (g, c) = self.rule.step(y, m, dot(x, &u), self.rows);
            for j in 0..D {
                self.sum[j] += self.theta[j];
                self.theta[j] = g.mul_add(u[j], self.theta[j]);
            }
            match xs.get(i + 1) {
                Some(next) => u = contract_then_multiply(&mut self.p, &u, c, next),
                None => contract(&mut self.p, &u, c),
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
        let mut full = [[0.0; D]; D];
        let mut at = 0;
        for i in 0..D {
            for j in i..D {
                full[i][j] = self.p[at].0[lane];
                full[j][i] = full[i][j];
                at += 1;
            }
        }
        full
    }
}

/// $-\ell'$ and the weight $\ell'^2$ that the Online Newton Step gives a row.
#[inline(always)]
pub(super) fn gradient_and_weight(y: V, m: V) -> (V, V) {
    let g = residual(y, m, exp_abs(m));
    (g, g * g)
}
