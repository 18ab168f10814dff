//! Predictive distribution functions and quantiles, from the transition of $u \mapsto P(Y \le y\mid
//! u)$: short sums instead of adaptive integrals, and quantiles from few of them.

use super::counts;
use crate::family::{CdfTransition, Family, FastPaths};
use crate::math::{normal_cdf, normal_quantile, quadrature};
use std::f64::consts::TAU;

/// Half-width of the sums in deviations of the belief: the mass outside is $3\cdot10^{-12}$.
const SUM_REACH: f64 = 7.0;
/// Largest spacing of nodes, in deviations of the belief, in units of `u` (the log link varies
/// within $\pm i\pi/2$) and in widths of the transition: the trapezoid rule, which converges
/// exponentially, is then accurate to $10^{-11}$.
const MAX_SPACING: [f64; 3] = [0.5, 0.4, 0.5];
/// Smallest width of the transition, in deviations, for which nodes cover the whole belief.
const MIN_WIDE: f64 = 0.6;
/// Largest width of the transition in `u`: the tails of wider ones take too many nodes.
const MAX_WIDTH: f64 = 10.0;
/// Smallest width of the transition in deviations: a narrower one is a step, because its shape
/// changes nothing that an `f64` can show.
const MIN_WIDTH: f64 = 1e-8;
/// Largest count whose mass exceeds the rounding of the distribution function.
const MAX_EXACT_COUNT: f64 = 1e12;
/// Smallest tail probability that is summed.
const MIN_TAIL: f64 = 1e-13;
/// Most counts between a first guess and the quantile that are visited one by one.
const MAX_COUNT_STEPS: f64 = 8.0;
/// Largest last secant step, relative; its error is far smaller.
const MAX_LAST_MOVE: f64 = 3e-8;
/// Smallest weight of a member that can move a quantile.
const MIN_WEIGHT: f64 = 1e-12;
/// Most evaluations of one search.
const MAX_EVALUATIONS: usize = 64;

/// The nodes of one sum over $u = m + \sqrt s\,z$.
struct Nodes {
    m: f64,
    deviation: f64,
    /// The transition in deviations.
    center: f64,
    width: f64,
    step: f64,
    /// The scale on which $P(Y \le y\mid u)$ varies, in deviations: its width, or a unit of `u`
    /// for the far side of a log link.
    smooth: f64,
}

impl Nodes {
    /// `None` if the family has no transition, or if both the belief and the transition extend to
    /// where the family saturates.
    fn new<F: Family>(family: &F, y: f64, m: f64, s: f64) -> Option<Self> {
        let transition = family.fast().cdf_transition(y);
        let CdfTransition { center, width } = transition.filter(|it| it.width <= MAX_WIDTH)?;
        let deviation = s.sqrt();
        let largest = family.largest_linear();
        let complete =
            || family.cdf(-largest, y) >= 1.0 - MIN_TAIL && family.cdf(largest, y) <= MIN_TAIL;
        if deviation == 0.0 || (m.abs() + SUM_REACH * deviation > largest && !complete()) {
            return None;
        }
        let center = (center - m) / deviation;
        let smooth = width.min(1.0) / deviation;
        let width = width / deviation;
        let step = MAX_SPACING[0].min(MAX_SPACING[1] / deviation).min(MAX_SPACING[2] * width);
        (center.is_finite() && step > 0.0).then_some(Self {
            m,
            deviation,
            center,
            width,
            step,
            smooth,
        })
    }

    /// $E[f(u)]$ over the whole belief. A function that is smooth beside it needs few nodes.
    fn average(&self, f: impl Fn(f64) -> f64) -> f64 {
        quadrature::smooth_average(self.smooth, |z| f(self.m + self.deviation * z))
            .unwrap_or_else(|| self.sum(|_, u| (f(u), true)))
    }

    /// Sums $\varphi(z) f(z, u)\,h$ outwards from the transition; `f` also returns whether nodes
    /// further out matter.
    fn sum(&self, f: impl Fn(f64, f64) -> (f64, bool)) -> f64 {
        let last = (SUM_REACH / self.step).floor();
        let start = (self.center / self.step).round().clamp(-last, last);
        let mut sum = 0.0;
        for (mut k, direction) in [(start, 1.0), (start - 1.0, -1.0)] {
            while k.abs() <= last {
                let z = k * self.step;
                let (value, more) = f(z, self.m + self.deviation * z);
                sum += (-0.5 * z * z).exp() * value;
                if !more {
                    break;
                }
                k += direction;
            }
        }
        sum * self.step / TAU.sqrt()
    }
}

