//! How one row moves the beliefs of several classes: a moment-matching step per class.
//!
//! Class $k$ has probability $e^{u_k}/\sum_j e^{u_j} = \sigma(u_k - R_k)$ with its rivals
//! $R_k = \ln\sum_{j\ne k} e^{u_j}$. The beliefs $u_j \sim N(m_j, s_j)$ are independent, and $R_k$
//! is taken as normal too, to first order in the variances:
//!
//! $$E R_k = \ln\sum_{j\ne k} e^{m_j}, \qquad V_k = \sum_{j\ne k} w_j^2 s_j, \qquad
//!   w_j = \frac{e^{m_j}}{\sum_{i\ne k} e^{m_i}}.$$
//!
//! So class $k$ sees a label (its own or not) at $u_k - R_k \sim N(m_k - ER_k, s_k + V_k)$, and
//! takes the moment-matching step of the Bernoulli family there. The probabilities of all classes
//! are divided by their sum, which is 1 for two classes and close to 1 for narrow beliefs.
//!
//! Rows determine differences $u_k - u_j$ only. The blocks of two classes would become correlated,
//! which independent blocks cannot show, so differences would keep too much variance: twice too
//! much with two classes. A block therefore contracts by $\kappa_k c$ instead of $c$, with
//! $\kappa_k$ from 1 to 2 (see `coupling`). With two classes the differences then are those of
//! the Bernoulli filter exactly.
//!
//! With three classes or more, blocks leave differences too much variance where classes are easy to
//! tell apart. So the moments may be those at a share of every $s_j$, as members of sparse rows and
//! polished learners have them. The blocks still contract by all of $s_k$.

use super::moments;
use crate::family::{Bernoulli, Family, FastPaths};
use crate::rows::Observation;
use crate::step::{LinearRow, Moments, Step};

/// Share of the rivals' relative variance by which a block contracts more, if there are many
/// classes. With 0, sets that planes separate are learned more slowly (progressive loss of digits
/// 0.283 instead of 0.268, of iris 0.222 instead of 0.207). With 1, classes that overlap become too
/// certain (ten simulated classes 0.629 instead of 0.619, image segments 0.252 instead of 0.246).
const RIVAL_SHARE: f64 = 0.5;
/// Largest curvature and contraction of a block.
const MAX_CURVATURE: f64 = 1e150;

/// Largest lead of a class over the second one at which squares of exponentials relative to it are
/// still far from underflow.
const MAX_LEAD: f64 = 200.0;

/// The rivals of a class, $R_k$, as normal.
#[derive(Debug, Clone, Copy)]
struct Rivals {
    level: f64,
    variance: f64,
}

/// Sums over all classes from which the rivals of each follow.
struct RivalSums {
    /// The class with the largest $m$, and that $m$.
    leader: usize,
    top: f64,
    /// $\sum_j e_j$ and $\sum_j e_j^2 s_j$ with $e_j = e^{m_j - \text{top}}$.
    sum: f64,
    spread: f64,
    /// The rivals of the leader, for which a difference of these sums would cancel.
    of_leader: Rivals,
}

impl RivalSums {
    /// Sums over at least two classes, with a share of their variances; leaves $e_j$ in
    /// `exponentials`.
    fn new(rows: &[LinearRow], share: f64, exponentials: &mut [f64]) -> Self {
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
        let mut sum = 0.0;
        let mut spread = 0.0;
        let mut rest = 0.0;
        let mut rest_spread = 0.0;
        for (k, (row, e)) in rows.iter().zip(&mut *exponentials).enumerate() {
            *e = (row.m - top).exp();
            let square = *e * *e * (share * row.s);
            sum += *e;
            spread += square;
            if k != leader {
                rest += *e;
                rest_spread += square;
            }
        }
        let mut base = top;
        // relative to the leader the others would vanish
        if second < top - MAX_LEAD {
            base = second;
            rest = 0.0;
            rest_spread = 0.0;
            for row in rows.iter().enumerate().filter(|(k, _)| *k != leader).map(|(_, row)| row) {
                let e = (row.m - second).exp();
                rest += e;
                rest_spread += e * e * (share * row.s);
            }
        }
        let of_leader = Rivals { level: base + rest.ln(), variance: rest_spread / (rest * rest) };
        Self { leader, top, sum, spread, of_leader }
    }

    /// The rivals of class `k`, whose exponential is `e` and whose believed variance is `s`.
    #[inline(always)]
    fn rivals(&self, k: usize, s: f64, e: f64) -> Rivals {
        if k == self.leader {
            return self.of_leader;
        }
        // at least the leader's 1
        let rest = self.sum - e;
        let spread = (self.spread - e * e * s).max(0.0);
        Rivals { level: self.top + rest.ln(), variance: spread / (rest * rest) }
    }
}

