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

/// $u = Px$.
#[inline(always)]
fn multiply(p: &[V; PACKED], x: &[V; D]) -> [V; D] {
    let mut u = [V::ZERO; D];
    let mut at = 0;
    for i in 0..D {
        u[i] = p[at].mul_add(x[i], u[i]);
        at += 1;
        for j in i + 1..D {
            u[i] = p[at].mul_add(x[j], u[i]);
            u[j] = p[at].mul_add(x[i], u[j]);
            at += 1;
        }
    }
    u
}

/// $P \leftarrow P - c\,uu^\top$.
#[inline(always)]
fn contract(p: &mut [V; PACKED], u: &[V; D], c: V) {
    let mut at = 0;
    for i in 0..D {
        let scaled = -(c * u[i]);
        for uj in &u[i..] {
            p[at] = scaled.mul_add(*uj, p[at]);
            at += 1;
        }
    }
}

/// $P \leftarrow P - c\,uu^\top$ and, in the same pass over $P$, the product with the next row.
#[inline(always)]
fn contract_then_multiply(p: &mut [V; PACKED], u: &[V; D], c: V, x: &[V; D]) -> [V; D] {
    let mut next = [V::ZERO; D];
    let mut at = 0;
    for i in 0..D {
        let scaled = -(c * u[i]);
        let diagonal = scaled.mul_add(u[i], p[at]);
        p[at] = diagonal;
        next[i] = diagonal.mul_add(x[i], next[i]);
        at += 1;
        for j in i + 1..D {
            let entry = scaled.mul_add(u[j], p[at]);
            p[at] = entry;
            next[i] = entry.mul_add(x[j], next[i]);
            next[j] = entry.mul_add(x[i], next[j]);
            at += 1;
        }
    }
    next
}
