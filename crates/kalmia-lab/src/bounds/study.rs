//! One simulated setting of the figure `bounds`: cumulative excess risk and $\lambda_{\max}(P_t)$.

use super::DELTA;
use super::eigenvalue::largest_eigenvalue;
use crate::error::Result;
use crate::feed::{Feed, Piece};
use crate::kernel::{Filter, Rule, Trace};
use crate::lanes::{LANES, V, dispatch, dot};
use crate::settings::checkpoints;
use crate::statistics::{largest, mean};
use crate::workers::Workers;
use crate::world::{D, World};

/// Mean and worst of the replicates after some rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadPoint {
    /// Number of rows, or time.
    pub n: u64,
    /// Mean over the replicates.
    pub mean: f64,
    /// Largest value of a replicate.
    pub worst: f64,
}

impl SpreadPoint {
    fn new(n: u64, values: &[f64]) -> Self {
        Self { n, mean: mean(values), worst: largest(values.iter().copied()) }
    }
}

/// Cumulative excess risk along the rows.
pub(super) struct Risk {
    /// Over all steps.
    pub all: Vec<SpreadPoint>,
    /// Over the steps after the convergence time, with `n` counted from it; empty without one.
    pub after: Vec<SpreadPoint>,
    /// The measured convergence time, if it lies within the rows.
    pub tau: Option<u64>,
}

/// A setting and its replicates.
pub(super) struct Study {
    pub world: World,
    /// Radius $\varepsilon$ of the ball that defines the convergence time.
    pub epsilon: f64,
    pub replicates: usize,
    pub seed: u64,
}

impl Study {
    fn groups(&self) -> usize {
        self.replicates.div_ceil(LANES)
    }

    fn feed<'a>(&self, checkpoints: &'a [u64]) -> Feed<'a> {
        Feed { world: self.world, seed: self.seed, checkpoints }
    }

    /// Cumulative excess risk of the Kalman filter, or of the EKF in a logistic world.
    pub fn risk(&self, horizon: u64, workers: &Workers) -> Result<Risk> {
        let marks = checkpoints(horizon);
        let groups = workers.map(self.groups(), |group| {
            let rule = if self.world == World::Quadratic { Rule::Kalman } else { Rule::Ekf };
            let mut filter = Filter::new(rule, 1.0);
            let mut trace = Trace::default();
            let mut tally = Tally::default();
            self.feed(&marks).run(group, workers, |piece| {
                filter.learn_traced(piece.block, piece.rows.clone(), Some(&mut trace));
                dispatch(
                    #[inline(always)]
                    || tally.add(self, &trace, &piece),
                );
                if piece.checkpoint.is_some() {
                    tally.at_marks.push(tally.total);
                }
            })?;
            Ok(tally)
        })?;
        let replicates = |pick: &dyn Fn(&Tally) -> V| -> Vec<f64> {
            groups.iter().flat_map(|tally| pick(tally).0).take(self.replicates).collect()
        };
        let last_outside = quantile(replicates(&|tally| tally.last_outside)) as u64;
        let sums: Vec<Vec<f64>> =
            (0..marks.len()).map(|k| replicates(&|tally| tally.at_marks[k])).collect();
        // The first mark after the measured time, if at least two marks follow it.
        let settled =
            marks.iter().position(|&n| n >= last_outside).filter(|&k| k + 2 < marks.len());
        let all = marks.iter().zip(&sums).map(|(&n, sum)| SpreadPoint::new(n, sum)).collect();
        let after = settled.map_or_else(Vec::new, |k| {
            let since = |j: usize| -> Vec<f64> {
                sums[j].iter().zip(&sums[k]).map(|(a, b)| a - b).collect()
            };
            let later = k + 1..marks.len();
            later.map(|j| SpreadPoint::new(marks[j] - marks[k], &since(j))).collect()
        });
        Ok(Risk { all, after, tau: settled.map(|k| marks[k]) })
    }

    /// $\lambda_{\max}(P_t)$ of the truncated EKF; $P_t$ is the matrix after $t-1$ rows.
    pub fn eigenvalue(
        &self,
        horizon: u64,
        beta: f64,
        workers: &Workers,
    ) -> Result<Vec<SpreadPoint>> {
        let marks = checkpoints(horizon);
        let groups = workers.map(self.groups(), |group| {
            let mut filter = Filter::new(Rule::Truncated { scale: 1.0, beta }, 1.0);
            let mut values: Vec<[f64; LANES]> = Vec::with_capacity(marks.len());
            self.feed(&marks).run(group, workers, |piece| {
                filter.learn(piece.block, piece.rows);
                if piece.checkpoint.is_some() {
                    let of_lane = |lane| largest_eigenvalue(&filter.covariance(lane));
                    values.push(std::array::from_fn(of_lane));
                }
            })?;
            Ok(values)
        })?;
        let at = |k: usize| -> Vec<f64> {
            groups.iter().flat_map(|values| values[k]).take(self.replicates).collect()
        };
        Ok(marks.iter().enumerate().map(|(k, &n)| SpreadPoint::new(n + 1, &at(k))).collect())
    }
}