/// The factor $\kappa_k$ of a block's contraction.
///
/// With $\rho = \min(V_k/s_k, 1)$ it is $1 + \rho$ for two classes and $1 + \max(\rho/2,
/// \min(\rho, 1/(K-1)))$ for $K$. At equal chances and variances $\rho = 1/(K-1)$, and $\kappa =
/// K/(K-1)$ makes the variance of a difference exact. Without the bound on $\rho$ a new class, of
/// which nothing is known, would make its rivals certain.
#[inline(always)]
fn coupling(s: f64, rival_variance: f64, classes: usize) -> f64 {
    let ratio = (rival_variance / s).min(1.0);
    let even = 1.0 / (classes as f64 - 1.0);
    1.0 + ratio.min(even.max(RIVAL_SHARE * ratio))
}

/// The step of a block from that of the difference to its rivals, of variance `s + rivals`.
#[inline(always)]
fn block_step(step: Step, s: f64, rival_variance: f64, classes: usize) -> Step {
    if s <= 0.0 {
        return step;
    }
    let factor = coupling(s, rival_variance, classes);
    let contraction = factor * step.contraction;
    // 1 - contraction s without cancellation; the factor keeps the second term from being negative
    let excess = (rival_variance - (factor - 1.0) * s).max(0.0);
    let left = 1.0 / (1.0 + step.curvature * (s + rival_variance)) + step.contraction * excess;
    let curvature = (contraction / left).min(MAX_CURVATURE);
    Step { gain: step.gain, curvature, contraction: contraction.min(MAX_CURVATURE) }
}

/// Sets the step of each class for a row of class `class` and the probability of each class before
/// the row; returns the logarithm of the evidence $E[p^w]$. The moments are those at `share` of the
/// variances.
#[doc(hidden)]
pub fn softmax_steps(
    class: usize,
    weight: f64,
    share: f64,
    rows: &mut [LinearRow],
    probabilities: &mut [f64],
) -> f64 {
    let classes = rows.len();
    if classes < 2 {
        probabilities.fill(1.0);
        return 0.0;
    }
    let sums = RivalSums::new(rows, share, probabilities);
    let mut total = 0.0;
    let mut log_evidence = 0.0;
    for (k, (row, probability)) in rows.iter_mut().zip(&mut *probabilities).enumerate() {
        let s = share * row.s;
        let rivals = sums.rivals(k, s, *probability);
        let y = f64::from(k == class);
        let observation = Observation { y, weight, offset: -rivals.level };
        let variance = s + rivals.variance;
        let Moments { evidence, step, .. } = moments(&Bernoulli, &observation, row.m, variance);
        row.step = block_step(step, s, rivals.variance, classes);
        if share < 1.0 {
            row.step = Step::new(row.step.gain, row.step.curvature, row.s);
        }
        *probability = if weight == 1.0 {
            Bernoulli.mean_from_evidence(y, evidence).unwrap_or(f64::NAN)
        } else {
            Bernoulli.moderated_mean(row.m - rivals.level, variance)
        };
        total += *probability;
        if k == class {
            log_evidence = evidence.ln();
        }
    }
    probabilities.iter_mut().for_each(|p| *p /= total);
    log_evidence - weight * total.ln()
}

/// Turns each belief about $u_k$ into that about $u_k - R_k$, the logarithm of the odds of class
/// $k$ against the rest. `exponentials` is scratch, one per class, of at least two.
#[doc(hidden)]
pub fn softmax_odds(rows: &mut [LinearRow], exponentials: &mut [f64]) {
    let sums = RivalSums::new(rows, 1.0, exponentials);
    for (k, (row, e)) in rows.iter_mut().zip(exponentials).enumerate() {
        let rivals = sums.rivals(k, row.s, *e);
        *row = LinearRow::new(row.m - rivals.level, row.s + rivals.variance);
    }
}

/// The probability of each class.
#[doc(hidden)]
pub fn softmax_probabilities(rows: &[LinearRow], probabilities: &mut [f64]) {
    if rows.len() < 2 {
        probabilities.fill(1.0);
        return;
    }
    let sums = RivalSums::new(rows, 1.0, probabilities);
    let mut total = 0.0;
    for (k, (row, probability)) in rows.iter().zip(&mut *probabilities).enumerate() {
        let rivals = sums.rivals(k, row.s, *probability);
        let variance = row.s + rivals.variance;
        *probability = Bernoulli.moderated_mean(row.m - rivals.level, variance);
        total += *probability;
    }
    probabilities.iter_mut().for_each(|p| *p /= total);
}
