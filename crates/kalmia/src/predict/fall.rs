//! Families whose distribution function falls smoothly in the linear predictor: short sums in place
//! of adaptive integrals, and quantiles from few of them.

use crate::family::Family;
use crate::family::special::{normal_cdf, normal_quantile};
use std::f64::consts::TAU;

/// Nodes reach as many deviations of the belief to each side: the mass outside is $3\cdot10^{-12}$.
const REACH: f64 = 7.0;
/// Largest distance of nodes in deviations of the belief, in units of `u` (the log link varies
/// within $\pm i\pi/2$) and in widths of the fall: the trapezoid rule, which converges
/// exponentially, is then good to $10^{-11}$.
const DISTANCE: [f64; 3] = [0.5, 0.4, 0.5];
/// From this width of the fall on, in deviations, nodes all over the belief are few enough.
const SLOW: f64 = 0.6;
/// Falls wider than this in `u` have tails that take too many nodes.
const WIDEST: f64 = 10.0;
/// A fall narrower than this, in deviations, is a step: its shape changes nothing that an `f64`
/// shows, and its nodes could not be counted.
const STEEP: f64 = 1e-8;
/// Counts above it have a mass below the rounding of the distribution function, and are not told
/// from their neighbours.
const MANY: f64 = 1e12;
/// What is left of a tail that is left out.
const NEGLIGIBLE: f64 = 1e-13;
/// Counts that are walked to one by one.
const NEAR: f64 = 8.0;
/// A secant step below it is the last, and far better than its size.
const LAST_MOVE: f64 = 3e-8;
/// Most evaluations of a search, and most counts of a walk.
const MOST: usize = 64;

/// The nodes of one sum over $u = m + \sqrt s\,z$.
struct Nodes {
    m: f64,
    deviation: f64,
    /// Where the fall is, and how wide, in deviations.
    centre: f64,
    width: f64,
    step: f64,
}

impl Nodes {
    /// `None` where the family does not tell, or both the belief and the fall reach where the
    /// family saturates.
    fn new<F: Family>(family: &F, y: f64, m: f64, s: f64) -> Option<Self> {
        let (centre, width) = family.fall(y).filter(|fall| fall.1 <= WIDEST)?;
        let deviation = s.sqrt();
        let largest = family.largest_linear();
        let fallen =
            || family.cdf(-largest, y) >= 1.0 - NEGLIGIBLE && family.cdf(largest, y) <= NEGLIGIBLE;
        if deviation == 0.0 || (m.abs() + REACH * deviation > largest && !fallen()) {
            return None;
        }
        let (centre, width) = ((centre - m) / deviation, width / deviation);
        let step = DISTANCE[0].min(DISTANCE[1] / deviation).min(DISTANCE[2] * width);
        (centre.is_finite() && step > 0.0).then_some(Self { m, deviation, centre, width, step })
    }