/// $P(Y \le y)$ for $u \sim N(m,s)$.
///
/// A transition that is narrow beside the belief is compared with $\Phi((c-z)/w)$, whose
/// expectation is $\Phi(c/\sqrt{1+w^2})$: the difference is zero away from the transition.
pub(super) fn cdf<F: Family>(family: &F, y: f64, m: f64, s: f64) -> Option<f64> {
    // At both ends, because a user's family may increase in `u`.
    if [SUM_REACH, -SUM_REACH].iter().all(|z| family.cdf(m + z * s.sqrt(), y) >= 1.0 - MIN_TAIL) {
        return Some(1.0);
    }
    let nodes = Nodes::new(family, y, m, s)?;
    let center = nodes.center;
    let width = nodes.width;
    if width >= MIN_WIDE {
        return Some(nodes.average(|u| family.cdf(u, y)).clamp(0.0, 1.0));
    }
    let known = normal_cdf(center / 1f64.hypot(width));
    if width < MIN_WIDTH {
        return Some(known);
    }
    let difference = nodes.sum(|z, u| {
        let found = family.cdf(u, y);
        let known = normal_cdf((center - z) / width);
        let open = |p: f64| p > MIN_TAIL && p < 1.0 - MIN_TAIL;
        (found - known, open(found) || open(known) || (found - known).abs() > 0.5)
    });
    Some((known + difference).clamp(0.0, 1.0))
}

/// $P(Y \le y)$ for $u \sim N(m,s)$, for any family: by [`cdf`] if the family has a transition,
/// else by an adaptive integral that is split at the transition, so that it is found however steep.
pub(super) fn expected_cdf<F: Family>(family: &F, y: f64, m: f64, s: f64) -> f64 {
    if s > 0.0
        && let Some(closed) = family.fast().predictive_cdf(y, m, s)
    {
        return closed;
    }
    if let Some(sum) = cdf(family, y, m, s) {
        return sum;
    }
    let deviation = s.sqrt();
    let at = |z: f64| family.cdf(m + deviation * z, y);
    let start = at(-quadrature::REACH);
    let end = at(quadrature::REACH);
    let splits = [1.0 - 1e-13, 0.9, 0.5, 0.1, 1e-13].map(|level| {
        if (start > level) == (end > level) {
            return f64::NAN;
        }
        let mut low = -quadrature::REACH;
        let mut high = quadrature::REACH;
        while high - low > 1e-12 {
            let middle = 0.5 * (low + high);
            if (at(middle) > level) == (start > level) { low = middle } else { high = middle }
        }
        high
    });
    quadrature::expectation_split(m, deviation, |u| family.cdf(u, y), splits).clamp(0.0, 1.0)
}

/// $P(Y = y)$ of a count.
fn mass<F: Family>(family: &F, y: f64, m: f64, s: f64) -> Option<f64> {
    if s == 0.0 {
        return Some(family.log_density(y, m).exp());
    }
    // The smallest and the largest count have no peak in `u`.
    if y == 0.0 {
        return cdf(family, y, m, s);
    }
    let Some(nodes) = Nodes::new(family, y, m, s) else {
        return Some(1.0 - cdf(family, y - 1.0, m, s)?);
    };
    if nodes.width < MIN_WIDTH {
        return None;
    }
    let base = family.log_base(y);
    let at = |u: f64| (base - family.loss(y, u)).exp();
    if nodes.width >= MIN_WIDE {
        return Some(nodes.average(at));
    }
    let least = MIN_TAIL * at(m + nodes.deviation * nodes.center);
    Some(nodes.sum(|_, u| {
        let value = at(u);
        (value, value > least)
    }))
}

/// A belief $N(m, s)$ about the linear predictor of a family, with its weight in a mixture. Members
/// of a mixture may differ in their dispersion, so each has a family of its own.
#[derive(Clone)]
pub(super) struct Part<'a, F> {
    pub family: &'a F,
    pub weight: f64,
    pub m: f64,
    pub s: f64,
}

