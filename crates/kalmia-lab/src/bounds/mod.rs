//! The paper's bounds beside what they bound: cumulative excess risk and $\lambda_{\max}(P_t)$ in
//! simulation.

mod theory;

pub use theory::Theory;

use crate::error::Result;
use crate::kernel::{Filter, Rule, Trace};
use crate::lanes::{LANES, V, dispatch, dot};
use crate::pool::Run;
use crate::settings::checkpoints;
use crate::statistics::mean;
use crate::world::{Block, D, World};

/// $\varepsilon$ of Theorems 2 and 14; the quadratic loss allows any.
pub const EPSILON_QUADRATIC: f64 = 0.1;
/// $\beta$ of the truncated filter.
pub const BETA: f64 = 0.49;
/// $\delta$ of the measured convergence time; the terms that are drawn do not depend on it.
pub const DELTA: f64 = 0.05;
/// Rows of the simulations, in multiples of the horizon: the logistic $\varepsilon$ of Theorem 1 is
/// only reached late.
const LONGER_QUADRATIC: u64 = 10;
const LONGER_LOGISTIC: u64 = 300;
const BLOCK: usize = 100;

/// Mean and worst of the replicates along $n$, beside a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Name in the CSV file.
    pub name: &'static str,
    /// $(n, \text{mean}, \text{worst})$.
    pub points: Vec<(u64, f64, f64)>,
    /// The bound at each point.
    pub bound: Vec<f64>,
}

impl Spread {
    fn new(
        name: &'static str,
        points: Vec<(u64, f64, f64)>,
        bound: impl Fn(u64) -> Result<f64>,
    ) -> Result<Self> {
        let bound = points.iter().map(|p| bound(p.0)).collect::<Result<_>>()?;
        Ok(Self { name, points, bound })
    }
}

/// What the figure shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Cumulative excess risk of the Kalman filter, all steps.
    pub quadratic: Spread,
    /// The same after the convergence time, from $n=1$.
    pub quadratic_after: Spread,
    /// Measured convergence time of the quadratic setting: where a share $1-\delta$ of the
    /// replicates has settled, if within the rows.
    pub quadratic_tau: Option<u64>,
    /// Cumulative excess risk of the EKF, all steps.
    pub logistic: Spread,
    /// The same after the convergence time.
    pub logistic_after: Spread,
    /// Measured convergence time of the logistic setting.
    pub logistic_tau: Option<u64>,
    /// $\lambda_{\max}(P_t)$ of the truncated EKF.
    pub eigenvalue: Spread,
    /// The constants of the bounds.
    pub theory: Theory,
}

impl Bounds {
    /// Every series, in the order of the CSV file.
    pub fn spreads(&self) -> [&Spread; 5] {
        [
            &self.quadratic,
            &self.quadratic_after,
            &self.logistic,
            &self.logistic_after,
            &self.eigenvalue,
        ]
    }
}

/// Units of work of [`simulate`].
pub fn units(horizon: u64, replicates: usize) -> u64 {
    horizon * (LONGER_QUADRATIC + LONGER_LOGISTIC + 1) * (replicates.div_ceil(LANES) * LANES) as u64
}

