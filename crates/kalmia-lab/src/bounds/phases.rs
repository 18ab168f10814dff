//! The two phases of the EKF: far from $\theta^*$ at first, then close to it with $P_t$ falling
//! like $1/t$.

use super::BETA;
use super::eigenvalue::Extremes;
use super::exits::mean_within;
use super::track::curvature_margin;
use crate::error::Result;
use crate::feed::Feed;
use crate::kernel::{Filter, Rule, Trace};
use crate::lanes::{LANES, V, dispatch};
use crate::quadrature::logistic_hessian;
use crate::settings::{Settings, checkpoints};
use crate::statistics::largest;
use crate::workers::Workers;
use crate::world::World;

/// Rows of a run in multiples of the horizon.
const LONGER: u64 = 10;

/// Mean and largest value over the replicates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The largest value.
    pub worst: f64,
}

impl Spread {
    fn new(values: &[f64]) -> Self {
        Self { mean: mean_within(values), worst: largest(values.iter().copied()) }
    }
}

/// One filter at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhasePoint {
    /// Rows learned.
    pub n: u64,
    /// $\|\hat\theta_{n+1}-\theta^*\|$.
    pub distance: Spread,
    /// Share of the steps since the last point with $\alpha_t = \ell''$, over all replicates; 1 for
    /// the plain EKF.
    pub share: f64,
    /// $\lambda_{\max}(P_{n+1})$.
    pub lambda_max: Spread,
}

/// One filter in one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseCurve {
    /// `theta` or `theta10`.
    pub setting: &'static str,
    /// `ekf` or `truncated`.
    pub algorithm: &'static str,
    /// Along $n$.
    pub points: Vec<PhasePoint>,
    /// $1/\lambda_{\min}(H)$ with $H=E[\ell''XX^\top]$ at $\theta^*$: near $\theta^*$,
    /// $\lambda_{\max}(P_t)$ is about this over $t$. To 2 % for $\theta^*$.
    pub limit: f64,
}

impl PhaseCurve {
    /// The first point from which on every step has $\alpha_t = \ell''$ up to the end.
    pub fn untruncated_from(&self) -> Option<u64> {
        let last = self.points.iter().rposition(|p| p.share < 1.0);
        match last {
            None => self.points.first().map(|p| p.n),
            Some(k) => self.points.get(k + 1).map(|p| p.n),
        }
    }

    /// $t\,\lambda_{\max}(P_t)$ at the end over its limit; near 1 once $P_t$ falls like $1/t$.
    pub fn end_over_limit(&self) -> Option<f64> {
        let last = self.points.last()?;
        Some((last.n + 1) as f64 * last.lambda_max.mean / self.limit)
    }
}

/// Units of work of [`simulate`].
pub fn units(settings: &Settings) -> u64 {
    let lanes = (settings.replicates.div_ceil(LANES) * LANES) as u64;
    2 * settings.horizon * LONGER * lanes
}

/// Runs both filters in both settings, both filters on the same rows.
pub fn simulate(settings: &Settings, workers: &Workers) -> Result<Vec<PhaseCurve>> {
    let mut curves = setting("theta", World::Strong, settings, workers)?;
    curves.extend(setting("theta10", World::Weak, settings, workers)?);
    Ok(curves)
}

/// What eight replicates of one filter show at a mark.
#[derive(Debug, Clone, Copy)]
struct Seen {
    distance: [f64; LANES],
    /// Steps since the last mark with $\alpha_t=\ell''$.
    untruncated: [f64; LANES],
    lambda_max: [f64; LANES],
}

fn setting(
    setting: &'static str,
    world: World,
    settings: &Settings,
    workers: &Workers,
) -> Result<Vec<PhaseCurve>> {
    let marks = checkpoints(settings.horizon * LONGER);
    let feed = Feed { world, seed: settings.seed, checkpoints: &marks };
    let star = world.generator();
    let rules = [("ekf", Rule::Ekf), ("truncated", Rule::Truncated { scale: 1.0, beta: BETA })];
    let groups = workers.map(settings.replicates.div_ceil(LANES), |group| {
        let mut filters = rules.map(|(_, rule)| Filter::new(rule, 1.0));
        let mut trace = Trace::default();
        let mut untruncated = V::ZERO;
        let mut seen: Vec<[Seen; 2]> = Vec::with_capacity(marks.len());
        feed.run(group, workers, |piece| {
            let [plain, truncated] = &mut filters;
            plain.learn(piece.block, piece.rows.clone());
            truncated.learn_traced(piece.block, piece.rows.clone(), Some(&mut trace));
            dispatch(
                #[inline(always)]
                || count_untruncated(&mut untruncated, &trace, piece.first),
            );
            if let Some(mark) = piece.checkpoint {
                let steps = marks[mark] - mark.checked_sub(1).map_or(0, |k| marks[k]);
                let counts = [[steps as f64; LANES], untruncated.0];
                seen.push(std::array::from_fn(|k| see(&filters[k], &star, counts[k])));
                untruncated = V::ZERO;
            }
        })?;
        Ok(seen)
    })?;
    let limit = 1.0 / Extremes::of(logistic_hessian(&star)).smallest;
    let curve = |k: usize| {
        let all = |mark: usize, pick: fn(&Seen) -> [f64; LANES]| -> Vec<f64> {
            let lanes = groups.iter().flat_map(move |seen| pick(&seen[mark][k]));
            lanes.take(settings.replicates).collect()
        };
        let mut before = 0;
        let points = marks.iter().enumerate().map(|(mark, &n)| {
            let counts = all(mark, |s| s.untruncated);
            let steps = (n - before) as f64 * counts.len() as f64;
            before = n;
            PhasePoint {
                n,
                distance: Spread::new(&all(mark, |s| s.distance)),
                share: counts.iter().sum::<f64>() / steps,
                lambda_max: Spread::new(&all(mark, |s| s.lambda_max)),
            }
        });
        PhaseCurve { setting, algorithm: rules[k].0, points: points.collect(), limit }
    };
    Ok(vec![curve(0), curve(1)])
}

#[inline(always)]
fn count_untruncated(count: &mut V, trace: &Trace, first: u64) {
    for (t, &m) in (first..).zip(&trace.predictions) {
        let threshold = V::splat((t as f64).powf(-BETA));
        *count += curvature_margin(m, threshold).select(V::ONE, V::ZERO);
    }
}

fn see(filter: &Filter, star: &[f64; crate::world::D], untruncated: [f64; LANES]) -> Seen {
    let theta = filter.last();
    let distance = |lane: usize| {
        let squares = theta.iter().zip(star).map(|(a, b)| (a.0[lane] - b).powi(2));
        squares.sum::<f64>().sqrt()
    };
    Seen {
        distance: std::array::from_fn(distance),
        untruncated,
        lambda_max: std::array::from_fn(|lane| Extremes::of(filter.covariance(lane)).largest),
    }
}
