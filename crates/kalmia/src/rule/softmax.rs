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

mod lanes;
mod rivals;

use super::moments;
use crate::family::{Bernoulli, Family, FastPaths, StepOf};
use crate::math::{Number, arch};
use crate::rows::Observation;
use crate::step::{Evidence, LinearRow, Moments, Step};
use lanes::StepLanes;
use pulp::{Simd, WithSimd};
use rivals::RivalSums;

/// Share of the rivals' relative variance by which a block contracts more, if there are many
/// classes. With 0, sets that planes separate are learned more slowly (progressive loss of digits
/// 0.283 instead of 0.268, of iris 0.222 instead of 0.207). With 1, classes that overlap become too
/// certain (ten simulated classes 0.629 instead of 0.619, image segments 0.252 instead of 0.246).
const RIVAL_SHARE: f64 = 0.5;
/// Largest curvature and contraction of a block.
const MAX_CURVATURE: f64 = 1e150;

/// The factor $\kappa_k$ of a block's contraction.
///
/// With $\rho = \min(V_k/s_k, 1)$ it is $1 + \rho$ for two classes and $1 + \max(\rho/2,
/// \min(\rho, 1/(K-1)))$ for $K$. At equal chances and variances $\rho = 1/(K-1)$, and $\kappa =
/// K/(K-1)$ makes the variance of a difference exact. Without the bound on $\rho$ a new class, of
/// which nothing is known, would make its rivals certain.
#[inline(always)]
fn coupling<N: Number>(s: N, rival_variance: N, classes: usize) -> N {
    let ratio = (rival_variance / s).at_most(s.constant(1.0));
    let even = s.constant(1.0 / (classes as f64 - 1.0));
    s.constant(1.0) + ratio.at_most(even.at_least(s.constant(RIVAL_SHARE) * ratio))
}

/// The step of a block from that of the difference to its rivals, of variance `s + rivals`, for a
/// positive `s`.
#[inline(always)]
fn coupled_step<N: Number>(step: StepOf<N>, s: N, rival_variance: N, classes: usize) -> StepOf<N> {
    let one = s.constant(1.0);
    let most = s.constant(MAX_CURVATURE);
    let factor = coupling(s, rival_variance, classes);
    let contraction = factor * step.contraction;
    // 1 - contraction s without cancellation; the factor keeps the second term from being negative
    let excess = (rival_variance - (factor - one) * s).at_least(s.constant(0.0));
    let left = one / (one + step.curvature * (s + rival_variance)) + step.contraction * excess;
    let curvature = (contraction / left).at_most(most);
    StepOf { gain: step.gain, curvature, contraction: contraction.at_most(most) }
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
    if rows.len() < 2 {
        probabilities.fill(1.0);
        return 0.0;
    }
    arch().dispatch(Steps { class, weight, share, rows, probabilities })
}

/// The arguments of [`softmax_steps`], for at least two classes.
struct Steps<'a> {
    class: usize,
    weight: f64,
    share: f64,
    rows: &'a mut [LinearRow],
    probabilities: &'a mut [f64],
}

impl WithSimd for Steps<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { class, weight, share, rows, probabilities } = self;
        let classes = rows.len();
        let sums = RivalSums::new(rows, share, probabilities);
        let row = ClassifiedRow { classes, class, weight, share };
        let at_once = weight == 1.0 && sums.one_base();
        let mut log_evidence = 0.0;
        let mut total = 0.0;
        for first in (0..classes).step_by(S::F64_LANES) {
            let part = first..classes.min(first + S::F64_LANES);
            let rows = &mut rows[part.clone()];
            let probabilities = &mut probabilities[part];
            let steps = if at_once {
                StepLanes::new(simd, &row, &sums, first, rows, probabilities)
            } else {
                None
            };
            for (lane, (linear, probability)) in rows.iter_mut().zip(probabilities).enumerate() {
                let k = first + lane;
                let evidence = match &steps {
                    Some(steps) => steps.take(lane, &row, k == class, linear, probability),
                    None => row.take_step(&sums, k, linear, probability),
                };
                total += *probability;
                if k == class {
                    log_evidence = evidence.ln();
                }
            }
        }
        probabilities.iter_mut().for_each(|p| *p /= total);
        log_evidence - weight * total.ln()
    }
}

/// What the steps of all classes share.
struct ClassifiedRow {
    classes: usize,
    class: usize,
    weight: f64,
    share: f64,
}

impl ClassifiedRow {
    /// Sets the step of class `k` and turns its exponential into its probability.
    fn take_step(
        &self,
        sums: &RivalSums,
        k: usize,
        row: &mut LinearRow,
        probability: &mut f64,
    ) -> Evidence {
        let s = self.share * row.s;
        let rivals = sums.rivals(k, s, *probability);
        let level = rivals.level();
        let rival_variance = rivals.variance();
        let y = f64::from(k == self.class);
        let observation = Observation { y, weight: self.weight, offset: -level };
        let variance = s + rival_variance;
        let Moments { evidence, step, .. } = moments(&Bernoulli, &observation, row.m, variance);
        row.step = step;
        if s > 0.0 {
            let Step { gain, curvature, contraction } = step;
            let step = StepOf { gain, curvature, contraction };
            let StepOf { gain, curvature, contraction } =
                coupled_step(step, s, rival_variance, self.classes);
            row.step = Step { gain, curvature, contraction };
        }
        if self.share < 1.0 {
            row.step = Step::new(row.step.gain, row.step.curvature, row.s);
        }
        *probability = if self.weight == 1.0 {
            Bernoulli.mean_from_evidence(y, evidence).unwrap_or(f64::NAN)
        } else {
            Bernoulli.moderated_mean(row.m - level, variance)
        };
        evidence
    }
}

/// Turns each belief about $u_k$ into that about $u_k - R_k$, the logarithm of the odds of class
/// $k$ against the rest. `exponentials` is scratch, one per class, of at least two.
#[doc(hidden)]
pub fn softmax_odds(rows: &mut [LinearRow], exponentials: &mut [f64]) {
    let sums = RivalSums::new(rows, 1.0, exponentials);
    for (k, (row, e)) in rows.iter_mut().zip(exponentials).enumerate() {
        let rivals = sums.rivals(k, row.s, *e);
        *row = LinearRow::new(row.m - rivals.level(), row.s + rivals.variance());
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
        let variance = row.s + rivals.variance();
        *probability = Bernoulli.moderated_mean(row.m - rivals.level(), variance);
        total += *probability;
    }
    probabilities.iter_mut().for_each(|p| *p /= total);
}

#[cfg(test)]
mod tests;