/// Runs the three simulations.
pub fn simulate(horizon: u64, replicates: usize, seed: u64, run: &Run) -> Result<Bounds> {
    let theory = Theory::new()?;
    let quadratic = Study { world: World::Quadratic, epsilon: EPSILON_QUADRATIC, replicates, seed };
    let (all, after, quadratic_tau) = quadratic.risk(horizon * LONGER_QUADRATIC, run)?;
    let logistic = Study { world: World::Weak, epsilon: theory.epsilon_logistic, replicates, seed };
    let (logistic_all, logistic_after, logistic_tau) =
        logistic.risk(horizon * LONGER_LOGISTIC, run)?;
    Ok(Bounds {
        quadratic: Spread::new("quadratic", all, |n| theory.leading_quadratic(n))?,
        quadratic_after: Spread::new("quadratic_after_tau", after, |n| {
            theory.leading_quadratic(n)
        })?,
        quadratic_tau,
        logistic: Spread::new("logistic", logistic_all, |n| theory.leading_logistic(n))?,
        logistic_after: Spread::new("logistic_after_tau", logistic_after, |n| {
            theory.leading_logistic(n)
        })?,
        logistic_tau,
        eigenvalue: Spread::new("lambda_max", logistic.eigenvalue(horizon, run)?, |t| {
            theory.eigenvalue(t)
        })?,
        theory,
    })
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

/// $E[\ell(y,m)-\ell(y,m^*)\mid X_t]$. As $X_t$ is independent of $\hat\theta_t$ its mean is
/// $L(\hat\theta_t)-L(\theta^*)$, so the cumulative sums differ from those of the excess risk by a
/// martingale.
#[inline(always)]
fn logistic_excess(m: V, m_star: V) -> V {
    let (e, e_star) = ((-m.map(f64::abs)).exp_negative(), (-m_star.map(f64::abs)).exp_negative());
    let ratio = (V::ONE + e) * (V::ONE + e_star).recip();
    let gap = m.max(V::ZERO) - m_star.max(V::ZERO) + ratio.map(f64::ln);
    m_star.logistic() * (m_star - m) + gap
}

/// `(n, mean, worst)` for all steps and after the convergence time, and that time.
type Risk = (Vec<(u64, f64, f64)>, Vec<(u64, f64, f64)>, Option<u64>);

/// Sums of eight replicates.
struct Tally {
    /// Excess risk so far.
    total: V,
    /// The last time outside the ball of radius $\varepsilon$.
    outside: V,
}

impl Default for Tally {
    fn default() -> Self {
        Self { total: V::ZERO, outside: V::ZERO }
    }
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, study: &Study, trace: &Trace, xs: &[[V; D]], first: u64) {
        let star = study.world.generator().map(V::splat);
        let radius = V::splat(study.epsilon * study.epsilon);
        let mut t = V::splat(first as f64);
        for ((theta, &m), x) in trace.theta.iter().zip(&trace.predictions).zip(xs) {
            self.total += if study.world == World::Quadratic {
                quadratic_excess(theta, &star)
            } else {
                logistic_excess(m, dot(&star, x))
            };
            self.outside = (radius - squared_distance(theta, &star)).select(self.outside, t);
            t += V::ONE;
        }
    }
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

/// One simulated setting.
struct Study {
    world: World,
    epsilon: f64,
    replicates: usize,
    seed: u64,
}

impl Study {
    /// Cumulative excess risk along the rows.
    fn risk(&self, horizon: u64, run: &Run) -> Result<Risk> {
        let marks = checkpoints(horizon);
        let groups = run.each(self.replicates.div_ceil(LANES), |group| {
            let rule = if self.world == World::Quadratic { Rule::Kalman } else { Rule::Ekf };
            let (mut filter, mut trace, mut tally) =
                (Filter::new(rule, 1.0), Trace::default(), Tally::default());
            let mut sums = Vec::with_capacity(marks.len());
            self.rows(group, &marks, run, |block, rows, first, at_mark| {
                filter.learn_traced(block, rows.clone(), Some(&mut trace));
                dispatch(
                    #[inline(always)]
                    || tally.add(self, &trace, &block.x[rows], first),
                );
                if at_mark {
                    sums.push(tally.total);
                }
            })?;
            Ok((sums, tally.outside))
        })?;
        let last_outside =
            quantile(groups.iter().flat_map(|g| g.1.0).take(self.replicates).collect()) as u64;
        let sums: Vec<Vec<f64>> = (0..marks.len())
            .map(|k| groups.iter().flat_map(|g| g.0[k].0).take(self.replicates).collect())
            .collect();
        // The first mark after the measured time; some marks must be left to look at.
        let settled =
            marks.iter().position(|&n| n >= last_outside).filter(|&k| k + 2 < marks.len());
        let all = marks.iter().zip(&sums).map(|(&n, s)| spread(n, s)).collect();
        let after = settled.map_or_else(Vec::new, |k| {
            let gap =
                |j: usize| sums[j].iter().zip(&sums[k]).map(|(a, b)| a - b).collect::<Vec<f64>>();
            (k + 1..marks.len()).map(|j| spread(marks[j] - marks[k], &gap(j))).collect()
        });
        Ok((all, after, settled.map(|k| marks[k])))
    }

    /// $\lambda_{\max}(P_t)$ of the truncated EKF, where $P_t$ has seen $t-1$ rows.
    fn eigenvalue(&self, horizon: u64, run: &Run) -> Result<Vec<(u64, f64, f64)>> {
        let marks = checkpoints(horizon);
        let groups = run.each(self.replicates.div_ceil(LANES), |group| {
            let mut filter = Filter::new(Rule::Truncated { scale: 1.0, beta: BETA }, 1.0);
            let mut values = Vec::with_capacity(marks.len());
            self.rows(group, &marks, run, |block, rows, _, at_mark| {
                filter.learn(block, rows);
                if at_mark {
                    values.push(std::array::from_fn(|lane| {
                        largest_eigenvalue(&filter.covariance(lane))
                    }));
                }
            })?;
            Ok(values)
        })?;
        let at = |k: usize| -> Vec<f64> {
            groups.iter().flat_map(|g: &Vec<[f64; LANES]>| g[k]).take(self.replicates).collect()
        };
        Ok(marks.iter().enumerate().map(|(k, &n)| spread(n + 1, &at(k))).collect())
    }

    /// Draws the rows of a group and hands them over in pieces that end at the marks: block, rows,
    /// time of the first row (from 1), and whether a mark is reached.
    fn rows(
        &self,
        group: usize,
        marks: &[u64],
        run: &Run,
        mut learn: impl FnMut(&Block, std::ops::Range<usize>, u64, bool),
    ) -> Result<()> {
        let mut streams = self.world.streams(self.seed, group);
        let mut block = Block::new(BLOCK);
        let (mut rows, mut used) = (0u64, BLOCK);
        for &mark in marks {
            while rows < mark {
                if used == BLOCK {
                    run.check()?;
                    block.fill(self.world, &mut streams);
                    used = 0;
                }
                let take = (mark - rows).min((BLOCK - used) as u64) as usize;
                learn(&block, used..used + take, rows + 1, rows + take as u64 == mark);
                (used, rows) = (used + take, rows + take as u64);
                run.progress.advance((take * LANES) as u64);
            }
        }
        Ok(())
    }
}

/// The time after which a share $1-\delta$ of the replicates stays in the ball, as Assumption 5
/// asks.
fn quantile(mut last_outside: Vec<f64>) -> f64 {
    last_outside.sort_by(f64::total_cmp);
    let may_leave = (DELTA * last_outside.len() as f64).floor() as usize;
    last_outside[last_outside.len() - 1 - may_leave]
}

fn spread(n: u64, values: &[f64]) -> (u64, f64, f64) {
    (n, mean(values), values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Largest eigenvalue of a symmetric positive definite matrix, by squaring it until one direction
/// is left.
pub(crate) fn largest_eigenvalue(p: &[[f64; D]; D]) -> f64 {
    let mut power = *p;
    for _ in 0..12 {
        let scale = (0..D).map(|i| power[i][i]).sum::<f64>();
        let half = power.map(|row| row.map(|v| v / scale));
        for i in 0..D {
            for j in 0..D {
                power[i][j] = (0..D).map(|k| half[i][k] * half[k][j]).sum();
            }
        }
    }
    // Rayleigh quotient of the trace form: tr(P M)/tr(M) with M = P^4096, exact up to
    // (lambda_2/lambda_1)^4096.
    let trace: f64 = (0..D).map(|i| power[i][i]).sum();
    let product: f64 = (0..D).map(|i| (0..D).map(|j| p[i][j] * power[j][i]).sum::<f64>()).sum();
    product / trace
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn largest_eigenvalue_of_known_matrices() {
        // I/12 + 11'/4 bordered: the second moment of (1, Z) has the eigenvalue (43 + sqrt
        // 1801)/24.
        let mut sigma = [[0.25; D]; D];
        sigma[0] = [0.5; D];
        for (i, row) in sigma.iter_mut().enumerate() {
            (row[0], row[i]) = (0.5, 1.0 / 3.0);
        }
        sigma[0][0] = 1.0;
        assert!((largest_eigenvalue(&sigma) - (43.0 + 1801f64.sqrt()) / 24.0).abs() < 1e-12);
        let mut diagonal = [[0.0; D]; D];
        (0..D).for_each(|i| diagonal[i][i] = 1.0 + (i % 5) as f64);
        assert!((largest_eigenvalue(&diagonal) - 5.0).abs() < 1e-12);
    }

    /// The quadratic excess risk is known: about $\frac12 d\sigma^2/t$ a step once the prior is
    /// forgotten.
    #[test]
    fn excess_risk_grows_as_half_d_log_n() {
        let cancel = AtomicBool::new(false);
        let run = Run { threads: 2, progress: &(), cancel: &cancel };
        let study = Study { world: World::Quadratic, epsilon: 0.3, replicates: 64, seed: 4 };
        let (all, after, tau) = study.risk(20_000, &run).unwrap();
        let tau = tau.expect("settles within 20 000 rows");
        assert_eq!(after.last().unwrap().0, 20_000 - tau);
        let at = |n: u64| all.iter().find(|p| p.0 == n).unwrap().1;
        let growth = at(20_000) - at(1000);
        let expected = 0.5 * D as f64 * 20f64.ln();
        assert!((growth / expected - 1.0).abs() < 0.1, "{growth} against {expected}");
        let theory = Theory::new().unwrap();
        assert!(
            after
                .iter()
                .all(|&(n, mean, worst)| mean <= worst
                    && worst < theory.leading_quadratic(n).unwrap())
        );
        // The logistic world, well specified: the same growth.
        let study = Study { world: World::Weak, epsilon: 0.3, replicates: 64, seed: 4 };
        let (all, _, _) = study.risk(20_000, &run).unwrap();
        let at = |n: u64| all.iter().find(|p| p.0 == n).unwrap().1;
        let growth = at(20_000) - at(1000);
        assert!((growth / expected - 1.0).abs() < 0.15, "{growth} against {expected}");
    }
}