impl<F: Family> Part<'_, F> {
    /// $P(Y \le y)$ under this belief alone.
    fn below(&self, y: f64) -> Option<f64> {
        match self.s {
            0.0 => Some(self.family.cdf(self.m, y)),
            s => cdf(self.family, y, self.m, s),
        }
    }
}

/// Smallest `y` with $\sum_k w_k P_k(Y \le y) \ge q$, over parts whose weights sum to
/// 1; `None` if the family has no transition.
///
/// In the linear predictor that has mean `y`, and in normal quantiles of probability, a
/// distribution function is nearly straight: secants need few steps.
pub(super) fn quantile<'a, F: Family + 'a>(
    parts: impl Iterator<Item = Part<'a, F>> + Clone,
    q: f64,
) -> Option<f64> {
    // the mean, the support and the kind of values are the same for every dispersion
    let family = parts.clone().next()?.family;
    let parts = parts.filter(|part| part.weight >= MIN_WEIGHT);
    let total = |f: &dyn Fn(&Part<'_, F>) -> Option<f64>| {
        parts.clone().map(|part| Some(part.weight * f(&part)?)).sum::<Option<f64>>()
    };
    let below = |y: f64| total(&|part| part.below(y));
    let mass_at = |y: f64| total(&|part| mass(part.family, y, part.m, part.s));
    let whole = family.discrete();
    let average = |f: &dyn Fn(&Part<'_, F>) -> f64| {
        parts.clone().map(|part| part.weight * f(&part)).sum::<f64>()
    };
    let center = average(&|part| part.m);
    let width = family.fast().cdf_transition(family.mean(center))?.width;
    let spread = average(&|part| part.s + (part.m - center).powi(2)) + width * width;
    let spread = spread.sqrt();
    let target = normal_quantile(q);

    let mut t = center + target * spread;
    let mut low = f64::NEG_INFINITY;
    let mut high = f64::INFINITY;
    let mut before: Option<(f64, f64)> = None;
    if whole && let Some(found) = counts::quantile(parts.clone(), family.mean(t), q) {
        return Some(found);
    }
    if whole
        && family.mean(t) <= MAX_COUNT_STEPS
        && let Some(found) = step_counts(&mass_at, -1.0, 0.0, q)
    {
        return Some(found);
    }
    for _ in 0..MAX_EVALUATIONS {
        let y = if whole { family.mean(t).floor() } else { family.mean(t) };
        let p = below(y)?;
        if p >= q {
            high = t;
        } else {
            low = t;
        }
        let x = normal_quantile(p.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)) - target;
        let slope = before.map_or(0.0, |(last, value)| (x - value) / (t - last));
        before = Some((t, x));
        let mut next = t - if slope > 0.0 && slope.is_finite() { x / slope } else { x * spread };
        let counted = whole && y <= MAX_EXACT_COUNT;
        if !counted && (next - t).abs() <= MAX_LAST_MOVE * (1.0 + t.abs()) {
            return Some(if whole { family.mean(next).floor() } else { family.mean(next) });
        }
        if counted
            && (family.mean(next) - y).abs() <= MAX_COUNT_STEPS
            && let Some(found) = step_counts(&mass_at, y, p, q)
        {
            return Some(found);
        }
        if !(next > low && next < high) {
            next = if low.is_finite() && high.is_finite() {
                0.5 * (low + high)
            } else {
                t - x.signum() * spread
            };
        }
        if next == t {
            break;
        }
        t = next;
    }
    None
}

/// From a count with $P(Y \le y) = p$ to the smallest with at least `q`; `None` if it is too far
/// away.
fn step_counts(mass: &dyn Fn(f64) -> Option<f64>, mut y: f64, mut p: f64, q: f64) -> Option<f64> {
    let down = p >= q;
    for _ in 0..MAX_EVALUATIONS {
        if down {
            p -= mass(y)?;
            if p < q || y == 0.0 {
                return Some(y);
            }
            y -= 1.0;
        } else {
            y += 1.0;
            p += mass(y)?;
            if p >= q {
                return Some(y);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