    /// Sums $\varphi(z) f(z, u)\,h$ outwards from the fall; `f` also says whether what lies further
    /// out counts.
    fn sum(&self, f: impl Fn(f64, f64) -> (f64, bool)) -> f64 {
        let last = (REACH / self.step).floor();
        let start = (self.centre / self.step).round().clamp(-last, last);
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
/// A fall that is narrow beside the belief is taken against $\Phi((c-z)/w)$, whose expectation is
/// $\Phi(c/\sqrt{1+w^2})$: the difference lives at the fall alone.
pub(super) fn cdf<F: Family>(family: &F, y: f64, m: f64, s: f64) -> Option<f64> {
    // at both ends, since a family of one's own may rise where ours fall
    if [REACH, -REACH].iter().all(|z| family.cdf(m + z * s.sqrt(), y) >= 1.0 - NEGLIGIBLE) {
        return Some(1.0);
    }
    let nodes = Nodes::new(family, y, m, s)?;
    let (centre, width) = (nodes.centre, nodes.width);
    if width >= SLOW {
        return Some(nodes.sum(|_, u| (family.cdf(u, y), true)).clamp(0.0, 1.0));
    }
    let known = normal_cdf(centre / 1f64.hypot(width));
    if width < STEEP {
        return Some(known);
    }
    let difference = nodes.sum(|z, u| {
        let (found, known) = (family.cdf(u, y), normal_cdf((centre - z) / width));
        let open = |p: f64| p > NEGLIGIBLE && p < 1.0 - NEGLIGIBLE;
        (found - known, open(found) || open(known) || (found - known).abs() > 0.5)
    });
    Some((known + difference).clamp(0.0, 1.0))
}

/// $P(Y = y)$ of a count.
fn mass<F: Family>(family: &F, y: f64, m: f64, s: f64) -> Option<f64> {
    if s == 0.0 {
        return Some(family.log_density(y, m).exp());
    }
    // The smallest and the largest count do not fall on both sides of a peak.
    if y == 0.0 {
        return cdf(family, y, m, s);
    }
    let Some(nodes) = Nodes::new(family, y, m, s) else {
        return Some(1.0 - cdf(family, y - 1.0, m, s)?);
    };
    if nodes.width < STEEP {
        return None;
    }
    let base = family.log_base(y);
    let at = |u: f64| (base - family.loss(y, u)).exp();
    let least = NEGLIGIBLE * at(m + nodes.deviation * nodes.centre);
    Some(nodes.sum(|_, u| {
        let value = at(u);
        (value, nodes.width >= SLOW || value > least)
    }))
}

/// Smallest `y` with $\sum_k w_k P_k(Y \le y) \ge q$, over parts $(w, m, s)$ whose weights sum to
/// 1; `None` where that takes the long way.
///
/// In the linear predictor that has mean `y`, and in normal quantiles of probability, a
/// distribution function is nearly straight: secants need few steps.
pub(super) fn quantile<F: Family>(family: &F, parts: &[(f64, f64, f64)], q: f64) -> Option<f64> {
    let total = |f: &dyn Fn(f64, f64) -> Option<f64>| {
        parts.iter().map(|&(w, m, s)| Some(w * f(m, s)?)).sum::<Option<f64>>()
    };
    let below = |y: f64| {
        total(&|m, s| if s == 0.0 { Some(family.cdf(m, y)) } else { cdf(family, y, m, s) })
    };
    let whole = family.discrete();
    let average =
        |f: &dyn Fn(f64, f64) -> f64| parts.iter().map(|&(w, m, s)| w * f(m, s)).sum::<f64>();
    let centre = average(&|m, _| m);
    let (_, width) = family.fall(family.mean(centre))?;
    let spread = (average(&|m, s| s + (m - centre).powi(2)) + width * width).sqrt();
    let target = normal_quantile(q);

    let mut t = centre + target * spread;
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut before: Option<(f64, f64)> = None;
    if whole
        && family.mean(t) <= NEAR
        && let Some(found) = walk(&|y| total(&|m, s| mass(family, y, m, s)), -1.0, 0.0, q)
    {
        return Some(found);
    }
    for _ in 0..MOST {
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
        let counted = whole && y <= MANY;
        if !counted && (next - t).abs() <= LAST_MOVE * (1.0 + t.abs()) {
            return Some(if whole { family.mean(next).floor() } else { family.mean(next) });
        }
        if counted
            && (family.mean(next) - y).abs() <= NEAR
            && let Some(found) = walk(&|y| total(&|m, s| mass(family, y, m, s)), y, p, q)
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

/// From a count with $P(Y \le y) = p$ to the smallest with at least `q`; `None` if that is not
/// near.
fn walk(mass: &dyn Fn(f64) -> Option<f64>, mut y: f64, mut p: f64, q: f64) -> Option<f64> {
    let down = p >= q;
    for _ in 0..MOST {
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
mod tests {
    use super::*;
    use crate::family::{AnyFamily, Bernoulli, Binomial, Gamma, Poisson};
    use crate::predict::{Mixture, Prediction, Predictive};
    use rand::{Rng, RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn families() -> [AnyFamily; 8] {
        [
            Gamma::default().into(),
            Gamma::new(0.01).unwrap().into(),
            Gamma::new(5.0).unwrap().into(),
            Poisson.into(),
            Binomial::new(7).unwrap().into(),
            Binomial::new(1000).unwrap().into(),
            Binomial::proportion().into(),
            Bernoulli.into(),
        ]
    }

    /// Against the trapezoid rule with a hundred times as many nodes.
    #[test]
    fn short_sums_are_the_long_ones() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        for family in families() {
            for _ in 0..30 {
                let (m, s): (f64, f64) =
                    (rng.random_range(-5.0..5.0), 10f64.powf(rng.random_range(-6.0..1.5)));
                let y = family.quantile(
                    m + s.sqrt() * rng.random_range(-3.0..3.0),
                    rng.random_range(0.01..0.99),
                );
                let (h, n) = (0.001, 9000);
                let node = |k: i32| {
                    (-0.5 * (f64::from(k) * h).powi(2)).exp()
                        * family.cdf(m + s.sqrt() * f64::from(k) * h, y)
                };
                let long = (-n..=n).map(node).sum::<f64>() * h / TAU.sqrt();
                let short = cdf(&family, y, m, s).expect("these families fall");
                assert!(
                    (short - long).abs() < 1e-10,
                    "{family:?} y={y} m={m} s={s}: {short} {long}"
                );
            }
        }
    }

    /// A fall that is a step beside the belief leaves the belief's own distribution.
    #[test]
    fn a_belief_far_wider_than_the_fall_decides_alone() {
        for (m, s) in [(3.0, 1e4), (-40.0, 1e6)] {
            for y in [1.0, 30.0, 1e6] {
                // E ln G of a gamma variable G of large shape is the logarithm of its mean
                let sharp = Gamma::new(1e-9).unwrap();
                let (short, belief) =
                    (cdf(&sharp, y, m, s).unwrap(), normal_cdf((y.ln() - m) / s.sqrt()));
                assert!((short - belief).abs() < 1e-11, "y={y} m={m} s={s}: {short} {belief}");
            }
        }
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        for family in families() {
            for i in 0..40 {
                let (m, s) = (
                    rng.random_range(-5.0..7.0),
                    if i == 0 { 0.0 } else { 10f64.powf(rng.random_range(-6.0..2.5)) },
                );
                let alone = Prediction::new(family, m, s).unwrap();
                let other =
                    Prediction::new(family, m + rng.random_range(-2.0..2.0), 2.0 * s).unwrap();
                let mixture = Mixture::new(vec![(0.7, alone.clone()), (0.3, other)]).unwrap();
                for q in [1e-3, 0.05, 0.4, 0.5, 0.95, 0.999] {
                    for next in [&alone as &dyn Predictive, &mixture] {
                        let y = next.quantile(q);
                        let (p, before) = (
                            next.cdf(y),
                            if family.discrete() { next.cdf(y - 1.0) } else { next.cdf(y) - 1e-10 },
                        );
                        assert!(
                            p >= q - 1e-10 && before < q + 1e-10,
                            "{family:?} m={m} s={s} q={q}: {y} {before} {p}"
                        );
                    }
                }
            }
        }
    }

    /// Counts what is asked of the family.
    #[derive(Debug, Clone)]
    struct Counted(AnyFamily, Arc<AtomicUsize>);

    impl Family for Counted {
        fn name(&self) -> &'static str {
            self.0.name()
        }
        fn domain(&self) -> &'static str {
            self.0.domain()
        }
        fn canonical(&self, y: f64) -> Option<f64> {
            self.0.canonical(y)
        }
        fn loss(&self, y: f64, u: f64) -> f64 {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.loss(y, u)
        }
        fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
            self.0.derivatives(y, u)
        }
        fn log_base(&self, y: f64) -> f64 {
            self.0.log_base(y)
        }
        fn mean(&self, u: f64) -> f64 {
            self.0.mean(u)
        }
        fn variance(&self, u: f64) -> f64 {
            self.0.variance(u)
        }
        fn quantile(&self, u: f64, q: f64) -> f64 {
            self.0.quantile(u, q)
        }
        fn cdf(&self, u: f64, y: f64) -> f64 {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.cdf(u, y)
        }
        fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
            self.0.sample(u, rng)
        }
        fn moderated_mean(&self, m: f64, s: f64) -> f64 {
            self.0.moderated_mean(m, s)
        }
        fn discrete(&self) -> bool {
            self.0.discrete()
        }
        fn largest_linear(&self) -> f64 {
            self.0.largest_linear()
        }
        fn fall(&self, y: f64) -> Option<(f64, f64)> {
            self.0.fall(y)
        }
    }

    /// Counts beyond counting: their law is that of $e^u$.
    #[test]
    fn astronomic_counts_end_the_search() {
        for (m, s) in [(30.0, 1.0), (80.0, 1.0), (200.0, 0.01), (1.0, 2e3), (150.0, 1e-6)] {
            let (low, high) = Prediction::new(Poisson, m, s).unwrap().interval(0.9).unwrap();
            let z = normal_quantile(0.95);
            let expected = [m - z * s.sqrt(), m + z * s.sqrt()]
                .map(|u: f64| if u > 25.0 { u } else { f64::NAN });
            for (y, u) in [low, high].into_iter().zip(expected).filter(|(_, u)| u.is_finite()) {
                assert!((y.ln() - u).abs() < 1e-6, "m={m} s={s}: {y:e} {u}");
            }
        }
    }

    #[test]
    fn an_interval_asks_little_of_the_family() {
        for family in families() {
            for (m, s) in [(-2.0, 0.01), (0.3, 1.0), (3.0, 1e-4), (2.0, 0.3), (4.0, 4.0)] {
                let asked = Arc::new(AtomicUsize::new(0));
                let next = Prediction::new(Counted(family, Arc::clone(&asked)), m, s).unwrap();
                next.interval(0.9).unwrap();
                assert!(asked.load(Ordering::Relaxed) < 1000, "{family:?} m={m} s={s}: {asked:?}");
            }
        }
    }
}
