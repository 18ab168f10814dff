//! The filters of the paper as a kernel for $d = 11$ on eight replicates at once, for the long
//! simulations of the figure `bounds`.
//!
//! The kernel is the recursion of the library's filter; tests compare it with that filter and with
//! a plain scalar version. After $n$ rows it gives the last iterate $\hat\theta_{n+1}$ and the mean
//! of the iterates that predicted, $(\hat\theta_1+\dots+\hat\theta_n)/n$ (erratum E29).
//!
//! It exists for its speed: millions of rows per second on one core, over all replicates, against
//! the library's fastest form of each filter (`cargo bench -p kalmia-lab`).
//!
//! | | kernel | library | ratio |
//! |---|---:|---:|---:|
//! | EKF | 84 | 22 | 3.8 |
//! | EKF and its average | 83 | 8.1 | 10.3 |
//! | truncated EKF | 68 | 11 | 6.2 |
//! | Kalman filter | 109 | 33 | 3.3 |

mod filter;

pub use filter::{Filter, Rule, Trace};

use crate::lanes::{V, dot};
use crate::world::D;

/// Entries of a symmetric matrix kept once.
pub(crate) const PACKED: usize = D * (D + 1) / 2;

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
