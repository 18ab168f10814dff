//! The algorithms of the paper as kernels for $d = 11$ on eight replicates at once.
//!
//! Each kernel is the recursion of the library's learner of the same name, written for Monte Carlo: the tests hold them
//! to plain scalar versions. After $n$ rows a kernel gives the last iterate $\hat\theta_{n+1}$ and the mean of
//! the iterates that predicted, $(\hat\theta_1+\dots+\hat\theta_n)/n$ (decision E29).

mod asgd;
mod filter;
mod ons;

pub use asgd::Asgd;
pub use filter::{Ekf, Filter, Kalman, Rule, Truncated};
pub use ons::{Ons, OnsConstants};

use crate::lanes::V;
use crate::world::D;

/// Entries of a symmetric matrix kept once.
pub(crate) const PACKED: usize = D * (D + 1) / 2;

/// $\ell'$ of the logistic loss without its sign: $-\ell' = z\,/(1+e^{zu})$, with $e^{-|u|}$ given.
#[inline(always)]
fn residual(z: V, u: V, e: V) -> V {
    (z * u).select(e, V::ONE) * (V::ONE + e).recip() * z
}

/// $e^{-|u|}$.
#[inline(always)]
fn exp_abs(u: V) -> V {
    (-u.map(f64::abs)).exp_negative()
}

/// $P = p_1 I$, packed by rows of the upper triangle.
fn scaled_identity(p1: f64) -> [V; PACKED] {
    let mut p = [V::ZERO; PACKED];
    let mut at = 0;
    for i in 0..D {
        p[at] = V::splat(p1);
        at += D - i;
    }
    p
}

/// Repeats a block for the constants 0 to 10: straight-line code keeps the vectors in registers, where a loop over
/// an index would send each through memory.
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

/// Place of row `i`, column `j >= i` in the packed triangle.
#[inline(always)]
const fn place(i: usize, j: usize) -> usize {
    i * D - i * i.saturating_sub(1) / 2 + (j - i)
}

/// $u = Px$.
#[inline(always)]
fn multiply(p: &[V; PACKED], x: &[V; D]) -> [V; D] {
    let mut u = [V::ZERO; D];
    unroll!(I => {
        unroll!(J => {
            if J == I {
                u[I] = p[place(I, J)].mul_add(x[I], u[I]);
            } else if J > I {
                u[I] = p[place(I, J)].mul_add(x[J], u[I]);
                u[J] = p[place(I, J)].mul_add(x[I], u[J]);
            }
        });
    });
    u
}

/// $P \leftarrow P - c\,uu^\top$.
#[inline(always)]
fn contract(p: &mut [V; PACKED], u: &[V; D], c: V) {
    unroll!(I => {
        let scaled = -(c * u[I]);
        unroll!(J => {
            if J >= I {
                p[place(I, J)] = scaled.mul_add(u[J], p[place(I, J)]);
            }
        });
    });
}

/// $P \leftarrow P - c\,uu^\top$ and, in the same pass over $P$, the product with the next row.
#[inline(always)]
fn contract_then_multiply(p: &mut [V; PACKED], u: &[V; D], c: V, x: &[V; D]) -> [V; D] {
    let mut next = [V::ZERO; D];
    unroll!(I => {
        let scaled = -(c * u[I]);
        unroll!(J => {
            if J >= I {
                let entry = scaled.mul_add(u[J], p[place(I, J)]);
                p[place(I, J)] = entry;
                next[I] = entry.mul_add(x[J], next[I]);
                if J > I {
                    next[J] = entry.mul_add(x[I], next[J]);
                }
            }
        });
    });
    next
}
