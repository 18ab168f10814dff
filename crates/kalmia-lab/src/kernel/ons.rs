//! Algorithm 3, left: the Online Newton Step on a ball, with the exact projection in the norm of
//! $P^{-1}$.

use super::{Belief, PACKED, exp_abs, multiply, place, residual};
use crate::lanes::{LANES, V, dispatch, dot};
use crate::world::{Block, D};
use std::ops::Range;

/// The constants of the algorithm, from the ball and the exp-concavity constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnsConstants {
    /// Radius $R$ of the ball.
    pub radius: f64,
    /// $\gamma = \frac12\min(1/(4GR), \alpha)$ with $G = \sqrt d$.
    pub gamma: f64,
}

impl OnsConstants {
    /// $R = 1.1\,\|\theta^*\|$ and $\gamma$ with $D = R$ (decision E16).
    pub fn new(norm: f64, exp_concavity: f64) -> Self {
        let radius = 1.1 * norm;
        let gradient = (D as f64).sqrt();
        Self { radius, gamma: 0.5 * (1.0 / (4.0 * gradient * radius)).min(exp_concavity) }
    }

    /// $e^{-R\sqrt d}$, the exp-concavity constant of the logistic loss on the ball.
    pub fn exp_concavity(norm: f64) -> f64 {
        (-1.1 * norm * (D as f64).sqrt()).exp()
    }

    /// $p_1 = (\gamma R)^2$ of $P_1^{-1} = I/(\gamma R)^2$ (decisions E14 and E28).
    pub fn p1(&self) -> f64 {
        (self.gamma * self.radius).powi(2)
    }
}

/// $w_t$ and $P_t$ of eight replicates, from $w_1 = 0$.
#[derive(Debug, Clone)]
pub struct Ons {
    constants: OnsConstants,
    w: [V; D],
    sum: [V; D],
    belief: Belief,
    rows: u64,
    projections: u64,
}

impl Ons {
    /// From $w_1 = 0$ and $P_1 = p_1 I$.
    pub fn new(constants: OnsConstants, p1: f64) -> Self {
        Self {
            constants,
            w: [V::ZERO; D],
            sum: [V::ZERO; D],
            belief: Belief::new(p1),
            rows: 0,
            projections: 0,
        }
    }

    /// From the paper's $p_1$.
    pub fn paper(constants: OnsConstants) -> Self {
        Self::new(constants, constants.p1())
    }

    /// Learns the rows of a range of the block.
    pub fn learn(&mut self, block: &Block, rows: Range<usize>) {
        dispatch(
            #[inline(always)]
            || self.learn_rows(block, rows),
        );
    }

    #[inline(always)]
    fn learn_rows(&mut self, block: &Block, rows: Range<usize>) {
        let step = V::splat(1.0 / self.constants.gamma);
        let ball = self.constants.radius * self.constants.radius;
        for at in rows {
            let x = &block.x[at];
            let s = self.belief.multiply_row(x);
            let m = dot(&self.w, x);
            let residual = residual(block.y[at], m, exp_abs(m));
            let alpha = residual * residual;
            let q = alpha.mul_add(s, V::ONE).recip();
            self.belief.contract(alpha * q);
            let gain = step * residual * q;
            for j in 0..D {
                self.sum[j] += self.w[j];
                self.w[j] = gain.mul_add(self.belief.u[j], self.w[j]);
            }
            self.rows += 1;
            let norm2 = dot(&self.w, &self.w);
            let outside = norm2.0.iter().filter(|&&n| n > ball).count();
            if outside > 0 {
                self.projections += outside as u64;
                project(&self.belief.matrix(), &mut self.w, self.constants.radius);
            }
        }
    }

    /// $w_{n+1}$ after $n$ rows.
    pub fn last(&self) -> [V; D] {
        self.w
    }

    /// $(w_1+\dots+w_n)/n$.
    pub fn average(&self) -> [V; D] {
        let scale = V::splat(1.0 / self.rows as f64);
        self.sum.map(|s| s * scale)
    }

    /// Steps that ended in a projection, counted over the replicates.
    pub fn projections(&self) -> u64 {
        self.projections
    }
}

/// Replaces each lane's $v$ outside the ball by $\arg\min_{|w|\le R} (w-v)^\top P^{-1}(w-v)$.
///
/// $w = (I+\mu P)^{-1}v$ with $|w| = R$. As a function of $\mu$, $1/|w|$ is increasing and concave,
/// so Newton's method on $1/|w| = 1/R$ increases from $\mu = 0$ to the root without a safeguard.
/// Lanes inside keep $\mu = 0$.
// Lanes are indexed across several arrays at once.
#[allow(clippy::needless_range_loop)]
#[inline(never)]
fn project(p: &[V; PACKED], v: &mut [V; D], radius: f64) {
    dispatch(
        #[inline(always)]
        || {
            let start = *v;
            let mut mu = V::ZERO;
            let inside = dot(&start, &start).0.map(|n| n <= radius * radius);
            for _ in 0..60 {
                let factor = Factor::new(p, mu);
                let w = factor.solve(&start);
                let norm = dot(&w, &w).map(f64::sqrt);
                let slope = dot(&w, &factor.solve(&multiply(p, &w)));
                let mut moved = false;
                for l in 0..LANES {
                    let excess = norm.0[l] / radius - 1.0;
                    if !inside[l] && excess > 4.0 * f64::EPSILON {
                        mu.0[l] += excess * norm.0[l] * norm.0[l] / slope.0[l];
                        moved = true;
                    }
                }
                *v = w;
                if !moved {
                    break;
                }
            }
            // A lane that rounding leaves outside is scaled back; lanes inside keep every bit.
            let shrink = dot(v, v).map(|n| (radius / n.sqrt()).min(1.0));
            for j in 0..D {
                for l in 0..LANES {
                    v[j].0[l] = if inside[l] { start[j].0[l] } else { v[j].0[l] * shrink.0[l] };
                }
            }
        },
    );
}

/// The Cholesky factor $LL^\top = I + \mu P$, packed by rows of the lower triangle, with inverted
/// diagonal.
struct Factor([V; PACKED]);

impl Factor {
    #[inline(always)]
    fn new(p: &[V; PACKED], mu: V) -> Self {
        let mut l = [V::ZERO; PACKED];
        for i in 0..D {
            for j in 0..=i {
                let mut a = mu * p[place(j, i)];
                let ri = i * (i + 1) / 2;
                let rj = j * (j + 1) / 2;
                for k in 0..j {
                    a = (-l[ri + k]).mul_add(l[rj + k], a);
                }
                l[ri + j] =
                    if i == j { (V::ONE + a).map(|d| 1.0 / d.sqrt()) } else { a * l[rj + j] };
            }
        }
        Self(l)
    }

    /// $(I+\mu P)^{-1}b$.
    #[inline(always)]
    fn solve(&self, b: &[V; D]) -> [V; D] {
        let l = &self.0;
        let mut z = *b;
        for i in 0..D {
            let row = i * (i + 1) / 2;
            for k in 0..i {
                z[i] = (-l[row + k]).mul_add(z[k], z[i]);
            }
            z[i] = z[i] * l[row + i];
        }
        for i in (0..D).rev() {
            z[i] = z[i] * l[i * (i + 1) / 2 + i];
            for k in 0..i {
                z[k] = (-l[i * (i + 1) / 2 + k]).mul_add(z[i], z[k]);
            }
        }
        z
    }
}