/// Excess risk and distance of eight replicates so far.
struct Tally {
    /// Cumulative excess risk.
    total: V,
    /// The cumulative excess risk at each mark.
    at_marks: Vec<V>,
    /// The last time outside the ball of radius $\varepsilon$.
    last_outside: V,
}

impl Default for Tally {
    fn default() -> Self {
        Self { total: V::ZERO, at_marks: Vec::new(), last_outside: V::ZERO }
    }
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, study: &Study, trace: &Trace, piece: &Piece) {
        let star = study.world.generator().map(V::splat);
        let radius = V::splat(study.epsilon * study.epsilon);
        let mut t = V::splat(piece.first as f64);
        let xs = &piece.block.x[piece.rows.clone()];
        for ((theta, &m), x) in trace.theta.iter().zip(&trace.predictions).zip(xs) {
            self.total += if study.world == World::Quadratic {
                quadratic_excess(theta, &star)
            } else {
                logistic_excess(m, dot(&star, x))
            };
            let inside = radius - squared_distance(theta, &star);
            self.last_outside = inside.select(self.last_outside, t);
            t += V::ONE;
        }
    }
}

/// $L(\hat\theta_t)-L(\theta^*) = \frac12 e^\top\Sigma e$ exactly, $\Sigma = E[XX^\top]$.
#[inline(always)]
fn quadratic_excess(theta: &[V; D], star: &[V; D]) -> V {
    let mut line = theta[0] - star[0];
    let mut squares = V::ZERO;
    for j in 1..D {
        let e = theta[j] - star[j];
        line = e.mul_add(V::splat(0.5), line);
        squares = e.mul_add(e, squares);
    }
    (line * line + squares * V::splat(1.0 / 12.0)) * V::splat(0.5)
}

/// $E[\ell(y,m)-\ell(y,m^*)\mid X_t]$. Because $X_t$ is independent of $\hat\theta_t$, its mean is
/// $L(\hat\theta_t)-L(\theta^*)$, and the cumulative sums differ from those of the excess risk by a
/// martingale.
#[inline(always)]
fn logistic_excess(m: V, m_star: V) -> V {
    let e = (-m.map(f64::abs)).exp_negative();
    let e_star = (-m_star.map(f64::abs)).exp_negative();
    let ratio = (V::ONE + e) * (V::ONE + e_star).recip();
    let gap = m.max(V::ZERO) - m_star.max(V::ZERO) + ratio.map(f64::ln);
    m_star.logistic() * (m_star - m) + gap
}

#[inline(always)]
fn squared_distance(theta: &[V; D], star: &[V; D]) -> V {
    let mut distance = V::ZERO;
    for j in 0..D {
        let e = theta[j] - star[j];
        distance = e.mul_add(e, distance);
    }
    distance
}

/// The time after which a share $1-\delta$ of the replicates stays in the ball, as Assumption 5
/// asks.
fn quantile(mut last_outside: Vec<f64>) -> f64 {
    last_outside.sort_by(f64::total_cmp);
    let may_leave = (DELTA * last_outside.len() as f64).floor() as usize;
    last_outside[last_outside.len() - 1 - may_leave]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Theory;
    use std::sync::atomic::AtomicBool;

    /// The quadratic excess risk is known: about $\frac12 d\sigma^2/t$ per step once the prior is
    /// forgotten.
    #[test]
    fn excess_risk_grows_as_half_d_log_n() {
        let cancel = AtomicBool::new(false);
        let workers = Workers { threads: 2, progress: &(), cancel: &cancel };
        let study = Study { world: World::Quadratic, epsilon: 0.3, replicates: 64, seed: 4 };
        let risk = study.risk(20_000, &workers).unwrap();
        let tau = risk.tau.expect("95 % of the replicates stay in the ball before 20 000 rows");
        assert_eq!(risk.after.last().unwrap().n, 20_000 - tau);
        let growth = |all: &[SpreadPoint]| {
            let at = |n: u64| all.iter().find(|p| p.n == n).unwrap().mean;
            at(20_000) - at(1000)
        };
        let expected = 0.5 * D as f64 * 20f64.ln();
        let grown = growth(&risk.all);
        assert!((grown / expected - 1.0).abs() < 0.1, "{grown} against {expected}");
        let theory = Theory::new().unwrap();
        for point in &risk.after {
            let bound = theory.leading_quadratic(point.n).unwrap();
            assert!(point.mean <= point.worst && point.worst < bound, "{point:?} above {bound}");
        }
        // The well-specified logistic world has the same growth.
        let study = Study { world: World::Weak, epsilon: 0.3, replicates: 64, seed: 4 };
        let grown = growth(&study.risk(20_000, &workers).unwrap().all);
        assert!((grown / expected - 1.0).abs() < 0.15, "{grown} against {expected}");
    }
}
