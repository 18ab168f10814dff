//! The algorithms of the paper as kernels for $d = 11$ on eight replicates at once.
//!
//! Each kernel is the recursion of the library's learner of the same name; tests compare it with
//! that learner and with a plain scalar version. After $n$ rows a kernel gives the last iterate
//! $\hat\theta_{n+1}$ and the mean of the iterates that predicted,
//! $(\hat\theta_1+\dots+\hat\theta_n)/n$ (decision E29).
//!
//! The kernels exist for their speed: millions of rows per second on one core, over all replicates,
//! against the library's fastest form of each learner (`cargo bench -p kalmia-lab`).
//!
//! | | kernel | library | ratio |
//! |---|---:|---:|---:|
//! | EKF | 84 | 22 | 3.8 |
//! | EKF and its average | 83 | 8.1 | 10.3 |
//! | truncated EKF | 68 | 11 | 6.2 |
//! | Kalman filter | 109 | 33 | 3.3 |
//! | ONS | 23 | 4.5 | 5.1 |
//! | ONS and its average | 23 | 3.5 | 6.5 |
//! | ASGD | 178 | 22 | 8.2 |

mod asgd;
mod filter;
mod ons;

pub use asgd::Asgd;
pub use filter::{Filter, Rule, Trace};
pub use ons::{Ons, OnsConstants};

use crate::lanes::{V, dot};
use crate::world::D;

/// Entries of a symmetric matrix kept once.
pub(crate) const PACKED: usize = D * (D + 1) / 2;

/// $-\ell' = z/(1+e^{zu})$ of the logistic loss; `e` is $e^{-|u|}$.
#[inline(always)]
fn residual(z: V, u: V, e: V) -> V {
    (z * u).select(e, V::ONE) * (V::ONE + e).recip() * z
}

/// $e^{-|u|}$.
#[inline(always)]
fn exp_abs(u: V) -> V {
    (-u.map(f64::abs)).exp_negative()
}

/// Repeats a block for the constants 0 to 10: straight-line code keeps the vectors in registers; a
/// loop over an index would load and store each of them.
macro_rules! unroll {
    ($i:ident => $body:block) => {
        unroll!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10)
    };
    (@ $i:ident $body:block $($value:literal)*) => {
        {$({
            const $i: usize = $value;
            $body
        })*}
    };
}

/// Place of row `i`, column `j >= i` in the packed upper triangle.
#[inline(always)]
const fn place(i: usize, j: usize) -> usize {
    i * D - i * i.saturating_sub(1) / 2 + (j - i)
}

/// $P$ with the contraction of the last row pending. It is applied while $P$ is multiplied by the
/// next row, so each row reads $P$ once.
#[derive(Debug, Clone)]
pub(crate) struct Belief {
    p: [V; PACKED],
    /// $Px$ of the last row.
    u: [V; D],
    /// Pending contraction: $P \leftarrow P - c\,uu^\top$.
    c: V,
}

impl Belief {
    /// $P_1 = p_1 I$.
    fn new(p1: f64) -> Self {
        let mut p = [V::ZERO; PACKED];
        (0..D).for_each(|i| p[place(i, i)] = V::splat(p1));
        Self { p, u: [V::ZERO; D], c: V::ZERO }
    }

    /// Applies the pending contraction, then sets $u = Px$; returns $s = x^\top Px$.
    // `J >= I` is always true for `I = 0`.
    #[allow(clippy::absurd_extreme_comparisons)]
    #[inline(always)]
    fn multiply_row(&mut self, x: &[V; D]) -> V {
        let u = self.u;
        let c = self.c;
        let mut next = [V::ZERO; D];
        unroll!(I => {
            let scaled = -(c * u[I]);
            unroll!(J => {
                if J >= I {
                    let entry = scaled.mul_add(u[J], self.p[place(I, J)]);
                    self.p[place(I, J)] = entry;
                    next[I] = entry.mul_add(x[J], next[I]);
                    if J > I {
                        next[J] = entry.mul_add(x[I], next[J]);
                    }
                }
            });
        });
        self.u = next;
        self.c = V::ZERO;
        dot(x, &next)
    }

    /// Sets the contraction of the last row.
    #[inline(always)]
    fn contract(&mut self, c: V) {
        self.c = c;
    }

    /// $P$ with the pending contraction applied.
    fn matrix(&self) -> [V; PACKED] {
        let mut p = self.p;
        for i in 0..D {
            for j in i..D {
                p[place(i, j)] -= self.c * self.u[i] * self.u[j];
            }
        }
        p
    }
}

/// $Pv$.
#[inline(always)]
fn multiply(p: &[V; PACKED], v: &[V; D]) -> [V; D] {
    let mut u = [V::ZERO; D];
    for i in 0..D {
        for j in 0..D {
            u[i] = p[place(i.min(j), i.max(j))].mul_add(v[j], u[i]);
        }
    }
    u
}
