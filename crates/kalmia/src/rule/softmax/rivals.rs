//! The rivals of each class, from sums over all classes.

use crate::math::exp;
use crate::step::LinearRow;

/// Largest lead of a class over the second one at which squares of exponentials relative to it are
/// still far from underflow.
const MAX_LEAD: f64 = 200.0;

/// Smallest exponent of an exponential relative to the largest.
const MIN_EXPONENT: f64 = -700.0;

/// The rivals of a class, $R_k$, as sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rivals {
    /// $\sum_j e_j$ and $\sum_j e_j^2 s_j$ with $e_j = e^{m_j - \text{base}}$.
    pub sum: f64,
    pub spread: f64,
    base: f64,
}

impl Rivals {
    /// $ER_k$.
    #[inline(always)]
    pub fn level(&self) -> f64 {
        self.base + self.sum.ln()
    }

    /// $V_k$.
    #[inline(always)]
    pub fn variance(&self) -> f64 {
        self.spread / (self.sum * self.sum)
    }
}

/// Sums over all classes from which the rivals of each follow.
pub(super) struct RivalSums {
    /// The class with the largest $m$.
    pub leader: usize,
    /// The sums over all classes, relative to the leader.
    all: Rivals,
    /// The rivals of the leader, for which a difference of these sums would cancel.
    pub of_leader: Rivals,
}

impl RivalSums {
    /// Sums over at least two classes, with a share of their variances; leaves $e_j$ in
    /// `exponentials`.
    #[inline(always)]
    pub fn new(rows: &[LinearRow], share: f64, exponentials: &mut [f64]) -> Self {
        let mut leader = 0;
        let mut second = f64::NEG_INFINITY;
        for (k, row) in rows.iter().enumerate().skip(1) {
            if row.m > rows[leader].m {
                second = rows[leader].m;
                leader = k;
            } else if row.m > second {
                second = row.m;
            }
        }
        let top = rows[leader].m;
        for (row, e) in rows.iter().zip(&mut *exponentials) {
            let exponent = row.m - top;
            *e = if exponent < MIN_EXPONENT { MIN_EXPONENT } else { exponent };
        }
        for e in exponentials.iter_mut() {
            *e = exp(*e);
        }
        let mut all = Rivals { sum: 0.0, spread: 0.0, base: top };
        let mut of_leader = all;
        for (k, (row, e)) in rows.iter().zip(exponentials).enumerate() {
            let square = *e * *e * (share * row.s);
            all.sum += *e;
            all.spread += square;
            if k != leader {
                of_leader.sum += *e;
                of_leader.spread += square;
            }
        }
        // relative to the leader the others would vanish
        if second < top - MAX_LEAD {
            of_leader = Rivals { sum: 0.0, spread: 0.0, base: second };
            for row in rows.iter().enumerate().filter(|(k, _)| *k != leader).map(|(_, row)| row) {
                let e = (row.m - second).exp();
                of_leader.sum += e;
                of_leader.spread += e * e * (share * row.s);
            }
        }
        Self { leader, all, of_leader }
    }

    /// The rivals of class `k`, whose exponential is `e` and whose believed variance is `s`.
    #[inline(always)]
    pub fn rivals(&self, k: usize, s: f64, e: f64) -> Rivals {
        if k == self.leader {
            return self.of_leader;
        }
        self.rivals_of_follower(s, e)
    }

    /// The rivals of a class other than the leader.
    #[inline(always)]
    pub fn rivals_of_follower(&self, s: f64, e: f64) -> Rivals {
        // the sum is at least the leader's 1
        let Rivals { sum, spread, base } = self.all;
        Rivals { sum: sum - e, spread: (spread - e * e * s).max(0.0), base }
    }

    /// Whether all sums are relative to the leader.
    pub fn one_base(&self) -> bool {
        self.of_leader.base == self.all.base
    }
}
